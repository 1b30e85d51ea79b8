// Pages of records, read out of the answers of Kinesis by ourselves: the client of AWS examines every character of every record
// before it decodes it, which takes longer than all the rest. It still signs, sends and repeats the requests, and reads the errors.
import { GetRecordsCommand, type GetRecordsCommandInput, type KinesisClient } from '@aws-sdk/client-kinesis'
import { type HeldMemory, makeHeldMemory } from '../../lib/held-memory.ts'
import { makePieceMemory } from '../../lib/piece-memory.ts'
import { releaseAnswer } from '../aws/aws-answer.ts'
import type { KinesisRecord } from './kinesis-record.ts'

export interface Page {
  records: KinesisRecord[]
  /** The iterator of the next page; without one, the shard is closed and has been read to its end. */
  next: string | undefined
  /** There is more in the shard already, even if this page is empty. */
  isBehind: boolean
}

type AskForPage = (input: GetRecordsCommandInput, options: { abortSignal: AbortSignal }) => Promise<Page>

interface AnswerReader {
  deserializeResponse(
    operation: { name: string },
    context: unknown,
    response: { statusCode: number; body: unknown },
  ): Promise<object>
}

/** From now on, this client gives pages when it is asked for records. Its request handler must collect the bodies of answers. */
export function makeAskForPage(client: KinesisClient): AskForPage {
  const reader = client.config.protocol as unknown as AnswerReader
  const readOther = reader.deserializeResponse.bind(reader)
  reader.deserializeResponse = async (operation, context, response) => {
    const { statusCode, body } = response
    const isPage = operation.name === 'GetRecords' && statusCode === 200 && Buffer.isBuffer(body)
    if (!isPage) return readOther(operation, context, response)
    const page = parsePage(body)
    // Not of one that cannot be read: the client may look at it once more.
    releaseAnswer(body)
    // The client writes its attempts into $metadata.
    return { $metadata: {}, page }
  }
  return async (input, options) => {
    const answer: object = await client.send(new GetRecordsCommand(input), options)
    const { page } = answer as { page?: Page }
    if (!page) throw notAnAnswer()
    return page
  }
}

/** Throws when it is not an answer of Kinesis. Nothing of what it gives is in the body. */
export function parsePage(body: Buffer): Page {
  const { rest, lifted, memory } = liftData(body)
  const { Records, NextShardIterator, MillisBehindLatest } = fieldsOf(JSON.parse(rest))
  const next = NextShardIterator ?? undefined
  if (!Array.isArray(Records) || (next !== undefined && typeof next !== 'string')) throw notAnAnswer()
  const records = Records.map((record) => ({ ...toRecord(fieldsOf(record), lifted), ...(memory ? { memory } : {}) }))
  return { records, next, isBehind: Number(MillisBehindLatest ?? 0) > 0 }
}

const [quote, colon, space, equals] = [0x22, 0x3a, 0x20, 0x3d]
const dataField = Buffer.from('"Data"')

/**
 * The answer as text, with numbers in the place of what is in base64: that is nearly all of it, and is decoded without making it a
 * part of larger texts. Within a text of JSON, no quote stands without a backslash: what looks like the field is a field. Whatever
 * is written in another way stays where it is.
 */
function liftData(body: Buffer): { rest: string; lifted: Buffer[]; memory: HeldMemory | undefined } {
  const pieces: string[] = []
  const lifted: Buffer[] = []
  // One memory for all of them. Base64 is longer than what it stands for.
  const { decoded, memory } = takeMemory(Math.ceil(body.length * 0.75))
  let decodedBytes = 0
  let keptFrom = 0
  for (let at = body.indexOf(dataField); at !== -1; at = body.indexOf(dataField, at)) {
    const colonAt = skipSpace(body, at + dataField.length)
    const valueAt = skipSpace(body, colonAt + 1)
    at = colonAt
    if (body[colonAt] !== colon || body[valueAt] !== quote) continue
    const endAt = body.indexOf(quote, valueAt + 1)
    const room = decoded.subarray(decodedBytes)
    const data = endAt === -1 ? undefined : decode(body.toString('latin1', valueAt + 1, endAt), room)
    if (!data) continue
    decodedBytes += data.length
    pieces.push(body.toString('utf8', keptFrom, valueAt), String(lifted.length))
    lifted.push(data)
    keptFrom = endAt + 1
    at = keptFrom
  }
  pieces.push(body.toString('utf8', keptFrom))
  return { rest: pieces.join(''), lifted, memory }
}

/** Of all pipes together: as much as a delivery can have held. */
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

function toRecord(fields: Record<string, unknown>, lifted: Buffer[]): KinesisRecord {
  const { SequenceNumber: sequence, PartitionKey, ApproximateArrivalTimestamp, Data } = fields
  const [key, seconds, text] = [PartitionKey ?? '', ApproximateArrivalTimestamp ?? 0, Data ?? '']
  const data = typeof text === 'string' ? decode(text) : typeof text === 'number' ? lifted[text] : undefined
  const isRecord = typeof sequence === 'string' && typeof key === 'string' && typeof seconds === 'number'
  if (!isRecord || !data) throw notAnAnswer()
  return { sequence, key, arrivedAtMs: Math.round(seconds * 1_000), data }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw notAnAnswer()
  return value as Record<string, unknown>
}

/** Undefined when it is not base64: of that, the decoder leaves out without a word what it does not know. */
function decode(text: string, room: Buffer = Buffer.allocUnsafeSlow(text.length)): Buffer | undefined {
  const { length } = text
  const data = room.subarray(0, room.write(text, 'base64'))
  const isPadded = text.charCodeAt(length - 1) === equals
  const paddings = isPadded ? (text.charCodeAt(length - 2) === equals ? 2 : 1) : 0
  return length % 4 === 0 && data.length === (length / 4) * 3 - paddings ? data : undefined
}

function notAnAnswer(): Error {
  return new Error('not an answer of Kinesis')
}
