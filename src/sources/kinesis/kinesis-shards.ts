// The shards of a stream, as a reader sees them: where each begins, and which of them may be read. Shards are split and merged
// while a stream lives; the order of the records of a key is kept only if a shard is read after those that it came from.
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import { isAssignedByNumber } from '../assignment.ts'
import type { LostRecords, Positions, Selection } from '../source.ts'
import type { Shard, ShardStart } from './kinesis-client.ts'
import { expiredShards, futureFailure } from './kinesis-failure.ts'
import type { KinesisRecord } from './kinesis-record.ts'

/**
 * Positions: `at:` and a sequence number is before that record, `after:` is behind it, `time:` and milliseconds is before all
 * that came then or later, `end` is behind all of a shard that is closed. Empty: nothing has been read, and where reading begins
 * is not known before the first record.
 *
 * Of a time nobody knows which record it was before: it is of our clock, and LATEST goes by that of Kinesis. A position that a
 * reader has come to from a time therefore ends with `,first:` and the sequence number of the first record that it gave; without
 * it, there was none.
 */
export interface ReadShard extends Shard {
  position: string
  /** Where it begins is to be remembered, even before there is a record. */
  mustTellStart: boolean
  /** The sequence number of the first record since a time. */
  firstSinceTime: string | undefined
  /** Of a range that was read before: the sequence number of the record that must come next. */
  expected: string | undefined
  /** Where to begin while there is no position. */
  start: ShardStart
  /** Undefined: to be asked for, from the position. */
  iterator: string | undefined
  /** Not to be asked before. */
  dueAtMs: number
  /** Read, and not yet given. */
  waiting: KinesisRecord[]
  /** The sequence number that everything up to it has been read; undefined before the first record. */
  reached: string | undefined
  /** Kinesis has nothing more of it. */
  isExhausted: boolean
  /** What expired before it was read to its end. */
  lost: LostRecords | undefined
  /** All of it has been given, or all that is wanted of it. */
  isFinished: boolean
  /** The position that nothing behind is wanted; undefined: everything is. */
  until: string | undefined
  /** By the last page: there is more in it already. Undefined before the first one. */
  isBehind: boolean | undefined
  /** In a row, from a shard that has nothing more now. */
  emptyPages: number
}

interface Place {
  type: 'at' | 'after' | 'time' | 'end'
  /** A sequence number, or milliseconds. */
  number: string
  first: string | undefined
}

function parse(position: string): Place | undefined {
  const found = /^(?:(at|after|time):(\d+)|end)(?:,first:(\d+))?$/.exec(position)
  if (!found) return undefined
  const [, type = 'end', number = '', first] = found
  return { type: type as Place['type'], number, first }
}

export function isEnd(position: string | undefined): boolean {
  return position !== undefined && parse(position)?.type === 'end'
}

/** Whether the position is behind this record and before the next one. */
export function isJustAfter(position: string | undefined, record: KinesisRecord | undefined): boolean {
  const place = position === undefined ? undefined : parse(position)
  return place?.type === 'after' && place.number === record?.sequence
}

/** LATEST is now: not the time of the first read, and above all not that of the next reader. */
export function pinAt(shard: ReadShard, atMs: number): void {
  shard.position = `time:${atMs}`
  shard.mustTellStart = true
}

export function isAtTime({ position }: ReadShard): boolean {
  return parse(position)?.type === 'time'
}

/** For a shard that has given nothing yet. */
export function beginningOf(shard: ReadShard): { from: string; next: string } {
  shard.mustTellStart = false
  return { from: shard.position, next: shard.position }
}

export function endOf(shard: ReadShard): { from: string; next: string } {
  shard.isFinished = true
  return moveTo(shard, 'end')
}

/** The positions around records of the shard, which are given now. */
export function advance(shard: ReadShard, first: KinesisRecord, last: KinesisRecord): { from: string; next: string } {
  // The start that is configured may stand for other records at another time; the first record does not.
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
  shard.mustTellStart = false
  return { from, next }
}

export function startOf({ position, start }: ReadShard): ShardStart {
  if (position === '') return start
  const { type = 'end', number = '' } = parse(position) ?? {}
  if (type === 'end') throw new Error('not a position of Kinesis to read from')
  if (type === 'time') return { type: 'AT_TIMESTAMP', atMs: Number(number) }
  return { type: type === 'at' ? 'AT_SEQUENCE_NUMBER' : 'AFTER_SEQUENCE_NUMBER', sequence: number }
}

/** Behind everything that was read, also of what was not given yet, and behind what `continuation` says that there is nothing before. */
export function resumeOf(shard: ReadShard, continuation?: string): ShardStart {
  const { reached } = shard
  const isFurther = continuation !== undefined && (reached === undefined || BigInt(continuation) > BigInt(reached))
  const sequence = isFurther ? continuation : reached
  return sequence === undefined ? startOf(shard) : { type: 'AFTER_SEQUENCE_NUMBER', sequence }
}

