// The shards of a stream, as a reader sees them: where each begins, and which of them may be read. Shards are split and merged
// while a stream lives; the order of the records of a key is kept only if a shard is read after those that it came from.
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import type { Positions } from '../source.ts'
import { futureFailure, type KinesisRecord, type Shard, type ShardStart } from './kinesis-client.ts'

/**
 * Positions: `at:` and a sequence number is before that record, `after:` is behind it, `time:` and milliseconds is before all
 * that came then or later, `end` is behind all of a shard that is closed. Empty: nothing has been read, and where reading begins
 * is not known before the first record.
 */
export interface ReadShard extends Shard {
  position: string
  /** Where it begins is to be remembered, even before there is a record. */
  mustTellStart: boolean
  /** Where to begin while there is no position. */
  start: ShardStart
  /** Undefined: to be asked for, from the position. */
  iterator: string | undefined
  /** Not to be asked before. */
  dueAtMs: number
  /** Read, and not yet given. */
  waiting: KinesisRecord[]
  /** Kinesis has nothing more of it. */
  isExhausted: boolean
  /** All of it has been given. */
  isFinished: boolean
}

const endPosition = 'end'

/** LATEST is now: not the time of the first read, and above all not that of the next reader. */
export function pinAt(shard: ReadShard, atMs: number): void {
  shard.position = `time:${atMs}`
  shard.mustTellStart = true
}

export function isAtTime({ position }: ReadShard): boolean {
  return position.startsWith('time:')
}

/** For a shard that has given nothing yet. */
export function beginningOf(shard: ReadShard): { from: string; next: string } {
  shard.mustTellStart = false
  return { from: shard.position, next: shard.position }
}

export function endOf(shard: ReadShard): { from: string; next: string } {
  const from = shard.position
  shard.position = endPosition
  shard.isFinished = true
  shard.mustTellStart = false
  return { from, next: endPosition }
}

/** The positions around records of the shard, which are given now. */
export function advance(shard: ReadShard, first: KinesisRecord, last: KinesisRecord): { from: string; next: string } {
  // The start that is configured may stand for other records at another time; the first record does not.
  const from = shard.position || `at:${first.sequence}`
  shard.position = `after:${last.sequence}`
  shard.mustTellStart = false
  return { from, next: shard.position }
}

export function startOf({ position, start }: ReadShard): ShardStart {
  if (position === '') return start
  const [, type, sequence] = /^(at|after|time):(\d+)$/.exec(position) ?? []
  if (!sequence) throw new Error('not a position of Kinesis')
  if (type === 'time') return { type: 'AT_TIMESTAMP', atMs: Number(sequence) }
  return { type: type === 'at' ? 'AT_SEQUENCE_NUMBER' : 'AFTER_SEQUENCE_NUMBER', sequence }
}

/** The shards at the time of opening. */
export function firstShards(shards: Shard[], positions: Positions, config: KinesisSource): ReadShard[] {
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
  return shards.map((shard) => {
    const position = positions[shard.id] ?? ''
    // Of LATEST, what was split or merged before is past. What came out of a shard that was read is not.
    const isPast = config.iteratorType === 'LATEST' && shard.isClosed && position === '' && !isContinued(shard)
    const start = isContinued(shard) ? ({ type: 'TRIM_HORIZON' } as const) : configuredStart(config)
    return readShard(shard, { position, start, isFinished: isPast || position === endPosition })
  })
}

/** Shards that have come since: they continue others, and are read from their start. */
export function addNewShards(known: ReadShard[], shards: Shard[]): void {
  const ids = new Set(known.map(({ id }) => id))
  for (const shard of shards) {
    if (!ids.has(shard.id))
      known.push(readShard(shard, { position: '', start: { type: 'TRIM_HORIZON' }, isFinished: false }))
  }
}

type Unread = Pick<ReadShard, 'mustTellStart' | 'iterator' | 'dueAtMs' | 'waiting' | 'isExhausted'>

const unread = (): Unread => ({
  mustTellStart: false,
  iterator: undefined,
  dueAtMs: 0,
  waiting: [],
  isExhausted: false,
})

function readShard(shard: Shard, own: Pick<ReadShard, 'position' | 'start' | 'isFinished'>): ReadShard {
  return { ...shard, ...own, ...unread() }
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
