// Queue of received WAL messages, stored one after the other in large blocks: with millions of messages, none gets an object of its
// own. Bytes that were returned are never written to again.
import { copyBytes } from './postgres-messages.ts'

export interface WalBlock {
  /** The pgoutput message i is bytes starts[i] to ends[i]. */
  bytes: Buffer
  count: number
  starts: Uint32Array
  ends: Uint32Array
  /** When > 0n: all messages of the server up to this LSN are in this block or earlier ones. */
  reached: bigint
}

const blockBytes = 1024 * 1024
const firstBounds = 512

interface Block {
  bytes: Buffer
  /** Start of each message, then the end of the last one. */
  bounds: Uint32Array
  count: number
  takenCount: number
}

export class WalQueue {
  #blocks: Block[] = []
  #last: Block = makeBlock(0)
  /** All messages ever received, and those taken. */
  #receivedCount = 0
  #takenCount = 0
  #reached = 0n
  #reachedCount = 0
  waitingBytes = 0

  get isEmpty(): boolean {
    return this.#takenCount === this.#receivedCount
  }

  add(bytes: Buffer, start: number, end: number): void {
    let block = this.#last
    const { count } = block
    if (block.bounds[count]! + end - start > block.bytes.length || count + 1 === block.bounds.length) {
      block = this.#roomFor(end - start)
    }
    const at = block.bounds[block.count]!
    copyBytes(bytes, start, end, block.bytes, at)
    block.bounds[++block.count] = at + end - start
    this.#receivedCount++
    this.waitingBytes += end - start
  }

  /** The messages received so far are all up to this LSN. */
  reach(lsn: bigint): void {
    this.#reached = lsn
    this.#reachedCount = this.#receivedCount
  }

  /** Returns the oldest messages, at least one if there is any. */
  take(maxBytes: number): WalBlock {
    const block = this.#oldest()
    const first = block?.takenCount ?? 0
    const end = block ? endOf(block, maxBytes) : 0
    const taken = block?.bounds.subarray(first, end + 1) ?? new Uint32Array(1)
    const count = end - first
    if (block) block.takenCount = end
    this.#takenCount += count
    this.waitingBytes -= taken[count]! - taken[0]!
    return {
      bytes: block?.bytes ?? this.#last.bytes,
      count,
      starts: taken.subarray(0, count),
      ends: taken.subarray(1),
      reached: this.#takeReached(),
    }
  }

  #takeReached(): bigint {
    if (this.#takenCount < this.#reachedCount) return 0n
    const reached = this.#reached
    this.#reached = 0n
    return reached
  }

  #oldest(): Block | undefined {
    while (this.#blocks[0] && this.#blocks[0].takenCount === this.#blocks[0].count) this.#blocks.shift()
    if (this.#blocks[0]) return this.#blocks[0]
    return this.#last.takenCount < this.#last.count ? this.#last : undefined
  }

  #roomFor(sizeBytes: number): Block {
    const block = this.#last
    const usedBytes = block.bounds[block.count]!
    if (usedBytes + sizeBytes <= block.bytes.length) {
      const larger = new Uint32Array(2 * block.bounds.length)
      larger.set(block.bounds)
      block.bounds = larger
      return block
    }
    if (block.takenCount < block.count) this.#blocks.push(block)
    this.#last = makeBlock(Math.max(blockBytes, sizeBytes))
    return this.#last
  }
}

function makeBlock(sizeBytes: number): Block {
  return { bytes: Buffer.allocUnsafeSlow(sizeBytes), bounds: new Uint32Array(firstBounds), count: 0, takenCount: 0 }
}

/** Index after the last message to take. */
function endOf({ bounds, count, takenCount }: Block, maxBytes: number): number {
  const limit = bounds[takenCount]! + maxBytes
  if (bounds[count]! <= limit) return count
  let [low, high] = [takenCount + 1, count]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (bounds[middle]! <= limit) low = middle
    else high = middle - 1
  }
  return low
}
