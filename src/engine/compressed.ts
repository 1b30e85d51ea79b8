// Encodes bodies as gzip, also where that does not make them smaller: a truncated gzip body has no end, so that ClickHouse keeps nothing
// of it. It would treat a truncated plain body as complete.
import { Readable } from 'node:stream'
import { createGzip, type Gzip } from 'node:zlib'
import { storedChunkBytes, storeInGzip } from './stored-gzip.ts'

/** `stored`: not compressed, for a network faster than the compressor; `smaller`: for a slower one. */
export type Packing = 'stored' | 'smaller'

/** Lists of pieces. A list must be sent completely before the next one is requested: its memory may be overwritten then. */
export type PackedBody = AsyncGenerator<Uint8Array[], void>

/** Level 1 compresses JSON rows to a quarter; it takes 10 ms per MB, in another thread. */
const level = 1
/** Small chunks are joined: each may be a single row, and each costs an event-loop turn. */
const chunkBytes = storedChunkBytes
/** Chunks of this size are not joined. */
const largeBytes = 65_536

export const contentEncoding = 'gzip'

function encoded(plain: AsyncIterable<Uint8Array>, packing: Packing): PackedBody {
  return packing === 'stored' ? storeInGzip(plain) : makeSmaller(plain)
}

/** The text followed by the body. Errors of the body reject the next read. */
export function compress(text: string, body: Iterable<Uint8Array> | Readable, packing: Packing): PackedBody {
  // The body may fail before it is read. Without a listener the error would be unhandled; the reader gets it later.
  if (body instanceof Readable) body.on('error', () => undefined)
  return encoded(inLargeChunks(text, body), packing)
}

async function* makeSmaller(plain: AsyncIterable<Uint8Array>): PackedBody {
  const gzip = createGzip({ level, chunkSize: chunkBytes })
  feed(gzip, plain).catch((error: Error) => gzip.destroy(error))
  for await (const chunk of gzip) yield [chunk as Uint8Array]
}

/** Waits until a chunk is consumed before it requests the next one. */
async function feed(gzip: Gzip, plain: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of plain) {
    await new Promise<void>((resolve, reject) => {
      gzip.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
  }
  gzip.end()
}

/** Joins small chunks in a reused buffer. */
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
