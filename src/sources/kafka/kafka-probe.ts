// Probes a Kafka source: connects, logs in, loads metadata, and decodes some records.
import { decodeRecords, toSample } from '../../formats/decode/decode.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { ProbeResult, ProbeStep, Sample } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { registryOfSource } from '../schema-registry/schema-registry.ts'
import type { ProbeOptions } from '../source.ts'
import type { KafkaAccess } from './kafka-access.ts'
import { type KafkaCluster, openCluster, type TopicPartition } from './kafka-cluster.ts'
import { brokenFailure, kafkaErrors, kafkaFailure } from './kafka-failure.ts'
import { readSample, type SampleRecord } from './kafka-sample.ts'
import { WireError } from './kafka-wire.ts'

/** Rejects with a ProbeFailure. */
export async function probeKafka(access: KafkaAccess, options: ProbeOptions): Promise<ProbeResult> {
  let current: ProbeStep = 'connect'
  const begin = (step: ProbeStep): void => {
    current = step
    options.begin(step)
  }
  try {
    const cluster = await openCluster(access, begin)
    begin('describe')
    const partitions = await describe(cluster, access)
    begin('read')
    const found = await readSample(cluster, access, partitions, options.maxRecords)
    begin('decode')
    return { samples: [await decode(found, access, options.maxRecords)] }
  } catch (error) {
    if (error instanceof WireError) throw brokenFailure(error, current)
    // The time limit expired while opening one more connection: report the current step.
    const isLate = options.signal.aborted && error instanceof ProbeFailure && error.step === 'connect'
    throw isLate && current !== 'connect' ? brokenFailure(new WireError('timed out'), current) : error
  }
}

async function describe(cluster: KafkaCluster, { config }: KafkaAccess): Promise<TopicPartition[]> {
  const partitions = await cluster.loadPartitions()
  const leaderless = partitions.find(({ leader }) => !leader)
  if (leaderless) throw kafkaFailure('leaderless', { step: 'describe', ...leaderless })
  const { consumerGroup } = config
  if (consumerGroup !== undefined) {
    const { errorCode } = await cluster.findCoordinator(consumerGroup)
    // A missing coordinator is created with the first use of the group.
    const isDenied = errorCode === kafkaErrors.groupAuthorizationFailed
    if (isDenied) throw kafkaFailure('groupDenied', { step: 'describe', group: consumerGroup })
  }
  return partitions
}

async function decode(found: SampleRecord[], access: KafkaAccess, maxRows: number): Promise<Sample> {
  const { config, secrets, context } = access
  const { format } = config
  const registry = registryOfSource(config, secrets, { ...context, egress: access.egress, signal: access.signal })
  try {
    const values = found.map(({ value }) => value)
    return await toSample(await decodeRecords(format, values, { registry, maxRows }))
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error
    throw new ProbeFailure({
      step: 'decode',
      code: 'undecodable',
      reason: `${error.reason}${locationOfRecord(error.reason, found)}`,
      remedy: `set format to what the topics hold, or have them hold ${format} only`,
      field: 'format',
    })
  }
}

/** Decoders number records from 1. */
function locationOfRecord(reason: string, found: SampleRecord[]): string {
  const number = /\brecord (\d+)\b/.exec(reason)?.[1]
  const record = number === undefined ? undefined : found[Number(number) - 1]
  if (!record) return ''
  const { topic, partition, offset } = record
  return ` (record ${number} is at offset ${offset} in partition ${partition} of the topic "${topic}")`
}
