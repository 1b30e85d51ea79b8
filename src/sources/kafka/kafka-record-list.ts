// The records that one read gives of a partition. There are hundreds of thousands of them until they are durable: only numbers are
// kept of each, and a record is made when it is asked for.
import type { HeldMemory } from '../../lib/held-memory.ts'
import type { RecordList, ValueOffsets, ValueRun } from '../source.ts'
import { giveBackNumbers, takeNumbers } from './kafka-memory.ts'
import { KafkaRecord, type Scan, type UnpackedBatch } from './kafka-record.ts'

const firstRoom = 64

/** Records that lie in the same batch. */
interface BatchRun extends ValueRun {
  batch: UnpackedBatch
  end: number
}

export class KafkaRecordList implements RecordList {
  length = 0
  #numbers = takeNumbers(firstRoom)
  readonly #runs: BatchRun[] = []
  #lastBatch: UnpackedBatch | undefined
  /** The run of the record that was made last: most are asked for in their order. */
  #madeRun = 0
  readonly #held = new Set<HeldMemory>()
  #isReleased = false

  /** In their order, and only those that have a value. */
  add(batch: UnpackedBatch, { startsAt, valueStartsAt, valueEndsAt }: Scan): void {
    const index = this.length++
    if (index === this.#numbers.room) this.#grow()
    const { heads, starts, ends } = this.#numbers
    heads[index] = startsAt
    starts[index] = valueStartsAt
    ends[index] = valueEndsAt
    const run = this.#lastBatch === batch ? this.#runs.at(-1) : undefined
    if (run) run.end = this.length
    else this.#begin(batch)
  }

  get places(): ValueOffsets {
    this.#check()
    const { starts, ends } = this.#numbers
    return { starts, ends, runs: this.#runs }
  }

  at(index: number): KafkaRecord | undefined {
    this.#check()
    const run = index >= 0 && index < this.length ? this.#runOf(index) : undefined
    if (!run) return undefined
    const { heads, starts, ends } = this.#numbers
    return new KafkaRecord(run.batch, heads[index]!, starts[index]!, ends[index]!)
  }

  *[Symbol.iterator](): Generator<KafkaRecord, void> {
    for (let index = 0; index < this.length; index++) yield this.at(index)!
  }

  /** Nobody looks at the records any more, nor at anything that lies in them. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    for (const memory of this.#held) memory.release()
    giveBackNumbers(this.#numbers)
  }

  #begin(batch: UnpackedBatch): void {
    const { bytes, memory } = batch
    this.#lastBatch = batch
    this.#runs.push({ batch, bytes, end: this.length })
    if (!memory || this.#held.has(memory)) return
    this.#held.add(memory)
    memory.hold()
  }

  #grow(): void {
    const { room, heads, starts, ends } = this.#numbers
    const larger = takeNumbers(room * 2)
    larger.heads.set(heads)
    larger.starts.set(starts)
    larger.ends.set(ends)
    giveBackNumbers(this.#numbers)
    this.#numbers = larger
  }

  /** What has taken the place of the records must not be taken for them. */
  #check(): void {
    if (this.#isReleased) throw new Error('these records were released')
  }

  #runOf(index: number): BatchRun | undefined {
    const endOf = (position: number): number => this.#runs[position]?.end ?? 0
    if (index < endOf(this.#madeRun - 1)) this.#madeRun = 0
    while (index >= endOf(this.#madeRun)) this.#madeRun++
    return this.#runs[this.#madeRun]
  }
}
