// The probe of a Kafka source: connects, logs in, looks at the topics, and decodes some records of them.
import { decodeRecords, toSample, Undecodable } from './decode.ts'
import { type KafkaCluster, openCluster, type TopicPartition } from './kafka-cluster.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import type { KafkaAccess } from './kafka-connection.ts'
import { brokenFailure, groupDenied, kafkaErrors, noLeader, topicFailure, unreadableFailure } from './kafka-failure.ts'
import { earliest, fetchRecords, latest } from './kafka-fetch.ts'
import { byLeader, loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { type KafkaRecord, readRecords } from './kafka-records.ts'
import { WireError } from './kafka-wire.ts'
import { makeSchemaRegistry } from './schema-registry.ts'
import { ProbeFailure, type ProbeOptions, type ProbeResult, type ProbeStep, type Sample } from './source.ts'

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
    return { samples: [await decode(found, access)] }
  } catch (error) {
    throw error instanceof WireError ? brokenFailure(error, current) : error
  }
}

async function describe(cluster: KafkaCluster, { config }: KafkaAccess): Promise<TopicPartition[]> {
  const partitions = await cluster.loadPartitions()
  const homeless = partitions.find(({ leader }) => !leader)
  if (homeless) throw noLeader(homeless.topic, homeless.partition)
  const { consumerGroup } = config
  if (consumerGroup !== undefined) {
    const { errorCode } = await cluster.findCoordinator(consumerGroup)
    // A coordinator that is not there yet comes with the first use of the group.
    if (errorCode === kafkaErrors.groupAuthorizationFailed) throw groupDenied(consumerGroup)
  }
  return partitions
}

interface FoundRecord extends KafkaRecord {
  topic: string
  partition: number
}

interface SampledPartition extends TopicPartition {
  offset: bigint
  end: bigint
  found: FoundRecord[]
}

/** The broker has what is asked for, so it does not wait; a transaction may still be open. */
const waitMs = 500
const maxBytes = 4 * 1024 * 1024
const maxPartitionBytes = 256 * 1024

async function readSample(
  cluster: KafkaCluster,
  access: KafkaAccess,
  partitions: TopicPartition[],
  maxRecords: number,
): Promise<FoundRecord[]> {
  const isLatest = access.config.offset?.strategy === 'from_latest'
  const sampled = await loadRanges(cluster, access, partitions, maxRecords)
  let unread = sampled
  let foundCount = 0
  while (unread.length > 0 && (isLatest || foundCount < maxRecords)) {
    const before = unread.map(({ offset }) => offset)
    await Promise.all(
      byLeader(unread).map(async ({ leader, partitions: led }) => {
        const broker = await cluster.connectionTo(leader)
        const wanted = led.map(({ topic, partition, offset }) => ({ topic, partition, offset }))
        for (const fetched of await fetchRecords(broker, wanted, { waitMs, maxBytes, maxPartitionBytes })) {
          const partition = led.find(
            ({ topic, partition }) => topic === fetched.topic && partition === fetched.partition,
          )
          if (!partition) continue
          if (fetched.errorCode !== 0) throw topicFailure(fetched.errorCode, partition.topic, 'read')
          takeRecords(partition, fetched, maxRecords)
        }
      }),
    )
    const isStuck = unread.every(({ offset }, index) => offset === before[index])
    if (isStuck) break
    foundCount = sampled.reduce((count, { found }) => count + found.length, 0)
    unread = unread.filter(({ offset, end, found }) => offset < end && found.length < maxRecords)
    // The first partition that is asked for is the one that gets an answer for sure.
    unread = [...unread.slice(1), ...unread.slice(0, 1)]
  }
  const lists = sampled.map(({ found }) => found)
  if (!isLatest) return inTurns(lists, maxRecords)
  const newestFirst = inTurns(
    lists.map((list) => list.toReversed()),
    maxRecords,
  )
  return newestFirst.toReversed()
}

/** Offsets at the end of a partition can be without a record. */
const leastNewest = 10

/** What there is to read of each partition; those without records are left out. */
async function loadRanges(
  cluster: KafkaCluster,
  { config }: KafkaAccess,
  partitions: TopicPartition[],
  maxRecords: number,
): Promise<SampledPartition[]> {
  const isLatest = config.offset?.strategy === 'from_latest'
  const [starts, ends] = await Promise.all([
    // What will come cannot be shown: the newest that is there stands for it.
    isLatest ? loadOffsets(cluster, partitions, earliest) : loadStarts(cluster, partitions, config.offset),
    loadOffsets(cluster, partitions, latest),
  ])
  const ranges = partitions.map((partition) => {
    const name = partitionName(partition)
    return { ...partition, offset: starts.get(name)!, end: ends.get(name)!, found: [] }
  })
  const filled = ranges.filter(({ offset, end }) => offset < end)
  if (!isLatest) return filled
  const share = BigInt(Math.max(Math.ceil(maxRecords / filled.length), leastNewest))
  return filled.map((range) => ({
    ...range,
    offset: range.end - share > range.offset ? range.end - share : range.offset,
  }))
}

function takeRecords(
  sampled: SampledPartition,
  { bytes, aborted }: { bytes: Buffer; aborted: Parameters<typeof readRecords>[2] },
  maxRecords: number,
): void {
  const { topic, partition } = sampled
  try {
    for (const { record, nextOffset } of readRecords(bytes, sampled.offset, aborted)) {
      sampled.offset = nextOffset
      if (record && record.value !== null) sampled.found.push({ ...record, topic, partition })
      if (sampled.found.length >= maxRecords) return
    }
  } catch (error) {
    throw error instanceof UnreadableBatch ? unreadableFailure(topic, partition, sampled.offset) : error
  }
}

/** One of each list, then the next one of each, up to a number. */
function inTurns<Item>(lists: Item[][], maxItems: number): Item[] {
  const taken: Item[] = []
  for (let index = 0; taken.length < maxItems; index++) {
    const turn = lists.flatMap((list) => list.slice(index, index + 1))
    if (turn.length === 0) break
    taken.push(...turn)
  }
  return taken.slice(0, maxItems)
}

async function decode(found: FoundRecord[], access: KafkaAccess): Promise<Sample> {
  const { config, secrets, context } = access
  const { format, schemaRegistry } = config
  const registry =
    schemaRegistry &&
    makeSchemaRegistry(
      {
        url: schemaRegistry.url,
        caCertificate: schemaRegistry.caCertificate,
        credentials: schemaRegistry.authentication && secrets.schemaRegistry,
      },
      { ...context, egress: access.egress, signal: access.signal },
    )
  try {
    const values = found.flatMap(({ value }) => (value === null ? [] : [value]))
    return await toSample(await decodeRecords(format, values, registry))
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error
    throw new ProbeFailure({
      step: 'decode',
      code: 'undecodable',
      reason: `${error.reason}${placeOfRecord(error.reason, found)}`,
      remedy: `set format to what the topics hold, or have them hold ${format} only`,
      field: 'format',
    })
  }
}

/** Decoders count the records that they are given, from 1. */
function placeOfRecord(reason: string, found: FoundRecord[]): string {
  const number = /\brecord (\d+)\b/.exec(reason)?.[1]
  const record = number === undefined ? undefined : found[Number(number) - 1]
  if (!record) return ''
  const { topic, partition, offset } = record
  return ` (record ${number} is at offset ${offset} in partition ${partition} of the topic "${topic}")`
}
