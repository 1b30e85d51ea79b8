// The records of one partition: batches in order, each at its offset, and which of them belong to transactions that are open
// or were aborted.
import { errorCode } from './error-codes.ts'
import { buildMarker, placeBatch, type RecordBatch, timestampsOf } from './record-batch.ts'

/** There is one broker, and it never loses its lead. */
export const leaderEpoch = 0

interface StoredBatch extends RecordBatch {
  baseOffset: number
  lastOffset: number
}

export interface AbortedTransaction {
  producerId: bigint
  firstOffset: number
  /** Of the marker that ends it. */
  lastOffset: number
}

export type Appended = { error: number; baseOffset: number }

export interface Slice {
  bytes: Buffer
  aborted: AbortedTransaction[]
}

/** As many of a producer's latest batches are known again when they are sent once more. */
const rememberedBatches = 5

export class PartitionLog {
  readonly #batches: StoredBatch[] = []
  readonly #latestOf = new Map<bigint, StoredBatch[]>()
  readonly #openTransactions = new Map<bigint, number>()
  readonly #aborted: AbortedTransaction[] = []
  startOffset = 0
  endOffset = 0

  /** Everything before it belongs to transactions that have ended. */
  get lastStableOffset(): number {
    return Math.min(this.endOffset, ...this.#openTransactions.values())
  }

  append(batch: RecordBatch): Appended {
    const sent = this.#sentBefore(batch)
    if (sent) return sent
    const stored = this.#store(batch)
    if (batch.isTransactional && !this.#openTransactions.has(batch.producerId)) {
      this.#openTransactions.set(batch.producerId, stored.baseOffset)
    }
    return { error: errorCode.NONE, baseOffset: stored.baseOffset }
  }

  #store(batch: RecordBatch): StoredBatch {
    const baseOffset = this.endOffset
    placeBatch(batch, baseOffset, leaderEpoch)
    const stored = { ...batch, baseOffset, lastOffset: baseOffset + batch.lastOffsetDelta }
    this.#batches.push(stored)
    this.endOffset = stored.lastOffset + 1
    if (batch.producerId >= 0n && !batch.isControl) {
      const latest = this.#latestOf.get(batch.producerId) ?? []
      this.#latestOf.set(batch.producerId, [...latest, stored].slice(-rememberedBatches))
    }
    return stored
  }

  /** An idempotent producer repeats what was not acknowledged: a repetition is not stored, and a gap is refused. */
  #sentBefore(batch: RecordBatch): Appended | undefined {
    const latest = this.#latestOf.get(batch.producerId) ?? []
    const last = latest.at(-1)
    if (!last) return undefined
    if (batch.producerEpoch < last.producerEpoch) {
      return { error: errorCode.INVALID_PRODUCER_EPOCH, baseOffset: -1 }
    }
    const repeated = latest.find(
      (each) =>
        each.producerEpoch === batch.producerEpoch &&
        each.baseSequence === batch.baseSequence &&
        each.recordCount === batch.recordCount,
    )
    if (repeated) return { error: errorCode.NONE, baseOffset: repeated.baseOffset }
    const isNewEpoch = batch.producerEpoch > last.producerEpoch
    const expected = isNewEpoch ? 0 : (last.baseSequence + last.recordCount) % 2 ** 31
    if (batch.baseSequence === expected) return undefined
    return { error: errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 }
  }

  endTransaction(producer: { producerId: bigint; producerEpoch: number }, isCommit: boolean): void {
    const firstOffset = this.#openTransactions.get(producer.producerId)
    const marker = this.#store(buildMarker(producer, isCommit))
    if (firstOffset === undefined) return
    this.#openTransactions.delete(producer.producerId)
    if (!isCommit) {
      this.#aborted.push({ producerId: producer.producerId, firstOffset, lastOffset: marker.lastOffset })
    }
  }

  isInRange(offset: number): boolean {
    return offset >= this.startOffset && offset <= this.endOffset
  }

  /**
   * Whole batches from the one that has the offset, except that the last one may be cut off, as by a real broker, which hands
   * out a piece of its file. The first one is never cut off: it comes whole, if it `mustGiveOne`, or not at all.
   */
  read(offset: number, beforeOffset: number, maxBytes: number, mustGiveOne: boolean): Slice {
    const found = this.#batches.filter((batch) => batch.lastOffset >= offset && batch.baseOffset < beforeOffset)
    const firstSizeBytes = found[0]?.bytes.length ?? 0
    if (firstSizeBytes > maxBytes && !mustGiveOne) return { bytes: Buffer.alloc(0), aborted: [] }
    const wantedBytes = Math.max(maxBytes, firstSizeBytes)
    const taken: StoredBatch[] = []
    let sizeBytes = 0
    for (const batch of found) {
      if (sizeBytes >= wantedBytes) break
      taken.push(batch)
      sizeBytes += batch.bytes.length
    }
    const bytes = Buffer.concat(taken.map((batch) => batch.bytes)).subarray(0, wantedBytes)
    const lastOffset = taken.at(-1)?.lastOffset ?? -1
    return {
      bytes,
      aborted: this.#aborted.filter((each) => each.lastOffset >= offset && each.firstOffset <= lastOffset),
    }
  }

  /** The first record that is not older. */
  findByTimestamp(timestampMs: number): { offset: number; timestampMs: number } | undefined {
    for (const batch of this.#batches) {
      if (batch.maxTimestampMs < timestampMs) continue
      const found = this.#recordsOf(batch).find((record) => record.timestampMs >= timestampMs)
      if (found) return found
    }
    return undefined
  }

  findNewest(): { offset: number; timestampMs: number } | undefined {
    const newestMs = this.#batches.reduce((latest, batch) => Math.max(latest, batch.maxTimestampMs), -1)
    return newestMs < 0 ? undefined : this.findByTimestamp(newestMs)
  }

  #recordsOf(batch: StoredBatch): { offset: number; timestampMs: number }[] {
    return timestampsOf(batch)
      .map(({ offsetDelta, timestampMs }) => ({ offset: batch.baseOffset + offsetDelta, timestampMs }))
      .filter(({ offset }) => offset >= this.startOffset)
  }

  /** As compaction does when all keys in between have newer records: the offsets remain, and nothing has them. */
  compact(firstOffset: number, beforeOffset: number): void {
    const isGone = ({ baseOffset, lastOffset }: StoredBatch) => baseOffset >= firstOffset && lastOffset < beforeOffset
    this.#batches.splice(0, this.#batches.length, ...this.#batches.filter((batch) => !isGone(batch)))
  }

  /** As an election of a leader that lacks records does. Batches are lost whole. */
  truncate(offset: number): void {
    const kept = this.#batches.filter(({ lastOffset }) => lastOffset < offset)
    this.#batches.splice(0, this.#batches.length, ...kept)
    this.#latestOf.clear()
    this.endOffset = Math.max(this.startOffset, (kept.at(-1)?.lastOffset ?? -1) + 1)
  }

  /** As retention does. Batches that still have a record are kept whole. */
  deleteBefore(offset: number): void {
    this.startOffset = Math.max(this.startOffset, offset)
    const kept = this.#batches.findIndex((batch) => batch.lastOffset >= this.startOffset)
    this.#batches.splice(0, kept < 0 ? this.#batches.length : kept)
  }
}
