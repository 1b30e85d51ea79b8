// The shards of a stream as a reader sees them: where each begins, and which may be read now. Shards are split and merged; records of
// a key keep their order only if a shard is read after its parents.
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import { isAssignedByNumber } from '../assignment.ts'
import type { LostRecords, Positions, Selection } from '../source.ts'
import type { Shard } from './kinesis-client.ts'
import { expiredShards, streamFailure } from './kinesis-failure.ts'
import type { KinesisRecord } from './kinesis-record.ts'
import type { ShardStart } from './shard-start.ts'

/**
 * Positions: `at:<sequence number>` is before that record, `after:<sequence number>` is after it, `time:<milliseconds>` is before all
 * records that arrive at that time or later, and `end` is the end of a closed shard. Empty: nothing has been read, and the start is
 * not known before the first record.
 *
 * A time does not identify a record: it is of our clock, and LATEST uses that of Kinesis. A position reached from a time therefore
 * ends with `,first:<sequence number>` of the first record given out, and has no such suffix before that record.
 */
export interface ReadShard extends Shard {
  position: string
  /** The start must be stored even before there is a record. */
  mustStoreStart: boolean
  /** Sequence number of the first record since a `time:` position. */
  firstSinceTime: string | undefined
  /** Of a range that is read again: sequence number of the next record. */
  expected: string | undefined
  /** Start while the position is empty. */
  start: ShardStart
  /** Undefined: request one for the position. */
  iterator: string | undefined
  /** Earliest time of the next poll. */
  dueAtMs: number
  /** Records that are read but not given out. */
  waiting: KinesisRecord[]
  /** Sequence number of the last record read; undefined before the first. */
  reached: string | undefined
  /** All records of a closed shard have been read. */
  isExhausted: boolean
  /** Records that expired before they were read. */
  lost: LostRecords | undefined
  /** All records have been given out, or all of the range. */
  isFinished: boolean
  /** End of the range to read; undefined: read everything. */
  until: string | undefined
  /** The last page reported more records. Undefined before the first page. */
  isBehind: boolean | undefined
  /** Consecutive empty pages at the end of the shard. */
  emptyPages: number
}

interface ParsedPosition {
  type: 'at' | 'after' | 'time' | 'end'
  /** Sequence number or milliseconds. */
  number: string
  first: string | undefined
}

function parse(position: string): ParsedPosition | undefined {
  const found = /^(?:(at|after|time):(\d+)|end)(?:,first:(\d+))?$/.exec(position)
  if (!found) return undefined
  const [, type = 'end', number = '', first] = found
  return { type: type as ParsedPosition['type'], number, first }
}

export function isEnd(position: string | undefined): boolean {
  return position !== undefined && parse(position)?.type === 'end'
}

/** Whether the position is directly after this record. */
export function isJustAfter(position: string | undefined, record: KinesisRecord | undefined): boolean {
  const parsed = position === undefined ? undefined : parse(position)
  return parsed?.type === 'after' && parsed.number === record?.sequence
}

/** Fixes LATEST to a time, so that the next reader begins there as well. */
export function pinAt(shard: ReadShard, atMs: number): void {
  shard.position = `time:${atMs}`
  shard.mustStoreStart = true
}

export function isAtTime({ position }: ReadShard): boolean {
  return parse(position)?.type === 'time'
}

/** For a shard without any records given out yet. */
export function beginningOf(shard: ReadShard): { from: string; next: string } {
  shard.mustStoreStart = false
  return { from: shard.position, next: shard.position }
}

export function endOf(shard: ReadShard): { from: string; next: string } {
  shard.isFinished = true
  return moveTo(shard, 'end')
}

/** Moves the position across records that are given out now. */
export function advance(shard: ReadShard, first: KinesisRecord, last: KinesisRecord): { from: string; next: string } {
  // The configured start may mean other records later; a sequence number does not.
  shard.position ||= `at:${first.sequence}`
  if (isAtTime(shard)) shard.firstSinceTime = first.sequence
  const around = moveTo(shard, `after:${last.sequence}`)
  shard.isFinished ||= isReached(shard.position, shard.until)
  return around
}

function moveTo(shard: ReadShard, position: string): { from: string; next: string } {
  const from = shard.position
  const next = shard.firstSinceTime === undefined ? position : `${position},first:${shard.firstSinceTime}`
  shard.position = next
  shard.mustStoreStart = false
  return { from, next }
}

export function startOf({ position, start }: ReadShard): ShardStart {
  if (position === '') return start
  const { type = 'end', number = '' } = parse(position) ?? {}
  if (type === 'end') throw new Error('not a position of Kinesis to read from')
  if (type === 'time') return { type: 'AT_TIMESTAMP', atMs: Number(number) }
  return { type: type === 'at' ? 'AT_SEQUENCE_NUMBER' : 'AFTER_SEQUENCE_NUMBER', sequence: number }
}

/** After all records read, given out or not, and after `continuation` if that is further. */
export function resumeOf(shard: ReadShard, continuation?: string): ShardStart {
  const { reached } = shard
  const isFurther = continuation !== undefined && (reached === undefined || BigInt(continuation) > BigInt(reached))
  const sequence = isFurther ? continuation : reached
  return sequence === undefined ? startOf(shard) : { type: 'AFTER_SEQUENCE_NUMBER', sequence }
}

/**
 * Selected shards when the reader opens. Child shards of other readers' shards are read without waiting for these readers.
 */
