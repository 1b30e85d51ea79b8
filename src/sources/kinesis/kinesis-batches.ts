// Builds batches from the waiting records of shards.

import { decompress } from '../../formats/decode/compressed-record.ts'
import type { RecordList, SourceRecord } from '../../formats/encode/record-list.ts'
import type { HeldMemory } from '../../lib/held-memory.ts'
import type { Batch, ReadLimits } from '../source.ts'
import type { KinesisRecord } from './kinesis-record.ts'
import { advance, beginningOf, endOf, type ReadShard } from './kinesis-shards.ts'

const maxRecordBytes = 32 * 1_024 * 1_024

export interface BufferedStream {
  name: string
  shards: ReadShard[]
  /** Index of the shard to start with. */
  nextFirst: number
}

type BatchLimits = Pick<ReadLimits, 'maxRecords' | 'maxBytes'>

/** Takes waiting records within the limits, starting with another shard each time. */
export function takeBatches(stream: BufferedStream, { maxRecords, maxBytes }: BatchLimits): Batch[] {
  const { shards } = stream
  const batches: Batch[] = []
  const left = { records: maxRecords, bytes: maxBytes }
  const first = stream.nextFirst % Math.max(1, shards.length)
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
    const batch = takeBatch(stream.name, shard, left, batches.length === 0)
    if (batch) batches.push(batch)
  }
  if (batches.length > 0) stream.nextFirst = first + 1
  return batches
}

function takeBatch(
  streamName: string,
  shard: ReadShard,
  left: { records: number; bytes: number },
  isFirst: boolean,
): Batch | undefined {
  const partition = shard.id
  // No records, but a position: the child shards may be read from now on, also by the next reader.
  if (shard.isExhausted && !shard.isFinished && shard.waiting.length === 0) {
    const { lost } = shard
    return { partition, ...endOf(shard), ...(lost ? { lost } : { records: [] }) }
  }
  const records: SourceRecord[] = []
  const taken: KinesisRecord[] = []
  for (const record of shard.waiting) {
    const value = unpack(record)
    const isAlone = isFirst && records.length === 0
    if (left.records <= 0 || (value.length > left.bytes && !isAlone)) break
    left.records -= 1
    left.bytes -= value.length
    records.push(new BufferedRecord(value, record, shard.id, streamName))
    taken.push(record)
  }
  const [firstTaken, lastTaken] = [taken[0], taken.at(-1)]
  if (!firstTaken || !lastTaken) return shard.mustStoreStart ? { partition, ...beginningOf(shard), records } : undefined
  shard.waiting.splice(0, taken.length)
  return { partition, ...advance(shard, firstTaken, lastTaken), records: releasable(records, holdMemory(taken, shard)) }
}

/** A used-up page passes its memory on to the batch. */
function holdMemory(taken: KinesisRecord[], { waiting: [next] }: ReadShard): HeldMemory[] {
  const held = [...new Set(taken.flatMap(({ memory }) => memory ?? []))]
  for (const memory of held) if (memory === next?.memory) memory.hold()
  return held
}

function releasable(records: SourceRecord[], held: HeldMemory[]): RecordList {
  let isReleased = false
  const release = (): void => {
    if (!isReleased) for (const memory of held) memory.release()
    isReleased = true
  }
  return Object.assign(records, { release })
}

/** Invalid or oversized compressed data is passed on as it is: the decoder reports it. */
function unpack({ data }: KinesisRecord): Uint8Array {
  const value = decompress(data, maxRecordBytes)
  return value instanceof Uint8Array ? value : data
}

/** Metadata is created on access: most pipes have no column for it. */
class BufferedRecord implements SourceRecord {
  readonly value: Uint8Array
  readonly #record: KinesisRecord
  readonly #shard: string
  readonly #stream: string

  constructor(value: Uint8Array, record: KinesisRecord, shard: string, stream: string) {
    this.value = value
    this.#record = record
    this.#shard = shard
    this.#stream = stream
  }

  get meta(): SourceRecord['meta'] {
    const { sequence, arrivedAtMs, key } = this.#record
    const _timestamp = new Date(arrivedAtMs)
    return { _stream: this.#stream, _shard: this.#shard, _sequence: sequence, _timestamp, _key: key }
  }
}
