// Collects and limits response bodies of AWS-compatible services before an SDK client parses them. An endpoint chooses how long its
// responses are, and how slow to parse. Only objects are streamed.
import { makePieceMemory } from '../../lib/piece-memory.ts'
import { DirectBody } from '../direct/direct-body.ts'

/** `records`: GetRecords, at most 10 MB in base64. `messages`: ten SQS messages of at most 1 MiB each, in JSON. */
export type AnswerKind = 'object' | 'xml' | 'json' | 'records' | 'messages'

/** 1,000 keys of 1,024 bytes fit, even with each byte percent-encoded. */
const maxBytes = { xml: 4_000_000, json: 4_000_000, records: 16_000_000, messages: 24_000_000 }
/** Tags and entities together. The largest list page has a third of it. */
const maxTags = 100_000
/** Longest text without a tag. Keys, tokens and messages are shorter. */
const maxTextBytes = 64 * 1024

/** Undefined when the response is too large or too slow to parse. Rejects when the body is cut off or the signal aborts. */
export async function collectAnswer(
  body: AsyncIterable<Uint8Array>,
  kind: Exclude<AnswerKind, 'object'>,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const bytes = body instanceof DirectBody ? await readWhole(body, kind, signal) : await joinChunks(body, kind)
  return bytes && kind === 'xml' && !isQuicklyParsed(bytes) ? undefined : bytes
}

/** Two of the largest responses, for all clients together. */
const memory = makePieceMemory(2 * 16 * 1024 * 1024)
const reusable = new WeakMap<Uint8Array, Buffer>()
const leastReusedBytes = 1024 * 1024

/** Makes the memory of a collected response reusable: the caller must not use it afterwards. Optional. */
export function releaseAnswer(bytes: Uint8Array): void {
  const taken = reusable.get(bytes)
  reusable.delete(bytes)
  if (taken) memory.giveBack(taken)
}

async function readWhole(
  body: DirectBody,
  kind: Exclude<AnswerKind, 'object'>,
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> {
  const destroyBody = (): void => void body.destroy()
  if (signal?.aborted || body.sizeBytes > maxBytes[kind]) destroyBody()
  if (body.sizeBytes > maxBytes[kind]) return undefined
  signal?.addEventListener('abort', destroyBody, { once: true })
  const { sizeBytes } = body
  const isLarge = sizeBytes >= leastReusedBytes
  const taken = isLarge ? memory.take(sizeBytes) : Buffer.allocUnsafeSlow(sizeBytes)
  const bytes = taken.subarray(0, sizeBytes)
  try {
    await body.readInto(bytes)
    if (isLarge) reusable.set(bytes, taken)
    return bytes
  } catch {
    throw signal?.aborted ? signal.reason : brokenOff()
  } finally {
    signal?.removeEventListener('abort', destroyBody)
  }
}

/** With the error code that the SDK knows. */
function brokenOff(): Error {
  return Object.assign(new Error('the connection ended within an answer'), { code: 'ECONNRESET' })
}

async function joinChunks(
  body: AsyncIterable<Uint8Array>,
  kind: Exclude<AnswerKind, 'object'>,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of body) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBytes[kind]) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The SDK's XML parser is slow for many tags and for long texts, and unbounded for document types. */
function isQuicklyParsed(xml: Buffer): boolean {
  const [tag, entity] = [0x3c, 0x26]
  let tagCount = 0
  let lastTagAt = 0
  for (let at = 0; at < xml.length; at++) {
    const byte = xml[at]
    if (byte === tag || byte === entity) tagCount += 1
    if (byte === tag) lastTagAt = at
    if (tagCount > maxTags || at - lastTagAt > maxTextBytes) return false
  }
  return !/<!doctype/i.test(xml.toString('latin1'))
}
