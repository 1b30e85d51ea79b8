// Rows that the engine refused before are tried again: what it takes now is inserted, each exactly once, and no longer listed as
// refused. Which rows go into an insert is recorded before it is sent, as with every delivery, and found again after a crash.
import type { BadRows } from '../engine/bad-rows.ts'
import { type BadRow, EngineError, type Insert, type Sink } from '../engine/engine.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { findRefused } from './bad-rows.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { type DeliveryRange, type RefusedRow, type StoredDelivery, tokenOf } from './delivery.ts'
import { notARow } from './queue/given-up.ts'
import { identityOf, replayPartition } from './recover.ts'
import { type Rows, shapeDigest } from './rows.ts'
import { encoderPartsOf } from './session.ts'
import type { WorkerParts } from './worker.ts'

/** Of a row that was kept. What is void, the table has got anew since: it is not tried again, and not listed any more. */
export type Fate = 'tried' | 'left' | 'void'

/** How rows are tried as things are now. */
export interface Trial {
  /** Another one when the table is another one. */
  sink: Sink
  encode(kept: BadRow[]): Promise<Rows>
  fateOf(row: BadRow): Fate
}

export interface ReplayOptions {
  signal: AbortSignal
  /** In place of that of the kind. */
  encode?(kept: BadRow[]): Promise<Rows>
}

export interface TableReplayOptions {
  signal: AbortSignal
  /** What its deliveries are recorded under; where a pipe fills several tables, each has its own. */
  partition: string
  /** Asked anew for each page, and again when an insert is to be sent. Undefined when there is nothing to be tried for now. */
  look(): Promise<Trial | undefined>
}

export interface ReplayOutcome {
  replayed: number
  /** That are refused still. */
  refused: number
}

const rowsAtOnce = 1_000

type ReplayParts = Pick<WorkerParts, 'pipe' | 'secrets' | 'openSink' | 'store' | 'egress' | 'context'>
type TableReplayParts = Pick<ReplayParts, 'pipe' | 'store'>

interface Replay extends TableReplayOptions {
  parts: TableReplayParts
  badRows: BadRows
}

/** May run beside the worker of the same place. Rejects as workers do: with LeaseLost, NotConnected, ProbeFailure or EngineError. */
export async function replayBadRows(
  parts: ReplayParts,
  badRows: BadRows,
  options: ReplayOptions,
): Promise<ReplayOutcome> {
  const { signal } = options
  const encode = options.encode ?? (await encodeOfKind(parts))
  const sink = await parts.openSink(signal)
  // A message or an object that was given up is no row.
  const trial: Trial = { sink, encode, fateOf: ({ meta }) => (meta === notARow ? 'left' : 'tried') }
  try {
    return await replayTable(parts, badRows, { signal, partition: replayPartition, look: async () => trial })
  } finally {
    await sink.close().catch(() => undefined)
  }
}

/** The same for a table that may become another one meanwhile. Closes no sink. */
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
  const { encodeKept } = await import('../formats/encode/encoder.ts')
  const encoderParts = encoderPartsOf(parts)
  return (rows) => encodeKept(encoderParts, rows)
}

async function replayPages(replay: Replay): Promise<ReplayOutcome> {
  const outcome = { replayed: 0, refused: 0 }
  // What is refused from now on is for the next time: otherwise this might never end.
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
    outcome.refused += done.refused
  }
}

/** Undefined when there is nothing to be tried any more. */
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
    if (replayed !== 'changed') return { replayed, refused: tried.length - replayed }
  }
}

/** Gives how many of them the engine took; `changed` when nothing was sent, because their fate is another one by now. */
async function replayRows(replay: Replay, trial: Trial, page: BadRow[]): Promise<number | 'changed'> {
  const { parts, signal } = replay
  const { sink } = trial
  const rows = await trial.encode(page)
  const { undecodable } = rows
  const isTried = undecodable.length < page.length
  const tryOut = (part: Rows) =>
    sink.tryOut(insertOf(parts, { token: 'penstock-check', rows: part, isRepeat: false }), signal)
  const refused = [...undecodable]
  if (isTried) for await (const found of findRefused(rows, undecodable, tryOut)) refused.push(...found)
  await keepReasons(replay, sink, page, refused)
  const bad = new Set(refused.map(({ index }) => index))
  const good = page.filter((_, index) => !bad.has(index))
  if (good.length === 0) return 0
  const ranges = good.map(({ id }): DeliveryRange => ({ partition: replay.partition, from: id, next: id }))
  const token = tokenOf(parts.pipe.id, ranges)
  const sent = withoutThese(rows, bad)
  await parts.store.begin({ id: token, number: 0, ranges, shape: shapeDigest(sent.shape) })
  // To try them out may take long.
  if (!(await isStillSo(replay, trial, good))) {
    await forgetDelivery(replay, token)
    return 'changed'
  }
  try {
    await insertAndMark(replay, sink, { token, ids: idsOf(good), rows: sent, isRepeat: false })
    return good.length
  } catch (error) {
    if (!isRefusal(error)) throw error
    // It was sent once, and refused as a whole: nothing of it is there.
    await forgetDelivery(replay, token)
    return 0
  }
}

