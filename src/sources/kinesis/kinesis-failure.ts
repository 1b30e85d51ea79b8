// What goes wrong at Kinesis, in our own words.
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import { type AwsAttempt, awsFailure } from '../aws/aws-failure.ts'
import { type LostRecords, ProbeFailure, type ProbeStep, type SourceContext } from '../source.ts'

export function attemptOf(config: KinesisSource, step: ProbeStep, needs: string): AwsAttempt {
  const { authentication, region, streamName } = config
  const credentials = authentication === 'IAM_ROLE' ? 'iamRole' : 'accessKey'
  return {
    step,
    service: 'Kinesis',
    place: `the Kinesis of ${region}`,
    thing: `the stream "${streamName}"`,
    needs,
    fields: { place: 'region', credentials, thing: 'streamName', region: 'region' },
  }
}

/** The region is all that a user says about the host: a host that is not there is a region that is none. */
export function kinesisFailure(error: unknown, attempt: AwsAttempt, { awsEndpoints }: SourceContext): ProbeFailure {
  const failure = awsFailure(error, attempt)
  if (failure.code !== 'host_unknown' || awsEndpoints.kinesis) return failure
  const { step, reason } = failure
  const remedy = 'check the region, such as eu-west-1'
  return new ProbeFailure({ step, code: 'wrong_region', reason, remedy, field: 'region' })
}

/** Of a start that is not a time. */
export function startFailure(shard: string, streamName: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'not_found',
    reason: `the shard ${shard} of the stream "${streamName}" does not have the position that was read last`,
    remedy: 'check whether the stream was deleted and created anew, and begin with a new pipe if so',
    field: 'streamName',
  })
}

/** Of records that were read before and are to be read once more. */
export function lostFailure(shard: string, streamName: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'not_found',
    reason: `the shard ${shard} of the stream "${streamName}" has lost records that were read and are not delivered yet`,
    remedy: 'let the stream keep its records for longer, and create the pipe anew to go on without the lost ones',
    field: 'streamName',
  })
}

/** A closed shard expires with its last record. */
export function expiredShards(streamName: string): LostRecords {
  return {
    reason: `shards of the stream "${streamName}" expired before they were read to their end; increase its retention period`,
  }
}

export function futureFailure(): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'not_set_up',
    reason: 'the timestamp that reading begins at has not come yet',
    remedy: 'use a time that has passed, in seconds since 1970',
    field: 'timestamp',
  })
}

/** Of AvroConfluent. */
export function registryFailure(): ProbeFailure {
  return new ProbeFailure({
    step: 'decode',
    code: 'not_set_up',
    reason: 'records of AvroConfluent name a schema in a registry, and a Kinesis source has no registry',
    remedy: 'use the format Avro with records that bring their schema, or JSONEachRow',
    field: 'format',
  })
}

export function slowDownFailure(): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'source_failed',
    reason: 'others read the stream so often that Kinesis gives us nothing of it',
    remedy: 'have them read less often, or give the stream more shards',
    field: 'streamName',
  })
}
