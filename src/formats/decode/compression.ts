// Detects the compression of an object, and decompresses its start. Input and output are limited, because a few compressed bytes
// can expand to gigabytes. A truncated stream is decompressed as far as possible.
import { Buffer } from 'node:buffer'
import { constants, createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'
import xz from 'xz-decompress'
import { excerptOf, Undecodable } from '../undecodable.ts'
import type { Compression, ObjectBytes, ObjectStart } from './decoding.ts'

/** Compression method without aliases. */
export type CompressionMethod = 'none' | 'gzip' | 'brotli' | 'xz' | 'zstd'

const firstPieceBytes = 256 * 1024
const maxStartBytes = 1024 * 1024

const methods: Record<Exclude<Compression, 'auto'>, CompressionMethod> = {
  none: 'none',
  gzip: 'gzip',
  gz: 'gzip',
  brotli: 'brotli',
  br: 'brotli',
  xz: 'xz',
  // The engine uses this name for the xz container too.
  LZMA: 'xz',
  zstd: 'zstd',
}

const methodsOfEndings: Record<string, CompressionMethod> = {
  gz: 'gzip',
  gzip: 'gzip',
  br: 'brotli',
  xz: 'xz',
  lzma: 'xz',
  zst: 'zstd',
  zstd: 'zstd',
}

/** Unsupported methods, by file extension. */
const unsupportedEndings: Record<string, string> = {
  bz2: 'bzip2',
  bz: 'bzip2',
  lz4: 'LZ4',
  snappy: 'Snappy',
  sz: 'Snappy',
  lzo: 'LZO',
  lz: 'lzip',
  z: 'compress',
  zip: 'ZIP',
  '7z': '7-Zip',
  rar: 'RAR',
  tar: 'tar',
  tgz: 'tar',
}

/** Unsupported methods, by magic bytes. */
const unsupportedMarks: [name: string, mark: Buffer][] = [
  ['LZ4', Buffer.from('04224d18', 'hex')],
  ['LZ4', Buffer.from('02214c18', 'hex')],
  ['Snappy', Buffer.from('ff060000734e61507059', 'hex')],
  ['LZO', Buffer.from('894c5a4f000d0a', 'hex')],
  ['lzip', Buffer.from('LZIP\x01', 'latin1')],
  ['compress', Buffer.from('1f9d', 'hex')],
  ['ZIP', Buffer.from('504b0304', 'hex')],
  ['7-Zip', Buffer.from('377abcaf271c', 'hex')],
  ['RAR', Buffer.from('526172211a07', 'hex')],
  // The level is between the two parts.
  ...Array.from('123456789', (level): [string, Buffer] => [
    'bzip2',
    Buffer.concat([Buffer.from(`BZh${level}`), Buffer.from('314159265359', 'hex')]),
  ]),
]

/** Magic bytes of formats with internal compression. */
const containers = [Buffer.from('PAR1'), Buffer.from('Obj\x01', 'latin1')]

const supported = 'gzip, brotli, xz and zstd are supported'

/**
 * Compression of the object, from its first bytes (`markBytes` are enough), the file extension and the setting of the user.
 * Throws Undecodable when they contradict one another, or for an unsupported method.
 */
export function compressionOf(key: string, firstBytes: Uint8Array, compression: Compression): CompressionMethod {
  if (firstBytes.length === 0) return 'none'
  const { method: said, saying } = claimOf(key, compression)
  const seen = methodOfBytes(firstBytes)
  if (seen === undefined) refuseUnsupported(key, firstBytes, compression)
  if (said === undefined) return seen ?? 'none'
  // Brotli has no magic bytes.
  if (said === seen || (seen === undefined && (said === 'none' || said === 'brotli'))) return said
  const begins = excerptOf(Buffer.from(firstBytes.subarray(0, 20)).toString('latin1'))
  const found = seen === undefined ? `begins with ${begins}, which is not ${said}` : `is compressed with ${seen}`
  throw new Undecodable(`${saying}, but the object ${found}`)
}

function refuseUnsupported(key: string, firstBytes: Uint8Array, compression: Compression): void {
  const startsWith = (mark: Buffer): boolean => mark.equals(firstBytes.subarray(0, mark.length))
  const [seen] = unsupportedMarks.find(([, mark]) => startsWith(mark)) ?? []
  if (seen !== undefined) throw new Undecodable(`it is compressed with ${seen}; ${supported}`)
  const ending = endingOf(key)
  if (compression !== 'auto' || !Object.hasOwn(unsupportedEndings, ending) || containers.some(startsWith)) return
  throw new Undecodable(`its name ends in .${ending}, which means ${unsupportedEndings[ending]}; ${supported}`)
}

function endingOf(key: string): string {
  return /\.([a-z0-9]+)$/i.exec(key)?.[1]?.toLowerCase() ?? ''
}

function claimOf(key: string, compression: Compression): { method: CompressionMethod | undefined; saying: string } {
  if (compression !== 'auto') return { method: methods[compression], saying: `compression is ${compression}` }
  const ending = endingOf(key)
  const method = Object.hasOwn(methodsOfEndings, ending) ? methodsOfEndings[ending] : undefined
  return { method, saying: `the name of the object ends in .${ending}, which means ${method}` }
}

function methodOfBytes(bytes: Uint8Array): CompressionMethod | undefined {
  const startsWith = (...mark: number[]): boolean => mark.every((byte, index) => bytes[index] === byte)
  if (startsWith(0x1f, 0x8b)) return 'gzip'
  if (startsWith(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00)) return 'xz'
  if (startsWith(0x28, 0xb5, 0x2f, 0xfd)) return 'zstd'
  // A skippable frame, which some writers put first.
  const [first = 0, ...others] = bytes.subarray(0, 4)
  if ((first & 0xf0) === 0x50 && others[0] === 0x2a && others[1] === 0x4d && others[2] === 0x18) return 'zstd'
  return undefined
}

/** The decompressed start of the object, at most 1 MiB. Rejects with Undecodable, or with the error of `read`. */
export async function readStart(object: ObjectBytes, compression: Compression): Promise<ObjectStart> {
  const piece = await object.read(0, Math.min(object.sizeBytes, firstPieceBytes))
  const isCut = piece.length < object.sizeBytes
  const method = compressionOf(object.key, piece, compression)
  if (method === 'none') return { bytes: piece, isWhole: !isCut }
  const { bytes, isComplete } = await decompress(piece, { method, isCut, maxBytes: maxStartBytes })
  return { bytes, isWhole: isComplete && !isCut }
}

export interface DecompressOptions {
  method: Exclude<CompressionMethod, 'none'>
  /** The stream continues after these bytes. Otherwise an incomplete stream is an error. */
  isCut: boolean
  maxBytes: number
}

/** Returns at most `maxBytes`; `isComplete`: there are no more. */
export async function decompress(
  bytes: Uint8Array,
  { method, isCut, maxBytes }: DecompressOptions,
): Promise<{ bytes: Uint8Array; isComplete: boolean }> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of decompressors[method](bytes, isCut)) {
      pieces.push(piece)
      sizeBytes += piece.length
      if (sizeBytes > maxBytes) break
    }
  } catch (error) {
    throw new Undecodable(damage(method, error))
  }
  return { bytes: Buffer.concat(pieces, Math.min(sizeBytes, maxBytes)), isComplete: sizeBytes <= maxBytes }
}

