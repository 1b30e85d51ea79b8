// Bodies on their way to an engine. All are gzip, also where that makes nothing smaller: a gzip body that is cut off has no end, so
// that the engine keeps nothing of it, where it would take a plain one for a whole one.
import { Readable } from 'node:stream'
import { createGzip, type Gzip } from 'node:zlib'
import { storedChunkBytes, storeInGzip } from './stored-gzip.ts'

/** `stored`: as they are, for a network that is quicker than a compressor; `smaller`: for one that is not. */
export type Packing = 'stored' | 'smaller'

/** Pieces in lists. What is in a list may be overwritten when the next is asked for: each is to be sent as a whole before that. */
export type PackedBody = AsyncGenerator<Uint8Array[], void>

/** Of rows as JSON, level 1 leaves a quarter; it takes 10 ms per MB, in a thread of its own. */
const level = 1
/** Each row may be a chunk of its own, and each chunk costs a turn: they are joined. */
const chunkBytes = storedChunkBytes
/** Not worth joining. */
const largeBytes = 65_536

export const contentEncoding = 'gzip'

function encoded(plain: AsyncIterable<Uint8Array>, packing: Packing): PackedBody {
  return packing === 'stored' ? storeInGzip(plain) : makeSmaller(plain)
}

/** The text and the body after it. What the body throws, asking for more throws. */
export function compress(text: string, body: Iterable<Uint8Array> | Readable, packing: Packing): PackedBody {
  // It may fail before anyone reads from it, and is not to be an error that nobody handles: who reads then, gets it.
  if (body instanceof Readable) body.on('error', () => undefined)
  return encoded(inLargeChunks(text, body), packing)
}

async function* makeSmaller(plain: AsyncIterable<Uint8Array>): PackedBody {
  const gzip = createGzip({ level, chunkSize: chunkBytes })
  feed(gzip, plain).catch((error: Error) => gzip.destroy(error))
  for await (const chunk of gzip) yield [chunk as Uint8Array]
}

/** Asks for no chunk before the one before it is taken in. */
async function feed(gzip: Gzip, plain: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of plain) {
    await new Promise<void>((resolve, reject) => {
      gzip.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
  }
  gzip.end()
}

/** Small ones are joined in a buffer that is used again for the next. */
async function* inLargeChunks(text: string, body: Iterable<Uint8Array> | Readable): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text, 'utf8')
  let buffer: Buffer | undefined
  let used = 0
  for await (const chunk of body) {
    const bytes = chunk as Uint8Array
    if (buffer && used > 0 && used + bytes.length > chunkBytes) {
      yield buffer.subarray(0, used)
      used = 0
    }
    if (used === 0 && bytes.length >= largeBytes) yield bytes
    else {
      buffer ??= Buffer.allocUnsafeSlow(chunkBytes)
      buffer.set(bytes, used)
      used += bytes.length
    }
  }
  if (buffer && used > 0) yield buffer.subarray(0, used)
}
