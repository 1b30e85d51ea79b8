// Decompresses a record batch. The output size is limited before or during decompression: a small batch can exceed all memory.
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'

/** The batch is damaged, too large, or not compressed as its attributes say. */
export class UnreadableBatch extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableBatch'
  }
}

const largestBatchBytes = 64 * 1024 * 1024

/** `codec`: from the attributes of the batch. */
export function decompressBatch(codec: number, bytes: Buffer, mostBytes = largestBatchBytes): Buffer {
  try {
    switch (codec) {
      case 0:
        return bytes
      case 1:
        return gunzipSync(bytes, { maxOutputLength: mostBytes })
      case 2:
        checkSize(snappySizeBytes(bytes), mostBytes)
        return compressionsAlgorithms.snappy.decompressSync(bytes)
      case 3:
        checkSize(mostLz4Bytes(bytes), mostBytes)
        return compressionsAlgorithms.lz4.decompressSync(bytes)
      case 4:
        return zstdDecompressSync(bytes, { maxOutputLength: mostBytes })
    }
  } catch {
    throw new UnreadableBatch('a batch does not decompress, or to too much')
  }
  throw new UnreadableBatch('a batch has an unknown compression')
}

function checkSize(sizeBytes: number, mostBytes: number): void {
  if (sizeBytes > mostBytes) throw new UnreadableBatch('a batch decompresses to too much')
}

const xerialMagic = Buffer.from('\x82SNAPPY\0', 'latin1')

/** A Snappy block begins with its uncompressed size; the framing of the Java clients has several blocks. */
function snappySizeBytes(bytes: Buffer): number {
  if (!bytes.subarray(0, xerialMagic.length).equals(xerialMagic)) return leadingVarint(bytes)
  let sizeBytes = 0
  for (let at = 16; at < bytes.length; at += 4 + bytes.readUInt32BE(at))
    sizeBytes += leadingVarint(bytes.subarray(at + 4))
  return sizeBytes
}

function leadingVarint(bytes: Buffer): number {
  let value = 0
  for (let index = 0; index < 5; index++) {
    const byte = bytes.readUInt8(index)
    value += (byte & 0x7f) * 2 ** (7 * index)
    if (byte < 0x80) return value
  }
  return Number.POSITIVE_INFINITY
}

/** Upper bound for the uncompressed size: each block has a limit, and LZ4 expands at most 255-fold. */
function mostLz4Bytes(bytes: Buffer): number {
  const flags = bytes.readUInt8(4)
  const blockLimitBytes = 2 ** (8 + 2 * ((bytes.readUInt8(5) >> 4) & 7))
  const checksumBytes = flags & 0x10 ? 4 : 0
  let sizeBytes = 0
  let at = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0)
  while (at + 4 <= bytes.length) {
    const blockBytes = bytes.readUInt32LE(at) & 0x7fffffff
    if (blockBytes === 0) break
    sizeBytes += Math.min(blockLimitBytes, blockBytes * 255)
    at += 4 + blockBytes + checksumBytes
  }
  return sizeBytes
}
