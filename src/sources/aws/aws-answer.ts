// The answers of AWS, and of what speaks like it, before a client reads them. Whoever answers decides how long an answer is, and
// how much work it makes; this process serves everybody. Only objects pass as they come.
import { makePieceMemory } from '../../lib/piece-memory.ts'
import { DirectBody } from '../direct/direct-body.ts'

/** `records` are those of Kinesis: at most 10 MB, in base64. `messages` are ten of SQS: each a text of at most 1 MiB, in JSON. */
export type AnswerKind = 'object' | 'xml' | 'json' | 'records' | 'messages'

/** 1,000 keys of 1,024 bytes fit, also when each byte is encoded. */
const maxBytes = { xml: 4_000_000, json: 4_000_000, records: 16_000_000, messages: 24_000_000 }
/** Of tags and entities together. The largest page of a list has a third of it. */
const maxMarks = 100_000
/** Without a tag in it. No key, token or message is as long. */
const maxTextBytes = 64 * 1024

/** Undefined when it is nothing that a service would say. Rejects with what breaks the body off, which the signal may do. */
export async function collectAnswer(
  body: AsyncIterable<Uint8Array>,
  kind: Exclude<AnswerKind, 'object'>,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const bytes = body instanceof DirectBody ? await readWhole(body, kind, signal) : await joinPieces(body, kind)
  return bytes && kind === 'xml' && !isQuicklyParsed(bytes) ? undefined : bytes
}

/** Two of the largest; of all clients together. */
const memory = makePieceMemory(2 * 16 * 1024 * 1024)
const takenFor = new WeakMap<Uint8Array, Buffer>()
const leastTakenBytes = 1024 * 1024

/** Of what was collected here: nobody ever looks at it again. Need not be called. */
export function releaseAnswer(bytes: Uint8Array): void {
  const taken = takenFor.get(bytes)
  takenFor.delete(bytes)
  if (taken) memory.giveBack(taken)
}

async function readWhole(
  body: DirectBody,
  kind: Exclude<AnswerKind, 'object'>,
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> {
  const giveUp = (): void => void body.destroy()
  if (signal?.aborted || body.sizeBytes > maxBytes[kind]) giveUp()
  if (body.sizeBytes > maxBytes[kind]) return undefined
  signal?.addEventListener('abort', giveUp, { once: true })
  const { sizeBytes } = body
  const isLarge = sizeBytes >= leastTakenBytes
  const taken = isLarge ? memory.take(sizeBytes) : Buffer.allocUnsafeSlow(sizeBytes)
  const bytes = taken.subarray(0, sizeBytes)
  try {
    await body.readInto(bytes)
    if (isLarge) takenFor.set(bytes, taken)
    return bytes
  } catch {
    throw signal?.aborted ? signal.reason : brokenOff()
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
}

/** By the name that clients know. */
function brokenOff(): Error {
  return Object.assign(new Error('the connection ended within an answer'), { code: 'ECONNRESET' })
}

async function joinPieces(
  body: AsyncIterable<Uint8Array>,
  kind: Exclude<AnswerKind, 'object'>,
): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of body) {
    sizeBytes += piece.length
    if (sizeBytes > maxBytes[kind]) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** The client's parser takes its time for each tag and for long texts, and for document types time without end. */
function isQuicklyParsed(xml: Buffer): boolean {
  const [tag, entity] = [0x3c, 0x26]
  let marks = 0
  let lastTagAt = 0
  for (let at = 0; at < xml.length; at++) {
    const byte = xml[at]
    if (byte === tag || byte === entity) marks += 1
    if (byte === tag) lastTagAt = at
    if (marks > maxMarks || at - lastTagAt > maxTextBytes) return false
  }
  return !/<!doctype/i.test(xml.toString('latin1'))
}
