// The records that one read returns of a partition. Hundreds of thousands can be in flight, so only byte offsets are kept of each;
// the record objects are created on access.

import type { RecordList, ValueOffsets, ValueRun } from '../../formats/encode/record-list.ts'
import type { HeldMemory } from '../../lib/held-memory.ts'
import { giveBackRecordOffsets, takeRecordOffsets } from './kafka-memory.ts'
import { type DecompressedBatch, KafkaRecord, type Scan } from './kafka-record.ts'

const firstCapacity = 64

/** Records of the same batch. */
interface BatchRun extends ValueRun {
  batch: DecompressedBatch
  end: number
}

export class KafkaRecordList implements RecordList {
  length = 0
  #offsets = takeRecordOffsets(firstCapacity)
  readonly #runs: BatchRun[] = []
  #lastBatch: DecompressedBatch | undefined
  /** Run of the last record accessed: most access is sequential. */
  #lastRun = 0
  readonly #held = new Set<HeldMemory>()
  #isReleased = false

  /** In offset order, and only records with a value. */
  add(batch: DecompressedBatch, { startsAt, valueStartsAt, valueEndsAt }: Scan): void {
    const index = this.length++
    if (index === this.#offsets.capacity) this.#grow()
    const { heads, starts, ends } = this.#offsets
    heads[index] = startsAt
    starts[index] = valueStartsAt
    ends[index] = valueEndsAt
    const run = this.#lastBatch === batch ? this.#runs.at(-1) : undefined
    if (run) run.end = this.length
    else this.#begin(batch)
  }

  get valueOffsets(): ValueOffsets {
    this.#check()
    const { starts, ends } = this.#offsets
    return { starts, ends, runs: this.#runs }
  }

  at(index: number): KafkaRecord | undefined {
    this.#check()
    const run = index >= 0 && index < this.length ? this.#runOf(index) : undefined
    if (!run) return undefined
    const { heads, starts, ends } = this.#offsets
    return new KafkaRecord(run.batch, heads[index]!, starts[index]!, ends[index]!)
  }

  *[Symbol.iterator](): Generator<KafkaRecord, void> {
    for (let index = 0; index < this.length; index++) yield this.at(index)!
  }

  /** The records, and all views of their bytes, must not be used afterwards. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    for (const memory of this.#held) memory.release()
    giveBackRecordOffsets(this.#offsets)
  }

  #begin(batch: DecompressedBatch): void {
    const { bytes, memory } = batch
    this.#lastBatch = batch
    this.#runs.push({ batch, bytes, end: this.length })
    if (!memory || this.#held.has(memory)) return
    this.#held.add(memory)
    memory.hold()
  }

  #grow(): void {
    const { capacity, heads, starts, ends } = this.#offsets
    const larger = takeRecordOffsets(capacity * 2)
    larger.heads.set(heads)
    larger.starts.set(starts)
    larger.ends.set(ends)
    giveBackRecordOffsets(this.#offsets)
    this.#offsets = larger
  }

  /** The memory may hold other records by now. */
  #check(): void {
    if (this.#isReleased) throw new Error('these records were released')
  }

  #runOf(index: number): BatchRun | undefined {
    const endOf = (position: number): number => this.#runs[position]?.end ?? 0
    if (index < endOf(this.#lastRun - 1)) this.#lastRun = 0
    while (index >= endOf(this.#lastRun)) this.#lastRun++
    return this.#runs[this.#lastRun]
  }
}
