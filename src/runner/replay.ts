// Rows that the engine refused before are tried again: what it takes now is inserted, each exactly once, and no longer listed as
// refused. Which rows go into an insert is recorded before it is sent, as with every delivery, and found again after a crash.
import type { BadRows } from '../engine/bad-rows.ts'
import { type BadRow, EngineError, type Insert, type Sink } from '../engine/engine.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { findRefused } from './bad-rows.ts'
import { type DeliveryRange, type RefusedRow, type StoredDelivery, tokenOf } from './delivery.ts'
import { addFigures, noFigures } from './figures.ts'
import { replayPartition } from './recover.ts'
import type { Rows } from './rows.ts'
import { encoderPartsOf, engineSettingsOf } from './session.ts'
import type { WorkerParts } from './worker.ts'

export interface ReplayOptions {
  signal: AbortSignal
  /** In place of that of the kind. */
  encode?(kept: BadRow[]): Promise<Rows>
  /** What its deliveries are recorded under; where a pipe fills several tables, each has its own. */
  partition?: string
  /** What the table has got anew since. It is not tried again, and not listed any more. */
  isSuperseded?(row: BadRow): boolean
}

export interface ReplayOutcome {
  replayed: number
  /** That are refused still. */
  refused: number
}

const rowsAtOnce = 1_000

type ReplayParts = Pick<WorkerParts, 'pipe' | 'secrets' | 'openSink' | 'store' | 'egress' | 'context'>

interface Replay {
  parts: ReplayParts
  badRows: BadRows
  sink: Sink
  encode(rows: BadRow[]): Promise<Rows>
  partition: string
  isSuperseded(row: BadRow): boolean
  signal: AbortSignal
}

/** May run beside the worker of the same place. Rejects as workers do: with PlaceLost, NotConnected, ProbeFailure or EngineError. */
export async function replayBadRows(
  parts: ReplayParts,
  badRows: BadRows,
  options: ReplayOptions,
): Promise<ReplayOutcome> {
  const { signal, partition = replayPartition, isSuperseded = () => false } = options
  const encode = options.encode ?? (await encodeOfKind(parts))
  const sink = await parts.openSink(signal)
  const replay: Replay = { parts, badRows, sink, encode, partition, isSuperseded, signal }
  try {
    await finishLeft(replay)
    return await replayPages(replay)
  } finally {
    await sink.close().catch(() => undefined)
  }
}

async function encodeOfKind(parts: ReplayParts): Promise<Replay['encode']> {
  const { encodeKept } = await import('./encoding/encoder.ts')
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
    const superseded = page.filter(replay.isSuperseded)
    if (superseded.length > 0) await replay.badRows.markReplayed(replay.parts.pipe.id, idsOf(superseded))
    const tried = page.filter((row) => !superseded.includes(row))
    const replayed = tried.length === 0 ? 0 : await replayPage(replay, tried)
    outcome.replayed += replayed
    outcome.refused += tried.length - replayed
  }
}

/** Gives how many of them the engine took. */
async function replayPage(replay: Replay, page: BadRow[]): Promise<number> {
  const { parts, sink, signal } = replay
  const rows = await replay.encode(page)
  const { undecodable } = rows
  const isTried = undecodable.length < page.length
  const tryOut = (part: Rows) => sink.tryOut(insertOf(parts, 'penstock-check', part, false), signal)
  const refused = [...undecodable]
  if (isTried) for await (const found of findRefused(rows, undecodable, tryOut)) refused.push(...found)
  await keepReasons(replay, page, refused)
  const bad = new Set(refused.map(({ index }) => index))
  const good = page.filter((_, index) => !bad.has(index))
  if (good.length === 0) return 0
  const ranges = good.map(({ id }): DeliveryRange => ({ partition: replay.partition, from: id, next: id }))
  const token = tokenOf(parts.pipe.id, ranges)
  await parts.store.begin({ id: token, number: 0, ranges })
  try {
    await insertAndMark(replay, { token, ids: idsOf(good), rows: withoutThese(rows, bad), isRepeat: false })
    return good.length
  } catch (error) {
    if (!isRefusal(error)) throw error
    // It was sent once, and refused as a whole: nothing of it is there.
    await parts.store.finish({ done: [], behind: [token], positions: [], figures: noFigures })
    return 0
  }
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
async function keepReasons({ sink, signal }: Replay, page: BadRow[], refused: RefusedRow[]): Promise<void> {
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
}

async function insertAndMark(replay: Replay, { token, ids, rows, isRepeat }: Batch): Promise<void> {
  const { parts, sink, badRows, signal } = replay
  const { rows: stored, sentBytes } = await sink.insert(insertOf(parts, token, rows, isRepeat), signal)
  await badRows.markReplayed(parts.pipe.id, ids)
  const figures = addFigures(noFigures, {
    rowsWritten: stored ?? ids.length,
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

async function finishDelivery(replay: Replay, { id: token, ranges }: StoredDelivery): Promise<void> {
  const { parts, badRows } = replay
  const ids = ranges.map(({ from }) => from)
  const left = await findKept(replay, ids)
  const leftIds = idsOf(left)
  // Rows are marked when the engine has all of them: one that is marked says that of the others. One that is missing says
  // nothing, because the engine forgets them after some days.
  const isThere = (await badRows.listReplayed(parts.pipe.id, ids)).length > 0
  // The table is another one by now: what of it belongs there is tried like all the others.
  const isOtherTable = !isThere && left.some(replay.isSuperseded)
  if (left.length > 0 && !isThere && !isOtherTable) {
    const rows = await replay.encode(left)
    if (rows.undecodable.length > 0) throw refusedMeanwhile()
    // Fewer rows than before under the same token: when the engine has the batch, it has these, and stores nothing.
    await insertAndMark(replay, { token, ids: leftIds, rows, isRepeat: true }).catch((error: unknown) => {
      throw isRefusal(error) ? refusedMeanwhile() : error
    })
    return
  }
  if (left.length > 0 && isThere) await badRows.markReplayed(parts.pipe.id, leftIds)
  await parts.store.finish({ done: [], behind: [token], positions: [], figures: noFigures })
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

function insertOf({ pipe }: ReplayParts, token: string, rows: Rows, isRepeat: boolean): Insert {
  const settings = engineSettingsOf({ ...defaultSettings, ...pipe.settings })
  return { ...rows.shape, token, body: () => rows.body(), isRepeat, settings }
}
