// Decompresses an object of any size as a stream, with little memory. Errors of the store are passed on; invalid bytes are
// Undecodable.
import { Readable } from 'node:stream'
import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  type Gunzip,
  type ZstdDecompress,
} from 'node:zlib'
import xz from 'xz-decompress'
import { Undecodable } from '../undecodable.ts'
import { type CompressionMethod, compressionOf, damage, refuseTrailing } from './compression.ts'
import type { Compression } from './decoding.ts'

type Bytes = AsyncIterable<Uint8Array>
type Decompressor = Gunzip | BrotliDecompress | ZstdDecompress

/** Enough for the magic bytes of every method. */
export const markBytes = 10

/**
 * Destroys the body at the end, also when the iteration stops early. With `frees`, the memory of a chunk is freed when the next is
 * requested, so nothing else may use the chunks of the body. `found` is called before the first chunk.
 */
export async function* decompressedStream(
  body: Readable,
  key: string,
  compression: Compression,
  { frees = false, found }: { frees?: boolean; found?: ((method: CompressionMethod) => void) | undefined } = {},
): AsyncGenerator<Uint8Array, void> {
  try {
    const chunks = (body as Bytes)[Symbol.asyncIterator]()
    const first = await readAtLeast(chunks, markBytes)
    const method = compressionOf(key, first, compression)
    found?.(method)
    if (method === 'none') yield* startingWith(first, chunks, frees ? freeNow : undefined)
    else yield* decompressed(method, startingWith(first, chunks))
  } finally {
    body.destroy()
  }
}

async function readAtLeast(chunks: AsyncIterator<Uint8Array>, sizeBytes: number): Promise<Uint8Array> {
  let bytes: Uint8Array = new Uint8Array()
  while (bytes.length < sizeBytes) {
    const { value, done } = await chunks.next()
    if (done) break
    bytes = bytes.length === 0 ? value : Buffer.concat([bytes, value])
  }
  return bytes
}

async function* startingWith(
  first: Uint8Array,
  others: AsyncIterator<Uint8Array>,
  leave?: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void> {
  if (first.length > 0) yield first
  for (let next = await others.next(); !next.done; next = await others.next()) {
    yield next.value
    leave?.(next.value)
  }
}

/** Frees the memory immediately: garbage of many megabytes would cause full garbage collections. */
function freeNow({ buffer, byteLength }: Uint8Array): void {
  // Otherwise the buffer is shared.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** Distinguishes errors of the store from those of the decompressor. */
class StoreError extends Error {}

async function* decompressed(method: Exclude<CompressionMethod, 'none'>, stored: Bytes): AsyncGenerator<Uint8Array> {
  try {
    yield* decompressors[method](marked(stored))
  } catch (error) {
    if (error instanceof Undecodable) throw error
    throw error instanceof StoreError ? error.cause : new Undecodable(damage(method, error))
  }
}

async function* marked(stored: Bytes): AsyncGenerator<Uint8Array> {
  try {
    yield* stored
  } catch (error) {
    throw new StoreError('the store failed', { cause: error })
  }
}

const decompressors: Record<Exclude<CompressionMethod, 'none'>, (stored: Bytes) => Bytes> = {
  gzip: (stored) => through('gzip', stored, createGunzip()),
  brotli: (stored) => through('brotli', stored, createBrotliDecompress()),
  zstd: unzstd,
  xz: unxz,
}

/** Node's streams stop at the end of the compressed data and ignore trailing bytes. */
async function* through(method: CompressionMethod, stored: Bytes, decompressor: Decompressor): Bytes {
  const next = nextOf(stored)
  const fed = feed(decompressor, await next(), next)
  try {
    yield* decompressor
  } finally {
    decompressor.destroy()
  }
  for (let rest = (await fed) ?? (await next()); rest !== undefined; rest = await next()) refuseTrailing(method, rest)
}

function nextOf(stored: Bytes): () => Promise<Uint8Array | undefined> {
  const chunks = stored[Symbol.asyncIterator]()
  return async () => {
    const { value, done } = await chunks.next()
    return done ? undefined : value
  }
}

/** Node's stream stops at the end of a frame: the rest of the chunk is the start of the next frame. */
async function* unzstd(stored: Bytes): AsyncGenerator<Uint8Array> {
  const next = nextOf(stored)
  for (let rest = await next(); rest !== undefined; rest ??= await next()) {
    const frame = createZstdDecompress()
    const fed = feed(frame, rest, next)
    try {
      yield* frame as Bytes
    } finally {
      frame.destroy()
    }
    rest = await fed
  }
}

/** Returns the unused rest of the last chunk, if any. */
async function feed(
  frame: Decompressor,
  first: Uint8Array | undefined,
  next: () => Promise<Uint8Array | undefined>,
): Promise<Uint8Array | undefined> {
  let fedBytes = 0
  try {
    for (let chunk = first; chunk; chunk = await next()) {
      fedBytes += chunk.length
      await new Promise<void>((resolve) => frame.write(chunk, () => resolve()))
      const leftBytes = fedBytes - frame.bytesWritten
      if (leftBytes > 0) return chunk.subarray(chunk.length - leftBytes)
      if (frame.destroyed) return undefined
    }
    frame.end()
  } catch (error) {
    // The reader of the frame gets this error.
    frame.destroy(error as Error)
  }
  return undefined
}

async function* unxz(stored: Bytes): AsyncGenerator<Uint8Array> {
  const source = Readable.toWeb(Readable.from(stored)) as ReadableStream<Uint8Array>
  const reader = new xz.XzReadableStream(source).getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    // The library decodes one stream at a time: the next one waits until this one is cancelled.
    await reader.cancel().catch(() => undefined)
  }
}
