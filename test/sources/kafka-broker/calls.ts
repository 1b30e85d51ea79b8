// Single requests to a Kafka broker in a given version, encoded by the library that production code uses.
import assert from 'node:assert/strict'
import * as library from '@platformatic/kafka'
import {
  Connection,
  type ConnectionOptions,
  type fetchV17,
  type listOffsetsV9,
  type metadataV12,
} from '@platformatic/kafka'
import type { KafkaListeners, KafkaServer, Login } from '../kafka-server.ts'

export type MetadataResponse = metadataV12.MetadataResponse

export interface Way {
  listener?: keyof KafkaListeners
  sasl?: ConnectionOptions['sasl']
}

export async function connected<Result>(
  server: KafkaServer,
  { listener = 'plain', sasl }: Way,
  use: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const [host = '', port] = server.listeners[listener].split(':')
  const connection = new Connection('test', { ...(sasl ? { sasl } : {}), connectTimeout: 5_000, requestTimeout: 5_000 })
  try {
    await connection.connect(host, Number(port))
    return await use(connection)
  } finally {
    await connection.close()
  }
}

export const loggedIn = ({ username, password }: Login, mechanism: library.SASLMechanismValue = 'PLAIN'): Way => ({
  listener: 'saslPlain',
  sasl: { mechanism, username, password },
})

/** The library's API of a request version, such as `fetchV12`. Arguments and responses hardly differ by version. */
interface LibraryApi {
  api: { async(connection: Connection, ...request: unknown[]): Promise<unknown> }
}

export async function call<Response>(
  connection: Connection,
  name: string,
  version: number,
  ...request: unknown[]
): Promise<Response> {
  const found = (library as unknown as Record<string, LibraryApi | undefined>)[`${name}V${version}`]
  if (!found) throw new Error(`The library has no ${name}V${version}`)
  return (await found.api.async(connection, ...request)) as Response
}

/** Asserts that the response has this error code. */
export async function refused(request: Promise<unknown>, name: string): Promise<void> {
  await assert.rejects(request, (error: Error) => {
    const names = errorNames(error)
    assert.ok(names.includes(name), `${name} expected, not ${names.join(', ') || error}`)
    return true
  })
}

function errorNames(error: unknown): string[] {
  const { apiId, cause, errors = [] } = error as { apiId?: string; cause?: unknown; errors?: unknown[] }
  const within = cause === undefined ? errors : [cause, ...errors]
  return [...(apiId === undefined ? [] : [apiId]), ...within.flatMap(errorNames)]
}

export const earliest = -2n
export const latest = -1n

type OffsetQuestion = [connection: Connection, version: number, topic: string, timestamp: bigint]

export function askOffset(...question: OffsetQuestion): Promise<listOffsetsV9.ListOffsetsResponse> {
  const [connection, version, name, timestamp] = question
  const partitions = [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp }]
  return call(connection, 'listOffsets', version, -1, 0, [{ name, partitions }])
}

export async function offsetOf(...question: OffsetQuestion): Promise<bigint | undefined> {
  return (await askOffset(...question)).topics[0]?.partitions[0]?.offset
}

export interface FetchOptions {
  version?: number
  /** Default: the topic name. */
  topicId?: string
  offset?: number
  maxBytes?: number
  partitionMaxBytes?: number
  waitMs?: number
  isCommitted?: boolean
}

/** From partition 0. */
export function fetchFrom(
  connection: Connection,
  topic: string,
  options: FetchOptions = {},
): Promise<fetchV17.FetchResponse> {
  const { version = 12, topicId = topic, offset = 0, maxBytes = 1_000_000, waitMs = 0, isCommitted = false } = options
  const partition = {
    partition: 0,
    currentLeaderEpoch: -1,
    fetchOffset: BigInt(offset),
    lastFetchedEpoch: -1,
    partitionMaxBytes: options.partitionMaxBytes ?? maxBytes,
  }
  const requested = [{ topicId, partitions: [partition] }]
  return call(connection, 'fetch', version, waitMs, 1, maxBytes, isCommitted ? 1 : 0, 0, -1, requested, [], '')
}

export const partitionOf = (fetched: fetchV17.FetchResponse) => fetched.responses[0]?.partitions[0]

export const textsOf = (fetched: fetchV17.FetchResponse): string[] =>
  (partitionOf(fetched)?.records ?? []).flatMap(({ records }) => records.map(({ value }) => String(value)))

export const asRecords = (texts: string[]): { partition: number; value: Buffer }[] =>
  texts.map((text) => ({ partition: 0, value: Buffer.from(text) }))
