// Parses GetRecords responses. The SDK checks every character of base64 data before it decodes it, which takes longer than
// everything else. The SDK still signs, sends and retries requests, and parses errors.
import { GetRecordsCommand, type GetRecordsCommandInput, type KinesisClient } from '@aws-sdk/client-kinesis'
import { type HeldMemory, makeHeldMemory } from '../../lib/held-memory.ts'
import { makePieceMemory } from '../../lib/piece-memory.ts'
import { releaseAnswer } from '../aws/aws-answer.ts'
import type { KinesisRecord } from './kinesis-record.ts'

export interface Page {
  records: KinesisRecord[]
  /** NextShardIterator; undefined: the shard is closed and has been read to its end. */
  next: string | undefined
  /** The shard has more records now, even if this page is empty. */
  isBehind: boolean
}

type GetPage = (input: GetRecordsCommandInput, options: { abortSignal: AbortSignal }) => Promise<Page>

interface AnswerReader {
  deserializeResponse(
    operation: { name: string },
    context: unknown,
    response: { statusCode: number; body: unknown },
  ): Promise<object>
}

/** Makes the client return pages for GetRecords. Its request handler must collect response bodies. */
export function makeGetPage(client: KinesisClient): GetPage {
  const reader = client.config.protocol as unknown as AnswerReader
  const deserializeOther = reader.deserializeResponse.bind(reader)
  reader.deserializeResponse = async (operation, context, response) => {
    const { statusCode, body } = response
    const isPage = operation.name === 'GetRecords' && statusCode === 200 && Buffer.isBuffer(body)
    if (!isPage) return deserializeOther(operation, context, response)
    const page = parsePage(body)
    // A body that cannot be parsed is not released: the SDK may read it again.
    releaseAnswer(body)
    // The SDK writes its attempts into $metadata.
    return { $metadata: {}, page }
  }
  return async (input, options) => {
    const answer: object = await client.send(new GetRecordsCommand(input), options)
    const { page } = answer as { page?: Page }
    if (!page) throw invalidResponse()
    return page
  }
}

/** Throws when it is not a response of Kinesis. The result contains no part of the body. */
export function parsePage(body: Buffer): Page {
  const { rest, extracted, memory } = extractData(body)
  const { Records, NextShardIterator, MillisBehindLatest } = fieldsOf(JSON.parse(rest))
  const next = NextShardIterator ?? undefined
  if (!Array.isArray(Records) || (next !== undefined && typeof next !== 'string')) throw invalidResponse()
  const records = Records.map((record) => ({ ...toRecord(fieldsOf(record), extracted), ...(memory ? { memory } : {}) }))
  return { records, next, isBehind: Number(MillisBehindLatest ?? 0) > 0 }
}

const [quote, colon, space, equals] = [0x22, 0x3a, 0x20, 0x3d]
const dataField = Buffer.from('"Data"')

/**
 * Decodes base64 data straight from the body and replaces it by indices, so that JSON.parse handles only the small rest. Quotes
 * within JSON strings are escaped, so a match of the field name is a field. Data in any other form is left as it is.
 */
function extractData(body: Buffer): { rest: string; extracted: Buffer[]; memory: HeldMemory | undefined } {
  const pieces: string[] = []
  const extracted: Buffer[] = []
  // One buffer for all records: base64 is longer than the data.
  const { decoded, memory } = takeMemory(Math.ceil(body.length * 0.75))
  let decodedBytes = 0
  let copiedTo = 0
  for (let at = body.indexOf(dataField); at !== -1; at = body.indexOf(dataField, at)) {
    const colonAt = skipSpace(body, at + dataField.length)
    const valueAt = skipSpace(body, colonAt + 1)
    at = colonAt
    if (body[colonAt] !== colon || body[valueAt] !== quote) continue
    const endAt = body.indexOf(quote, valueAt + 1)
    const target = decoded.subarray(decodedBytes)
    const data = endAt === -1 ? undefined : decode(body.toString('latin1', valueAt + 1, endAt), target)
    if (!data) continue
    decodedBytes += data.length
    pieces.push(body.toString('utf8', copiedTo, valueAt), String(extracted.length))
    extracted.push(data)
    copiedTo = endAt + 1
    at = copiedTo
  }
  pieces.push(body.toString('utf8', copiedTo))
  return { rest: pieces.join(''), extracted, memory }
}

/** For all pipes together. */
const pageMemory = makePieceMemory(64 * 1024 * 1024)
const leastReusedBytes = 1024 * 1024

function takeMemory(sizeBytes: number): { decoded: Buffer; memory: HeldMemory | undefined } {
  if (sizeBytes < leastReusedBytes) return { decoded: Buffer.allocUnsafeSlow(sizeBytes), memory: undefined }
  const decoded = pageMemory.take(sizeBytes)
  return { decoded, memory: makeHeldMemory(() => pageMemory.giveBack(decoded)) }
}

function skipSpace(body: Buffer, from: number): number {
  let at = from
  while (body[at] === space) at++
  return at
}

function toRecord(fields: Record<string, unknown>, extracted: Buffer[]): KinesisRecord {
  const { SequenceNumber: sequence, PartitionKey, ApproximateArrivalTimestamp, Data } = fields
  const [key, seconds, text] = [PartitionKey ?? '', ApproximateArrivalTimestamp ?? 0, Data ?? '']
  const data = typeof text === 'string' ? decode(text) : typeof text === 'number' ? extracted[text] : undefined
  const isRecord = typeof sequence === 'string' && typeof key === 'string' && typeof seconds === 'number'
  if (!isRecord || !data) throw invalidResponse()
  return { sequence, key, arrivedAtMs: Math.round(seconds * 1_000), data }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw invalidResponse()
  return value as Record<string, unknown>
}

/** Undefined when the text is not base64; Node's decoder silently skips invalid characters. */
function decode(text: string, target: Buffer = Buffer.allocUnsafeSlow(text.length)): Buffer | undefined {
  const { length } = text
  const data = target.subarray(0, target.write(text, 'base64'))
  const isPadded = text.charCodeAt(length - 1) === equals
  const paddings = isPadded ? (text.charCodeAt(length - 2) === equals ? 2 : 1) : 0
  return length % 4 === 0 && data.length === (length / 4) * 3 - paddings ? data : undefined
}

function invalidResponse(): Error {
  return new Error('not a response of Kinesis')
}