/**
 * The shards at the time of opening that are selected. What came out of a shard that another reader has is read without waiting
 * for that reader.
 */
export function firstShards(
  shards: Shard[],
  positions: Positions,
  config: KinesisSource,
  { share, until }: Selection,
): ReadShard[] {
  const byId = new Map(shards.map((shard) => [shard.id, shard]))
  // Shards that are split and merged again and again have few ancestors, but very many ways to them.
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
  const expired = until ? [] : listExpired(byId, positions, config, share)
  const selected = shards.filter(({ id }) => (until ? until[id] !== undefined : isAssignedByNumber(id, share)))
  const present = selected.map((shard) => {
    const position = beginOf(positions[shard.id] ?? '', until?.[shard.id])
    // Of LATEST, what was split or merged before is past. What came out of a shard that was read is not.
    const isPast = config.iteratorType === 'LATEST' && shard.isClosed && position === '' && !isContinued(shard)
    const start = isContinued(shard) ? ({ type: 'TRIM_HORIZON' } as const) : configuredStart(config)
    const isFinished = isPast || isEnd(position) || isReached(position, until?.[shard.id])
    return readShard(shard, { position, start, isFinished, until: until?.[shard.id] })
  })
  return [...expired, ...present]
}

/** Shards that have a position before their end, and that Kinesis does not list any more. */
function listExpired(
  listed: ReadonlyMap<string, Shard>,
  positions: Positions,
  config: KinesisSource,
  share: Selection['share'],
): ReadShard[] {
  const ids = Object.keys(positions).filter((id) => {
    return positions[id] && !isEnd(positions[id]) && !listed.has(id) && isAssignedByNumber(id, share)
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

/** Of a range that begins at a time: at the record that came first then, and is told by where it ends. */
function beginOf(position: string, until: string | undefined): string {
  if (until === undefined || parse(position)?.type !== 'time') return position
  const first = parse(until)?.first
  return first === undefined ? until : `at:${first}`
}

function isReached(position: string, until: string | undefined): boolean {
  if (until === undefined || position === '') return false
  const [reached, last] = [placeOf(position), placeOf(until)]
  return position === until || (reached !== undefined && last !== undefined && reached >= last)
}

/** Twice the sequence number, and one more behind it. */
function placeOf(position: string): bigint | undefined {
  const { type, number = '' } = parse(position) ?? {}
  if (type !== 'at' && type !== 'after') return undefined
  return BigInt(number) * 2n + (type === 'after' ? 1n : 0n)
}

/** Whether the record lies behind all that is wanted of the shard. */
export function isBeyond({ until }: ReadShard, { sequence }: KinesisRecord): boolean {
  const last = until === undefined ? undefined : placeOf(until)
  return last !== undefined && BigInt(sequence) * 2n >= last
}

/** Shards that have come since: they continue others, and are read from their start. */
export function addNewShards(known: ReadShard[], shards: Shard[], { share, until }: Selection): void {
  if (until) return
  const ids = new Set(known.map(({ id }) => id))
  for (const shard of shards) {
    if (ids.has(shard.id) || !isAssignedByNumber(shard.id, share)) continue
    known.push(readShard(shard, { position: '', start: { type: 'TRIM_HORIZON' }, isFinished: false, until: undefined }))
  }
}

type Unread = Omit<
  ReadShard,
  keyof Shard | 'position' | 'start' | 'isFinished' | 'until' | 'expected' | 'firstSinceTime'
>

const unread = (): Unread => ({
  mustTellStart: false,
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
  const place = parse(own.position)
  const expected = own.until !== undefined && place?.type === 'at' ? place.number : undefined
  const firstSinceTime = own.until === undefined ? undefined : parse(own.until)?.first
  return { ...shard, ...own, ...unread(), expected, firstSinceTime }
}

function configuredStart({ iteratorType, timestamp = 0 }: KinesisSource): ShardStart {
  if (iteratorType !== 'AT_TIMESTAMP') return { type: iteratorType }
  const atMs = timestamp * 1_000
  if (atMs > Date.now()) throw futureFailure()
  return { type: iteratorType, atMs }
}

/** Those that are not finished, while everything that they came from is, or is gone. */
export function readableShards(shards: ReadShard[]): ReadShard[] {
  const unfinished = shards.filter(({ isFinished }) => !isFinished)
  const ids = new Set(unfinished.map(({ id }) => id))
  return unfinished.filter(({ parents }) => !parents.some((id) => ids.has(id)))
}

/** How many records are not given yet; undefined when Kinesis has more than it has told. */
export function lagOf(shards: ReadShard[]): number | undefined {
  const unfinished = shards.filter(({ isFinished }) => !isFinished)
  if (unfinished.some(({ isBehind }) => isBehind !== false)) return undefined
  return unfinished.reduce((sum, { waiting }) => sum + waiting.length, 0)
}
