// Helpers of the Kafka suites: sources for a server, new topics, and records.
import { randomUUID } from 'node:crypto'
import type { KafkaSource } from '../../src/source-shapes/kafka-source.ts'
import type { SourceSecrets } from '../../src/source-shapes/source-kind.ts'
import { makeKafkaSource } from '../../src/sources/kafka/kafka.ts'
import type { Batch, Positions, ReadableSource, SourceContext, SourceReader } from '../../src/sources/source.ts'
import { loopbackEgress } from './conformance.ts'
import type { KafkaRecord, KafkaServer } from './kafka-server.ts'

export const strictContext: SourceContext = {
  organizationId: '8a0b3b0e-5b1f-4d58-9f0e-1f6c1c2d3e4f',
  caCertificates: undefined,
  allowPlaintext: false,
  awsEndpoints: {},
}
export const plaintextContext: SourceContext = { ...strictContext, allowPlaintext: true }

export interface SourceParts {
  config?: Partial<KafkaSource>
  secrets?: SourceSecrets
  context?: SourceContext
  /** CA certificate; default: that of the server; null: none. */
  caCertificate?: string | null
}

/** By default a valid source of the topics. */
export function sourceOf(server: KafkaServer, topics: string, parts: SourceParts = {}): ReadableSource {
  const { secrets = { credentials: { ...server.user } }, context = strictContext } = parts
  return makeKafkaSource(configOf(server, topics, parts), secrets, context)
}

export function configOf(server: KafkaServer, topics: string, parts: SourceParts = {}): KafkaSource {
  const { caCertificate = server.ca } = parts
  return {
    type: 'kafka',
    authentication: 'PLAIN',
    brokers: server.listeners.saslTls,
    topics,
    format: 'JSONEachRow',
    consumerGroup: 'penstock-test',
    offset: { strategy: 'from_beginning' },
    ...(caCertificate === null ? {} : { caCertificate }),
    ...parts.config,
  }
}

export function jsonRecords(count: number, partitions = 1, from = 0): KafkaRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    partition: index % partitions,
    key: `key-${from + index}`,
    value: Buffer.from(JSON.stringify({ id: from + index, name: `name ${from + index}` })),
  }))
}

/** A new topic with these records. */
export async function topicWith(server: KafkaServer, records: KafkaRecord[], partitions = 1): Promise<string> {
  const topic = `topic-${randomUUID()}`
  await server.createTopic(topic, partitions)
  if (records.length > 0) await server.produce(topic, records)
  return topic
}

/** A position without its topic id, which is different in each run. */
export function shortPosition(position: string | undefined): string | undefined {
  return position?.replace(/ in [0-9a-f-]{36}/, '')
}

export function shortPositions(positions: Positions): Positions {
  return Object.fromEntries(Object.entries(positions).map(([name, position]) => [name, shortPosition(position)!]))
}

/** The ids of the records of all batches. */
export function idsOf(batches: Batch[]): number[] {
  const records = batches.flatMap((batch) => [...(batch.records ?? [])])
  return records.map(({ value }) => JSON.parse(Buffer.from(value).toString()).id)
}

export async function withReader<Result>(
  source: ReadableSource,
  positions: Positions,
  use: (reader: SourceReader) => Promise<Result>,
): Promise<Result> {
  const reader = await source.open(positions, { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })
  try {
    return await use(reader)
  } finally {
    await reader.close()
  }
}

/** The first read returns the start of each partition. */
export async function readStarts(reader: SourceReader): Promise<void> {
  const signal = AbortSignal.timeout(10_000)
  const batches = await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
  if (idsOf(batches).length > 0) throw new Error('records came with the starts')
}

/** Reads until there are that many records. */
export async function readIds(reader: SourceReader, count: number): Promise<number[]> {
  const signal = AbortSignal.timeout(10_000)
  const ids: number[] = []
  while (ids.length < count && !signal.aborted) {
    ids.push(...idsOf(await reader.read({ maxRecords: 1_000, maxBytes: 1_000_000, waitMs: 100, signal })))
  }
  return ids
}

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}

export function sorted(ids: number[]): number[] {
  return ids.toSorted((a, b) => a - b)
}
