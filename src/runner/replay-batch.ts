// Replays rejected rows: rows that the engine accepts now are inserted exactly once and removed from the list of rejected rows.
// As with every delivery, the rows of an insert are recorded before it is sent, so that it can be finished after a crash.
import type { BadRows } from '../engine/bad-rows.ts'
import { type BadRow, EngineError, type Insert, type Sink } from '../engine/engine.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import { type Rows, shapeDigest } from '../formats/encode/rows.ts'
import type { DeliveryRange, StoredDelivery } from '../progress/delivery.ts'
import { findRejected } from './bad-rows.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { tokenOf } from './delivery-token.ts'
import { notARow } from './queue/given-up.ts'
import { identityOf, replayPartition } from './recover.ts'
import { encoderPartsOf } from './session.ts'
import type { WorkerParts } from './worker.ts'

/** What happens to a rejected row. `void`: the table was reloaded since, so the row is removed from the list without a replay. */
export type Fate = 'tried' | 'left' | 'void'

/** How rows are replayed with the present table and configuration. */
export interface Trial {
  /** A different sink when the table was replaced. */
  sink: Sink
  encode(kept: BadRow[]): Promise<Rows>
  fateOf(row: BadRow): Fate
}

export interface ReplayOptions {
  signal: AbortSignal
  /** Overrides the encoder of the kind of pipe. */
  encode?(kept: BadRow[]): Promise<Rows>
}

export interface TableReplayOptions {
  signal: AbortSignal
  /** Partition under which its deliveries are recorded: one per table of the pipe. */
  partition: string
  /** Called for each page, and again before each insert. Undefined when nothing can be replayed for now. */
  look(): Promise<Trial | undefined>
}

export interface ReplayOutcome {
  replayed: number
  /** Still rejected. */
  rejected: number
}

const rowsAtOnce = 1_000

type ReplayParts = Pick<WorkerParts, 'pipe' | 'secrets' | 'openSink' | 'store' | 'egress' | 'context'>
type TableReplayParts = Pick<ReplayParts, 'pipe' | 'store'>

interface Replay extends TableReplayOptions {
  parts: TableReplayParts
  badRows: BadRows
}

/** May run beside the worker of the same lease. Rejects as workers do: with LeaseLost, NotConnected, ProbeFailure or EngineError. */
export async function replayBadRows(
  parts: ReplayParts,
  badRows: BadRows,
  options: ReplayOptions,
): Promise<ReplayOutcome> {
  const { signal } = options
  const encode = options.encode ?? (await encodeOfKind(parts))
  const sink = await parts.openSink(signal)
  // A skipped message or object is not a row and cannot be replayed.
  const trial: Trial = { sink, encode, fateOf: ({ meta }) => (meta === notARow ? 'left' : 'tried') }
  try {
    return await replayTable(parts, badRows, { signal, partition: replayPartition, look: async () => trial })
  } finally {
    await sink.close().catch(() => undefined)
  }
}

/** Like `replayBadRows`, for a table that may be replaced during the replay. Closes no sink. */
export async function replayTable(
  parts: TableReplayParts,
  badRows: BadRows,
  options: TableReplayOptions,
): Promise<ReplayOutcome> {
  const replay: Replay = { ...options, parts, badRows }
  await finishLeft(replay)
  return await replayPages(replay)
}

async function encodeOfKind(parts: ReplayParts): Promise<Trial['encode']> {
  const { encodeKept } = await import('../formats/encode/kept-rows.ts')
  const encoderParts = encoderPartsOf(parts)
  return (rows) => encodeKept(encoderParts, rows)
}

async function replayPages(replay: Replay): Promise<ReplayOutcome> {
  const outcome = { replayed: 0, rejected: 0 }
  // Rows that are rejected from now on are for the next replay: otherwise this one might never end.
  const startedAt = new Date().toISOString()
  let last: BadRow | undefined
  for (;;) {
    replay.signal.throwIfAborted()
    const loaded = await replay.badRows.load(replay.parts.pipe.id, {
      limit: rowsAtOnce,
      ...(last ? { after: last } : {}),
    })
    const page = loaded.filter(({ at }) => at <= startedAt)
    last = page.at(-1)
    if (!last) return outcome
    const done = await replayPage(replay, page)
    if (!done) return outcome
    outcome.replayed += done.replayed
    outcome.rejected += done.rejected
  }
}