/** Some writers pad gzip files with zeros. Other trailing bytes are an error. */
export function refuseTrailing(method: CompressionMethod, trailing: Uint8Array): void {
  const isPadding = method === 'gzip' && trailing.every((byte) => byte === 0)
  if (!isPadding && trailing.length > 0) throw new Undecodable(`other bytes follow the ${method} data of the object`)
}

/** Why decompression failed, as the middle of a sentence. */
export function damage(method: CompressionMethod, error: unknown): string {
  const endsEarly = (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR' || isXzFailure(error, noMoreInput)
  if (endsEarly) return `the object ends in the middle of its ${method} data`
  if (isXzFailure(error, dictionaryTooLarge)) return 'the object is compressed with a dictionary larger than 64 MiB'
  return `the ${method} data of the object is damaged`
}

type Decompressor = (bytes: Uint8Array, isCut: boolean) => AsyncIterable<Uint8Array>

const decompressors: Record<DecompressOptions['method'], Decompressor> = {
  gzip: (bytes, isCut) => createGunzip(isCut ? { finishFlush: constants.Z_SYNC_FLUSH } : {}).end(bytes),
  brotli: (bytes, isCut) =>
    createBrotliDecompress(isCut ? { finishFlush: constants.BROTLI_OPERATION_FLUSH } : {}).end(bytes),
  zstd: unzstd,
  xz: unxz,
}

/** Node's stream stops after the first frame, and many writers create several. */
async function* unzstd(bytes: Uint8Array, isCut: boolean): AsyncIterable<Uint8Array> {
  for (let rest = bytes; rest.length > 0; ) {
    const stream = createZstdDecompress(isCut ? { finishFlush: constants.ZSTD_e_flush } : {}).end(rest)
    yield* stream
    if (stream.bytesWritten === 0) return
    rest = rest.subarray(stream.bytesWritten)
  }
}

/** The library returns all data of a truncated stream, and then fails. */
async function* unxz(bytes: Uint8Array, isCut: boolean): AsyncIterable<Uint8Array> {
  const reader = new xz.XzReadableStream(new Blob([Buffer.from(bytes)]).stream()).getReader()
  try {
    for (;;) {
      const read = await reader.read()
      if (read.done) return
      yield read.value
    }
  } catch (error) {
    if (!isCut || !isXzFailure(error, noMoreInput)) throw error
  } finally {
    // The library decodes one stream at a time: the next one waits until this one is cancelled.
    await reader.cancel().catch(() => undefined)
  }
}

// Error codes of the library.
const dictionaryTooLarge = 4
const noMoreInput = 8

function isXzFailure(error: unknown, code: number): boolean {
  return error instanceof Error && error.message.endsWith(`error code ${code}`)
}
