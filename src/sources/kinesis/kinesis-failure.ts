// Maps failures of Kinesis to ProbeFailures.
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { type AwsAttempt, awsFailure } from '../aws/aws-failure.ts'
import { failureTable } from '../failure.ts'
import type { LostRecords, SourceContext } from '../source.ts'

export function attemptOf(config: KinesisSource, step: ProbeStep, action: string): AwsAttempt {
  const { authentication, region, streamName } = config
  const credentials = authentication === 'IAM_ROLE' ? 'iamRole' : 'accessKey'
  return {
    step,
    service: 'Kinesis',
    endpoint: `the Kinesis of ${region}`,
    resource: `the stream "${streamName}"`,
    action,
    fields: { endpoint: 'region', credentials, resource: 'streamName', region: 'region' },
  }
}

/** The host is derived from the region, so an unknown host means an invalid region. */
export function kinesisFailure(error: unknown, attempt: AwsAttempt, { awsEndpoints }: SourceContext): ProbeFailure {
  const failure = awsFailure(error, attempt)
  if (failure.code !== 'host_unknown' || awsEndpoints.kinesis) return failure
  const remedy = 'check the region, such as eu-west-1'
  return new ProbeFailure({ ...failure, code: 'wrong_region', remedy, field: 'region' })
}

/** Kinesis drops a closed shard when its last record expires. */
export function expiredShards(streamName: string): LostRecords {
  return {
    reason: `shards of the stream "${streamName}" expired before they were read to their end; increase its retention period`,
  }
}

export const streamFailure = failureTable('read', 'streamName', {
  /** Kinesis rejected the sequence number of a position. */
  positionMissing: [
    'not_found',
    'the shard {shard} of the stream "{streamName}" does not have the position that was read last',
    'check whether the stream was deleted and created again, and create a new pipe if so',
  ],
  recordsLost: [
    'not_found',
    'the shard {shard} of the stream "{streamName}" has lost records that were read and are not delivered yet',
    'let the stream keep its records for longer, and create the pipe again to continue without the lost ones',
  ],
  timeInFuture: [
    'not_set_up',
    'the start timestamp is in the future',
    'use a time that has passed, in seconds since 1970',
    'timestamp',
  ],
  crowded: [
    'source_failed',
    'other consumers use the complete read throughput of the stream',
    'have them read less often, or give the stream more shards',
  ],
  /** For the format AvroConfluent. */
  registryMissing: [
    'not_set_up',
    'records of AvroConfluent name a schema in a registry, and a Kinesis source has no registry',
    'use the format Avro with records that bring their schema, or JSONEachRow',
    'format',
    'decode',
  ],
})

/** For a range whose records are read a second time. */
export function lostFailure(shard: string, streamName: string): ProbeFailure {
  return streamFailure('recordsLost', { shard, streamName })
}