/** Undefined when nothing can be replayed any more. */
async function replayPage(replay: Replay, page: BadRow[]): Promise<ReplayOutcome | undefined> {
  const { badRows, parts, signal } = replay
  for (;;) {
    signal.throwIfAborted()
    const trial = await replay.look()
    if (!trial) return undefined
    const rowsThatAre = (fate: Fate): BadRow[] => page.filter((row) => trial.fateOf(row) === fate)
    const superseded = rowsThatAre('void')
    if (superseded.length > 0) {
      await badRows.markReplayed(parts.pipe.id, idsOf(superseded))
      await countReplayed(replay, superseded.length)
    }
    const tried = rowsThatAre('tried')
    const replayed = tried.length === 0 ? 0 : await replayRows(replay, trial, tried)
    if (replayed !== 'changed') return { replayed, rejected: tried.length - replayed }
  }
}

/** Returns how many rows the engine accepted; `changed` when nothing was sent because the fate of a row has changed. */
async function replayRows(replay: Replay, trial: Trial, page: BadRow[]): Promise<number | 'changed'> {
  const { parts, signal } = replay
  const { sink } = trial
  const rows = await trial.encode(page)
  const { undecodable } = rows
  const isTried = undecodable.length < page.length
  const tryOut = (part: Rows) =>
    sink.tryOut(insertOf(parts, { token: 'penstock-check', rows: part, isRepeat: false }), signal)
  const rejected = [...undecodable]
  if (isTried) for await (const found of findRejected(rows, undecodable, tryOut)) rejected.push(...found)
  await keepReasons(replay, sink, page, rejected)
  const bad = new Set(rejected.map(({ index }) => index))
  const good = page.filter((_, index) => !bad.has(index))
  if (good.length === 0) return 0
  const ranges = good.map(({ id }): DeliveryRange => ({ partition: replay.partition, from: id, next: id }))
  const token = tokenOf(parts.pipe.id, ranges)
  const sent = withoutThese(rows, bad)
  await parts.store.begin({ id: token, number: 0, ranges, shape: shapeDigest(sent.shape) })
  // The search for rejected rows may take long.
  if (!(await isStillSo(replay, trial, good))) {
    await forgetDelivery(replay, token)
    return 'changed'
  }
  try {
    await insertAndMark(replay, sink, { token, ids: idsOf(good), rows: sent, isRepeat: false })
    return good.length
  } catch (error) {
    if (!isRejection(error)) throw error
    // It was sent once and rejected completely: none of its rows is stored.
    await forgetDelivery(replay, token)
    return 0
  }
}

async function isStillSo({ look }: Replay, { sink }: Trial, rows: BadRow[]): Promise<boolean> {
  const now = await look()
  return now !== undefined && now.sink === sink && rows.every((row) => now.fateOf(row) === 'tried')
}

async function forgetDelivery({ parts }: Replay, token: string, rowsReplayed = 0): Promise<void> {
  const counters = addCounters(zeroCounters, { rowsReplayed })
  await parts.store.finish({ done: [], behind: [token], positions: [], counters })
}

async function countReplayed({ parts }: Replay, rowsReplayed: number): Promise<void> {
  await parts.store.finish({
    done: [],
    behind: [],
    positions: [],
    counters: addCounters(zeroCounters, { rowsReplayed }),
  })
}

function idsOf(rows: BadRow[]): string[] {
  return rows.map(({ id }) => id)
}

function isRejection(error: unknown): boolean {
  return error instanceof EngineError && error.kind === 'data'
}

function withoutThese(rows: Rows, bad: ReadonlySet<number>): Rows {
  return bad.size === 0 ? rows : rows.without(bad)
}

