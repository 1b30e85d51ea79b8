// The log of one partition: batches in offset order, and its open and aborted transactions.
import { errorCode } from './error-codes.ts'
import { buildMarker, type RecordBatch, setOffset, timestampsOf } from './record-batch.ts'

/** There is one broker, which always stays leader. */
export const leaderEpoch = 0

interface StoredBatch extends RecordBatch {
  baseOffset: number
  lastOffset: number
}

export interface AbortedTransaction {
  producerId: bigint
  firstOffset: number
  /** Offset of the marker that ends it. */
  lastOffset: number
}

export type Appended = { error: number; baseOffset: number }

export interface Slice {
  bytes: Buffer
  aborted: AbortedTransaction[]
}

/** The latest batches of a producer that are recognised when they are repeated. */
const rememberedBatches = 5

export class PartitionLog {
  readonly #batches: StoredBatch[] = []
  readonly #latestOf = new Map<bigint, StoredBatch[]>()
  readonly #openTransactions = new Map<bigint, number>()
  readonly #aborted: AbortedTransaction[] = []
  startOffset = 0
  endOffset = 0

  /** Last stable offset. */
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
    setOffset(batch, baseOffset, leaderEpoch)
    const stored = { ...batch, baseOffset, lastOffset: baseOffset + batch.lastOffsetDelta }
    this.#batches.push(stored)
    this.endOffset = stored.lastOffset + 1
    if (batch.producerId >= 0n && !batch.isControl) {
      const latest = this.#latestOf.get(batch.producerId) ?? []
      this.#latestOf.set(batch.producerId, [...latest, stored].slice(-rememberedBatches))
    }
    return stored
  }

  /** An idempotent producer repeats unacknowledged batches: a repeated batch is not stored, and a gap is rejected. */
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
   * Returns batches from the one with the offset on. The last one may be truncated, as by a real broker, which sends a range of its
   * file. The first one is complete if `mustGiveOne`, and otherwise left out if it exceeds the limit.
   */
  read(offset: number, beforeOffset: number, maxBytes: number, mustGiveOne: boolean): Slice {
    const found = this.#batches.filter((batch) => batch.lastOffset >= offset && batch.baseOffset < beforeOffset)
    const firstSizeBytes = found[0]?.bytes.length ?? 0
    if (firstSizeBytes > maxBytes && !mustGiveOne) return { bytes: Buffer.alloc(0), aborted: [] }
    const limitBytes = Math.max(maxBytes, firstSizeBytes)
    const taken: StoredBatch[] = []
    let sizeBytes = 0
    for (const batch of found) {
      if (sizeBytes >= limitBytes) break
      taken.push(batch)
      sizeBytes += batch.bytes.length
    }
    const bytes = Buffer.concat(taken.map((batch) => batch.bytes)).subarray(0, limitBytes)
    const lastOffset = taken.at(-1)?.lastOffset ?? -1
    return {
      bytes,
      aborted: this.#aborted.filter((each) => each.lastOffset >= offset && each.firstOffset <= lastOffset),
    }
  }

  /** The first record with this timestamp or a later one. */
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

  /** Like compaction that removes all records of these batches: their offsets have no records. */
  compact(firstOffset: number, beforeOffset: number): void {
    const isGone = ({ baseOffset, lastOffset }: StoredBatch) => baseOffset >= firstOffset && lastOffset < beforeOffset
    this.#batches.splice(0, this.#batches.length, ...this.#batches.filter((batch) => !isGone(batch)))
  }

  /** Like an unclean leader election: removes whole batches at the end. */
  truncate(offset: number): void {
    const kept = this.#batches.filter(({ lastOffset }) => lastOffset < offset)
    this.#batches.splice(0, this.#batches.length, ...kept)
    this.#latestOf.clear()
    this.endOffset = Math.max(this.startOffset, (kept.at(-1)?.lastOffset ?? -1) + 1)
  }

  /** Like retention: removes batches whose records are all before the offset. */
  deleteBefore(offset: number): void {
    this.startOffset = Math.max(this.startOffset, offset)
    const kept = this.#batches.findIndex((batch) => batch.lastOffset >= this.startOffset)
    this.#batches.splice(0, kept < 0 ? this.#batches.length : kept)
  }
}
