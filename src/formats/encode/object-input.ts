// Input of a feed: a body read straight into the memory of the feed, or the chunks of a stream or of a decompressor.
import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { decompressedStream, markBytes } from '../decode/compressed-stream.ts'
import { type CompressionMethod, compressionOf } from '../decode/compression.ts'
import type { FeedInput } from './object-feed.ts'
import type { ObjectToEncode } from './object-format.ts'
import type { ObjectPlan } from './object-stream.ts'

/** A body with known size. Read as a stream, or into the memory of the caller; not both at once. */
interface DirectBody extends Readable {
  readonly leftBytes: number
  /** Fills the target; reads less only at the end of the body. */
  readInto(target: Uint8Array): Promise<number>
}

const isDirect = (body: Readable): body is DirectBody => 'readInto' in body

/** Calls `found` with the compression before anything is read. */
export async function openInput(
  { source: { compression } }: ObjectPlan,
  object: ObjectToEncode,
  { signal, found }: { signal: AbortSignal; found: (method: CompressionMethod) => void },
): Promise<FeedInput> {
  const body = await object.open(signal)
  if (!isDirect(body)) {
    return inputOfChunks(decompressedStream(body, object.key, compression, { frees: true, found }))
  }
  try {
    const mark = Buffer.alloc(markBytes)
    const first = mark.subarray(0, await body.readInto(mark))
    const method = compressionOf(object.key, first, compression)
    if (method === 'none') {
      found(method)
      return inputOfBody(first, body)
    }
    body.unshift(first)
  } catch (error) {
    body.destroy()
    throw error
  }
  return inputOfChunks(decompressedStream(body, object.key, compression, { found }))
}

function inputOfBody(first: Uint8Array, body: DirectBody): FeedInput {
  let start = first
  return {
    async read(neededBytes, room) {
      if (start.length > 0) {
        room(start.length).set(start)
        const { length } = start
        start = new Uint8Array()
        return length
      }
      const { leftBytes } = body
      return leftBytes === 0 ? undefined : body.readInto(room(Math.min(neededBytes, leftBytes)))
    },
    async close() {
      body.destroy()
    },
  }
}

function inputOfChunks(chunks: AsyncGenerator<Uint8Array, void>): FeedInput {
  return {
    async read(_wantedBytes, room) {
      const { value, done } = await chunks.next()
      if (done) return undefined
      room(value.length).set(value)
      return value.length
    },
    close: async () => void (await chunks.return()),
  }
}