async function isStillSo({ look }: Replay, { sink }: Trial, rows: BadRow[]): Promise<boolean> {
  const now = await look()
  return now !== undefined && now.sink === sink && rows.every((row) => now.fateOf(row) === 'tried')
}

async function forgetDelivery({ parts }: Replay, token: string, rowsReplayed = 0): Promise<void> {
  const figures = addCounters(zeroCounters, { rowsReplayed })
  await parts.store.finish({ done: [], behind: [token], positions: [], figures })
}

async function countReplayed({ parts }: Replay, rowsReplayed: number): Promise<void> {
  await parts.store.finish({
    done: [],
    behind: [],
    positions: [],
    figures: addCounters(zeroCounters, { rowsReplayed }),
  })
}

function idsOf(rows: BadRow[]): string[] {
  return rows.map(({ id }) => id)
}

function isRefusal(error: unknown): boolean {
  return error instanceof EngineError && error.kind === 'data'
}

function withoutThese(rows: Rows, bad: ReadonlySet<number>): Rows {
  return bad.size === 0 ? rows : rows.without(bad)
}

/** They stay where they are, with what is wrong with them now. */
async function keepReasons({ signal }: Replay, sink: Sink, page: BadRow[], refused: RefusedRow[]): Promise<void> {
  const changed = refused.flatMap(({ index, reason }) => {
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
  const figures = addCounters(zeroCounters, {
    rowsWritten: stored ?? ids.length,
    rowsReplayed: ids.length,
    bytesWritten: sentBytes,
    inserts: 1,
  })
  await parts.store.finish({ done: [], behind: [token], positions: [], figures })
}

/** What an earlier replay may have sent. */
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
  // Rows are marked when the engine has all of them: one that is marked says that of the others. One that is missing says
  // nothing, because the engine forgets them after some days.
  const isThere = (await badRows.listReplayed(parts.pipe.id, ids)).length > 0
  if (left.length > 0 && isThere) await badRows.markReplayed(parts.pipe.id, idsOf(left))
  if (left.length === 0 || isThere) return await forgetDelivery(replay, token, isThere ? ids.length : 0)
  const trial = await replay.look()
  if (!trial) return
  // When the table is another one by now, none is.
  const again = left.filter((row) => trial.fateOf(row) === 'tried')
  if (again.length === 0) return await forgetDelivery(replay, token)
  const rows = await trial.encode(again)
  if (rows.undecodable.length > 0) throw refusedMeanwhile()
  // Fewer rows than before under the same token: when the engine has the batch, it has these, and stores nothing.
  const batch: Batch = { token, ids: idsOf(again), rows, isRepeat: true, identity: identityOf(delivery, rows) }
  await insertAndMark(replay, trial.sink, batch).catch((error: unknown) => {
    throw isRefusal(error) ? refusedMeanwhile() : error
  })
}

/** Whether they are in the table already, the engine can only tell when it takes them. */
function refusedMeanwhile(): EngineError {
  return new EngineError(
    'user',
    'rows that were tried again before a failure may be in the table, and the engine refuses them now; undo the last change of the table or of the pipe, and try again',
  )
}

/** In the order of the ids; those that are not refused any more, or forgotten, are missing. */
async function findKept({ badRows, parts, signal }: Replay, ids: string[]): Promise<BadRow[]> {
  const wanted = new Map<string, BadRow | undefined>(ids.map((id) => [id, undefined]))
  let last: BadRow | undefined
  do {
    signal.throwIfAborted()
    const page = await badRows.load(parts.pipe.id, { limit: rowsAtOnce, ...(last ? { after: last } : {}) })
    for (const row of page) if (wanted.has(row.id)) wanted.set(row.id, row)
    last = page.at(-1)
  } while (last)
  return [...wanted.values()].filter((row) => row !== undefined)
}

function insertOf({ pipe }: TableReplayParts, { token, rows, isRepeat, identity }: Omit<Batch, 'ids'>): Insert {
  const settings = { ...defaultSettings, ...pipe.settings }
  return { ...rows.shape, token, body: () => rows.body(), isRepeat, settings, ...(identity && { identity }) }
}