/** Rows that are still rejected stay listed, with their present reason. */
async function keepReasons({ signal }: Replay, sink: Sink, page: BadRow[], rejected: RejectedRow[]): Promise<void> {
  const changed = rejected.flatMap(({ index, reason }) => {
    const row = page[index]
    return row && row.reason !== reason ? [{ ...row, reason }] : []
  })
  if (changed.length > 0) await sink.keepBadRows(changed, signal)
}

interface Batch {
  token: string
  ids: string[]
  rows: Rows
  isRepeat: boolean
  identity?: Insert['identity']
}

async function insertAndMark(replay: Replay, sink: Sink, batch: Batch): Promise<void> {
  const { parts, badRows, signal } = replay
  const { token, ids } = batch
  const { rows: stored, sentBytes } = await sink.insert(insertOf(parts, batch), signal)
  await badRows.markReplayed(parts.pipe.id, ids)
  const counters = addCounters(zeroCounters, {
    rowsWritten: stored ?? ids.length,
    rowsReplayed: ids.length,
    bytesWritten: sentBytes,
    inserts: 1,
  })
  await parts.store.finish({ done: [], behind: [token], positions: [], counters })
}

/** Finishes deliveries that an earlier replay may have sent. */
async function finishLeft(replay: Replay): Promise<void> {
  const deliveries = await replay.parts.store.listDeliveries()
  for (const delivery of deliveries) {
    if (delivery.ranges[0]?.partition === replay.partition) await finishDelivery(replay, delivery)
  }
}

async function finishDelivery(replay: Replay, delivery: StoredDelivery): Promise<void> {
  const { id: token, ranges } = delivery
  const { parts, badRows } = replay
  const ids = ranges.map(({ from }) => from)
  const left = await findKept(replay, ids)
  // Rows are marked after the engine has stored all of them: one marked row proves the others. A missing row proves nothing,
  // because the engine expires marks after some days.
  const isThere = (await badRows.listReplayed(parts.pipe.id, ids)).length > 0
  if (left.length > 0 && isThere) await badRows.markReplayed(parts.pipe.id, idsOf(left))
  if (left.length === 0 || isThere) return await forgetDelivery(replay, token, isThere ? ids.length : 0)
  const trial = await replay.look()
  if (!trial) return
  // None is left to try when the table was replaced.
  const again = left.filter((row) => trial.fateOf(row) === 'tried')
  if (again.length === 0) return await forgetDelivery(replay, token)
  const rows = await trial.encode(again)
  if (rows.undecodable.length > 0) throw nowRejected()
  // May be fewer rows than before under the same token: an engine that has the batch has these rows too, and stores nothing.
  const batch: Batch = { token, ids: idsOf(again), rows, isRepeat: true, identity: identityOf(delivery, rows) }
  await insertAndMark(replay, trial.sink, batch).catch((error: unknown) => {
    throw isRejection(error) ? nowRejected() : error
  })
}

/** Only an insert with the same token shows whether the rows are stored, and the engine rejects it. */
function nowRejected(): EngineError {
  return new EngineError(
    'user',
    'rows of an interrupted replay may be in the table, and the engine rejects them now; undo the last change of the table or of the pipe, and replay again',
  )
}

/** In the order of the ids, without rows that are no longer rejected or have expired. */
async function findKept({ badRows, parts, signal }: Replay, ids: string[]): Promise<BadRow[]> {
  const found = new Map<string, BadRow | undefined>(ids.map((id) => [id, undefined]))
  let last: BadRow | undefined
  do {
    signal.throwIfAborted()
    const page = await badRows.load(parts.pipe.id, { limit: rowsAtOnce, ...(last ? { after: last } : {}) })
    for (const row of page) if (found.has(row.id)) found.set(row.id, row)
    last = page.at(-1)
  } while (last)
  return [...found.values()].filter((row) => row !== undefined)
}

function insertOf({ pipe }: TableReplayParts, { token, rows, isRepeat, identity }: Omit<Batch, 'ids'>): Insert {
  const { settings } = pipe
  return { ...rows.shape, token, body: () => rows.body(), isRepeat, settings, ...(identity && { identity }) }
}