export function firstShards(
  shards: Shard[],
  positions: Positions,
  config: KinesisSource,
  { assignment, until }: Selection,
): ReadShard[] {
  const byId = new Map(shards.map((shard) => [shard.id, shard]))
  // Shards that are split and merged repeatedly have few ancestors, but very many paths to them.
  const known = new Map<string, boolean>()
  const isContinued = (shard: Shard): boolean => {
    const answer =
      known.get(shard.id) ??
      shard.parents.some((id) => {
        const parent = byId.get(id)
        return Boolean(positions[id]) || (parent !== undefined && isContinued(parent))
      })
    known.set(shard.id, answer)
    return answer
  }
  const expired = until ? [] : listExpired(byId, positions, config, assignment)
  const selected = shards.filter(({ id }) => (until ? until[id] !== undefined : isAssignedByNumber(id, assignment)))
  const present = selected.map((shard) => {
    const position = rangeStartOf(positions[shard.id] ?? '', until?.[shard.id])
    // With LATEST, shards closed before the start are skipped, unless they continue a shard that was read.
    const isPast = config.iteratorType === 'LATEST' && shard.isClosed && position === '' && !isContinued(shard)
    const start = isContinued(shard) ? ({ type: 'TRIM_HORIZON' } as const) : configuredStart(config)
    const isFinished = isPast || isEnd(position) || isReached(position, until?.[shard.id])
    return readShard(shard, { position, start, isFinished, until: until?.[shard.id] })
  })
  return [...expired, ...present]
}

/** Shards with a position before their end that Kinesis no longer lists. */
function listExpired(
  listed: ReadonlyMap<string, Shard>,
  positions: Positions,
  config: KinesisSource,
  assignment: Selection['assignment'],
): ReadShard[] {
  const ids = Object.keys(positions).filter((id) => {
    return positions[id] && !isEnd(positions[id]) && !listed.has(id) && isAssignedByNumber(id, assignment)
  })
  return ids.map((id) => {
    const own = {
      position: positions[id]!,
      start: { type: 'TRIM_HORIZON' } as const,
      isFinished: false,
      until: undefined,
    }
    const shard = readShard({ id, parents: [], isClosed: true }, own)
    return { ...shard, isExhausted: true, isBehind: false, lost: expiredShards(config.streamName) }
  })
}

/** A range that begins at a time begins at its first record, which is part of the end position. */
function rangeStartOf(position: string, until: string | undefined): string {
  if (until === undefined || parse(position)?.type !== 'time') return position
  const first = parse(until)?.first
  return first === undefined ? until : `at:${first}`
}

function isReached(position: string, until: string | undefined): boolean {
  if (until === undefined || position === '') return false
  const [reached, last] = [orderOf(position), orderOf(until)]
  return position === until || (reached !== undefined && last !== undefined && reached >= last)
}

/** Ordering of positions: twice the sequence number, plus one after the record. */
function orderOf(position: string): bigint | undefined {
  const { type, number = '' } = parse(position) ?? {}
  if (type !== 'at' && type !== 'after') return undefined
  return BigInt(number) * 2n + (type === 'after' ? 1n : 0n)
}

/** Whether the record is at or after the end of the range. */
export function isBeyond({ until }: ReadShard, { sequence }: KinesisRecord): boolean {
  const last = until === undefined ? undefined : orderOf(until)
  return last !== undefined && BigInt(sequence) * 2n >= last
}

/** Adds child shards found since opening; they are read from their start. */
export function addNewShards(known: ReadShard[], shards: Shard[], { assignment, until }: Selection): void {
  if (until) return
  const ids = new Set(known.map(({ id }) => id))
  for (const shard of shards) {
    if (ids.has(shard.id) || !isAssignedByNumber(shard.id, assignment)) continue
    known.push(readShard(shard, { position: '', start: { type: 'TRIM_HORIZON' }, isFinished: false, until: undefined }))
  }
}

type InitialState = Omit<
  ReadShard,
  keyof Shard | 'position' | 'start' | 'isFinished' | 'until' | 'expected' | 'firstSinceTime'
>

const initialState = (): InitialState => ({
  mustStoreStart: false,
  iterator: undefined,
  dueAtMs: 0,
  waiting: [],
  reached: undefined,
  isExhausted: false,
  lost: undefined,
  isBehind: undefined,
  emptyPages: 0,
})

function readShard(shard: Shard, own: Pick<ReadShard, 'position' | 'start' | 'isFinished' | 'until'>): ReadShard {
  const parsed = parse(own.position)
  const expected = own.until !== undefined && parsed?.type === 'at' ? parsed.number : undefined
  const firstSinceTime = own.until === undefined ? undefined : parse(own.until)?.first
  return { ...shard, ...own, ...initialState(), expected, firstSinceTime }
}

function configuredStart({ iteratorType, timestamp = 0 }: KinesisSource): ShardStart {
  if (iteratorType !== 'AT_TIMESTAMP') return { type: iteratorType }
  const atMs = timestamp * 1_000
  if (atMs > Date.now()) throw streamFailure('timeInFuture', {})
  return { type: iteratorType, atMs }
}

/** Unfinished shards whose parents are finished or gone. */
export function readableShards(shards: ReadShard[]): ReadShard[] {
  const unfinished = shards.filter(({ isFinished }) => !isFinished)
  const ids = new Set(unfinished.map(({ id }) => id))
  return unfinished.filter(({ parents }) => !parents.some((id) => ids.has(id)))
}

/** Number of records not given out yet; undefined when Kinesis has more than we have read. */
export function lagOf(shards: ReadShard[]): number | undefined {
  const unfinished = shards.filter(({ isFinished }) => !isFinished)
  if (unfinished.some(({ isBehind }) => isBehind !== false)) return undefined
  return unfinished.reduce((sum, { waiting }) => sum + waiting.length, 0)
}
