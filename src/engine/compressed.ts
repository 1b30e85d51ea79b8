// Bodies on their way to an engine. All are gzip, also where that makes nothing smaller: a gzip body that is cut off has no end, so
// that the engine keeps nothing of it, where it would take a plain one for a whole one.
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { storedChunkBytes, storeInGzip } from './stored-gzip.ts'

/** `stored`: as they are, for a network that is quicker than a compressor; `smaller`: for one that is not. */
export type Packing = 'stored' | 'smaller'

/** Of rows as JSON, level 1 leaves a quarter; it takes 10 ms per MB, in a thread of its own. */
const level = 1
/** Each row may be a chunk of its own, and each chunk costs a turn: they are joined. */
const chunkBytes = storedChunkBytes
/** Not worth joining. */
const largeBytes = 65_536

export const contentEncoding = 'gzip'

function encoded(plain: AsyncIterable<Uint8Array>, packing: Packing): Readable {
  if (packing === 'stored') return Readable.from(storeInGzip(plain), { objectMode: false })
  // An error of the first comes out of the last.
  return pipeline(asStream(plain), createGzip({ level, chunkSize: chunkBytes }), () => undefined)
}

/** The text and the body after it. What the body throws is the error of the stream. */
export function compress(text: string, body: Iterable<Uint8Array> | Readable, packing: Packing): Readable {
  // It may fail before anyone reads from it, and is not to be an error that nobody handles: who reads then, gets it.
  if (body instanceof Readable) body.on('error', () => undefined)
  return encoded(inLargeChunks(text, body), packing)
}

function asStream(chunks: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(chunks, { objectMode: false })
}

async function* inLargeChunks(text: string, body: Iterable<Uint8Array> | Readable): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text, 'utf8')
  let buffer: Buffer | undefined
  let used = 0
  for await (const chunk of body) {
    const bytes = chunk as Uint8Array
    if (buffer && used + bytes.length > chunkBytes) {
      yield buffer.subarray(0, used)
      buffer = undefined
      used = 0
    }
    if (!buffer && bytes.length >= largeBytes) yield bytes
    else {
      buffer ??= Buffer.allocUnsafeSlow(chunkBytes)
      buffer.set(bytes, used)
      used += bytes.length
    }
  }
  if (buffer) yield buffer.subarray(0, used)
}
