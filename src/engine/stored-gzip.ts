// gzip without compression (RFC 1952, stored blocks of RFC 1951). It costs only a checksum: a tenth of zlib at level 0, without another
// thread. Bytes are not copied: block headers go between slices of them.
import { crc32 } from 'node:zlib'

const largestBlock = 65_535
/** Largest chunk that is emitted at once. */
export const storedChunkBytes = 4 * largestBlock

const blockHeaderBytes = 5
/** Header: deflate, without time, name and system. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
const fullBlockHeader = blockHeader(largestBlock, false)

/** Yields lists of pieces; each must be sent completely before the next is requested. */
export async function* storeInGzip(plain: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[], void> {
  yield [header]
  let checksum = 0
  let sizeBytes = 0
  for await (const bytes of plain) {
    for (let start = 0; start < bytes.length; start += storedChunkBytes) {
      const piece = bytes.subarray(start, start + storedChunkBytes)
      checksum = crc32(piece, checksum)
      sizeBytes += piece.length
      yield blocksOf(piece)
    }
  }
  yield [endOf(checksum, sizeBytes)]
}

function blocksOf(piece: Uint8Array): Uint8Array[] {
  const blocks: Uint8Array[] = []
  for (let start = 0; start < piece.length; start += largestBlock) {
    const block = piece.subarray(start, start + largestBlock)
    blocks.push(block.length === largestBlock ? fullBlockHeader : blockHeader(block.length, false), block)
  }
  return blocks
}

/** An empty final block, then checksum and size. */
function endOf(checksum: number, sizeBytes: number): Buffer {
  const end = Buffer.alloc(8)
  end.writeUInt32LE(checksum, 0)
  end.writeUInt32LE(sizeBytes % 2 ** 32, 4)
  return Buffer.concat([blockHeader(0, true), end])
}

function blockHeader(lengthBytes: number, isLast: boolean): Buffer {
  const head = Buffer.alloc(blockHeaderBytes)
  head[0] = isLast ? 1 : 0
  head.writeUInt16LE(lengthBytes, 1)
  // One's complement of the length.
  head.writeUInt16LE(lengthBytes ^ 0xffff, 3)
  return head
}
