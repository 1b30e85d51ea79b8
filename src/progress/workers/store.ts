// Who works on which pipe. A claim is made under the lock of the pipe's organization and counts `pipes.epoch` on: what a worker
// of an earlier claim writes finds no place with its epoch and is refused.
import { type Sql, statement } from '../../database/sql.ts'
import { lockOrganization } from '../../organizations/store.ts'
import type { PipeState } from '../../pipes/pipe-state.ts'
import { workerCount } from '../../pipes/scaling.ts'
import type { WorkerPhase } from '../../runner/worker.ts'
import { lossReason } from '../losses.ts'
import { isCompleted, isLive, settledState, type WorkerState, workingStates } from '../settled-state.ts'
import {
  clearLastError,
  keepDelivered,
  lockLease,
  setDelivery,
  setLastError,
  setReplayError,
  setRetained,
  type WorkerLease,
} from '../store.ts'
import { tellable } from '../texts.ts'

interface WorkerRow {
  pipe_id: string
  slot: number
  slots: number
  runner_id: string
  epoch: number
  expires_at: string
  pipe_version: number
  state: WorkerState
  reason: string | null
  phase: WorkerPhase | null
}

interface PipeRow {
  kind: string
  state: PipeState
  state_reason: string | null
  scaling: string
  settings: string
  epoch: number
  version: number
  replay_requested_at: string | null
  losses: string | null
  rows_written: number | null
  rows_rejected: number | null
}

type LeaseValues = { pipeId: string; slot: number; epoch: number }

const workerColumns = 'pipe_id, slot, slots, runner_id, epoch, expires_at, pipe_version, state, reason, phase'
const listStatement = statement<Record<string, never>, WorkerRow>(`SELECT ${workerColumns} FROM pipe_workers`)
const listOfPipeStatement = statement<{ pipeId: string }, WorkerRow>(
  `SELECT ${workerColumns} FROM pipe_workers WHERE pipe_id = :pipeId ORDER BY slot`,
)
const pipeStatement = statement<{ pipeId: string; organizationId: string }, PipeRow>(
  `SELECT kind, state, state_reason, scaling, settings, epoch, version, replay_requested_at,
     (SELECT losses FROM pipe_figures WHERE pipe_id = pipes.id) AS losses,
     (SELECT rows_written FROM pipe_figures WHERE pipe_id = pipes.id) AS rows_written,
     (SELECT rows_refused - rows_replayed FROM pipe_figures WHERE pipe_id = pipes.id) AS rows_rejected
   FROM pipes
   WHERE id = :pipeId AND organization_id = :organizationId FOR UPDATE`,
)
const setEpochStatement = statement<{ pipeId: string; epoch: number }>(
  'UPDATE pipes SET epoch = :epoch WHERE id = :pipeId',
)
const setStateStatement = statement<{ pipeId: string; state: string; reason: string | null }>(
  'UPDATE pipes SET state = :state, state_reason = :reason WHERE id = :pipeId',
)
const endReplayStatement = statement<{ pipeId: string; organizationId: string; requestedAt: string }>(
  `UPDATE pipes SET replay_requested_at = NULL
   WHERE id = :pipeId AND organization_id = :organizationId AND replay_requested_at = :requestedAt`,
)
const claimStatement = statement<LeaseValues & { slots: number; runnerId: string; expiresAt: string }>(
  `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at)
   VALUES (:pipeId, :slot, :slots, :runnerId, :epoch, :expiresAt)
   ON CONFLICT (pipe_id, slot) DO UPDATE SET slots = excluded.slots, runner_id = excluded.runner_id,
     epoch = excluded.epoch, expires_at = excluded.expires_at, pipe_version = 0, state = 'starting', reason = NULL,
     doing = '', lag_records = NULL, phase = NULL, delivered_until = NULL`,
)
const releaseStatement = statement<LeaseValues>(
  'DELETE FROM pipe_workers WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch',
)
const releaseAllStatement = statement<{ pipeId: string }>('DELETE FROM pipe_workers WHERE pipe_id = :pipeId')
const setStatusStatement = statement<
  LeaseValues & Pick<ToldStatus, 'pipeVersion' | 'state' | 'reason' | 'doing' | 'lag' | 'phase' | 'deliveredUntil'>
>(
  `UPDATE pipe_workers SET pipe_version = :pipeVersion, state = :state, reason = :reason, doing = :doing,
     lag_records = :lag, phase = :phase, delivered_until = :deliveredUntil
   WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch`,
)
export interface ListedWorker {
  pipeId: string
  slot: number
  slots: number
  runnerId: string
  epoch: number
  expiresAt: string
  pipeVersion: number
  state: WorkerState
}

/** Of all pipes. */
export async function listWorkers(sql: Sql): Promise<ListedWorker[]> {
  return (await sql.all(listStatement, {})).map((row) => ({
    pipeId: row.pipe_id,
    slot: row.slot,
    slots: row.slots,
    runnerId: row.runner_id,
    epoch: row.epoch,
    expiresAt: row.expires_at,
    pipeVersion: row.pipe_version,
    state: row.state,
  }))
}

/** Whether somebody works on the pipe, or is about to. Call with the pipe locked: then nobody begins meanwhile. */
export async function hasLiveWorkers(sql: Sql, pipeId: string, now: string): Promise<boolean> {
  return (await sql.all(listOfPipeStatement, { pipeId })).some((row) => isRowLive(row, now))
}

export interface WorkerClaim {
  organizationId: string
  pipeId: string
  runnerId: string
  now: string
  expiresAt: string
  /** Most slots to take. */
  limit: number
}

/** The slots that are the caller's from now on. */
export interface ClaimedWorkers {
  slots: number
  epoch: number
  claimed: number[]
}

/** Takes slots that nobody has, or whose lease is over. None while somebody works by another number of slots. */
export async function claimWorkers(sql: Sql, claim: WorkerClaim): Promise<ClaimedWorkers> {
  const { organizationId, pipeId, runnerId, now, expiresAt, limit } = claim
  await lockOrganization(sql, organizationId)
  const nothing = { slots: 0, epoch: 0, claimed: [] }
  const pipe = await sql.first(pipeStatement, { pipeId, organizationId })
  if (!pipe || !workingStates.includes(pipe.state)) return nothing
  const slots = slotsOf(pipe)
  const workers = await sql.all(listOfPipeStatement, { pipeId })
  const isTaken = (row: WorkerRow): boolean =>
    isCompleted({ state: row.state, pipeVersion: row.pipe_version }, pipe.version) || isRowLive(row, now)
  if (workers.some((row) => row.slots !== slots && isRowLive(row, now))) return nothing
  for (const { slot, epoch } of workers.filter((row) => row.slots !== slots)) {
    await sql.run(releaseStatement, { pipeId, slot, epoch })
  }
  const taken = new Set(workers.filter((row) => row.slots === slots && isTaken(row)).map(({ slot }) => slot))
  const free = Array.from({ length: slots }, (_, slot) => slot).filter((slot) => !taken.has(slot))
  const claimed = free.slice(0, limit)
  if (claimed.length === 0) return nothing
  const epoch = pipe.epoch + 1
  await sql.run(setEpochStatement, { pipeId, epoch })
  for (const slot of claimed) await sql.run(claimStatement, { pipeId, slot, slots, runnerId, epoch, expiresAt })
  return { slots, epoch, claimed }
}

export interface ToldStatus {
  place: WorkerLease
  pipeVersion: number
  state: WorkerState
  reason: string | null
  doing: string
  lag: number | null
  phase: WorkerPhase | null
  /** Null when nobody knows. */
  retainedBytes: number | null
  /** Null when nobody knows. */
  deliveredUntil: string | null
  delivery?: { delivery: string; reason: string | null }
  now: string
}

/** Keeps what a worker says of itself, and what that makes of its pipe. False when the place is another's. */
export async function tellWorker(sql: Sql, told: ToldStatus): Promise<boolean> {
  const { place, pipeVersion, state, reason, doing, lag, phase, retainedBytes, deliveredUntil, delivery, now } = told
  const held = await lockLease(sql, place)
  if (!held) return false
  const { organizationId, pipeId, slot, epoch } = place
  await sql.run(setStatusStatement, {
    pipeId,
    slot,
    epoch,
    pipeVersion,
    state,
    reason: reason === null ? null : tellable(reason),
    doing: tellable(doing),
    lag,
    phase,
    deliveredUntil,
  })
  if (held.reason !== null && reason === null) await clearLastError(sql, { pipeId, reason: held.reason })
  // While nobody knows, what was known last stays.
  if (retainedBytes !== null) await setRetained(sql, { pipeId, retainedBytes })
  if (reason !== null) await setLastError(sql, { pipeId, reason, now })
  if (deliveredUntil !== null) await keepDelivered(sql, pipeId)
  if (delivery) await setDelivery(sql, { pipeId, ...delivery })
  await settle(sql, { organizationId, pipeId, now })
  return true
}

export interface PipeToSettle {
  organizationId: string
  pipeId: string
  now: string
}

/** Ends what nobody works on any more, such as `Stopping`. */
export async function settlePipe(sql: Sql, pipe: PipeToSettle): Promise<void> {
  await lockOrganization(sql, pipe.organizationId)
  await settle(sql, pipe)
}

export interface WorkersToRelease extends PipeToSettle {
  places: { slot: number; epoch: number }[]
}

export async function releaseWorkers(sql: Sql, release: WorkersToRelease): Promise<void> {
  const { organizationId, pipeId, places } = release
  await lockOrganization(sql, organizationId)
  for (const { slot, epoch } of places) await sql.run(releaseStatement, { pipeId, slot, epoch })
  await settle(sql, release)
}

export interface PipeToFail extends PipeToSettle {
  /** Of the worker that failed; without it the pipe cannot even be begun. */
  place?: { slot: number; epoch: number }
  state: 'Failed' | 'InternalError'
  reason: string
}

/** The pipe needs its user. False when the place is another's, who may do better. */
export async function failPipe(sql: Sql, failure: PipeToFail): Promise<boolean> {
  const { organizationId, pipeId, place, state, reason, now } = failure
  await lockOrganization(sql, organizationId)
  if (place && (await sql.run(releaseStatement, { pipeId, ...place })) === 0) return false
  const pipe = await sql.first(pipeStatement, { pipeId, organizationId })
  if (!pipe) return false
  if (workingStates.includes(pipe.state)) {
    await sql.run(setStateStatement, { pipeId, state, reason: tellable(reason) })
  }
  await setLastError(sql, { pipeId, reason, now })
  await settle(sql, failure)
  return true
}

export interface ReplayToEnd {
  organizationId: string
  pipeId: string
  requestedAt: string
  /** Why not all could be tried. */
  error: string | null
  now: string
}

/** A request that came later stays. A pipe that has loaded everything may have waited for this. */
export async function endReplay(sql: Sql, replay: ReplayToEnd): Promise<void> {
  const { organizationId, pipeId, requestedAt, error, now } = replay
  await lockOrganization(sql, organizationId)
  const ended = await sql.run(endReplayStatement, { organizationId, pipeId, requestedAt })
  if (ended === 0) return
  await setReplayError(sql, { pipeId, reason: error, now })
  await settle(sql, { organizationId, pipeId, now })
}

/** Call with the organization locked. Leaves version and `updatedAt` alone: nobody has changed the pipe. */
async function settle(sql: Sql, { organizationId, pipeId, now }: PipeToSettle): Promise<void> {
  const pipe = await sql.first(pipeStatement, { pipeId, organizationId })
  if (!pipe) return
  const workers = await sql.all(listOfPipeStatement, { pipeId })
  const settled = settledState(
    {
      state: pipe.state,
      version: pipe.version,
      slots: slotsOf(pipe),
      replayRequestedAt: pipe.replay_requested_at,
      lossReason: lossReason(pipe.losses),
      rowsWritten: pipe.rows_written ?? 0,
      rowsRejected: pipe.rows_rejected ?? 0,
    },
    workers.map((row) => ({
      slot: row.slot,
      slots: row.slots,
      state: row.state,
      reason: row.reason,
      phase: row.phase,
      pipeVersion: row.pipe_version,
      isHeld: row.expires_at > now,
    })),
  )
  if (!settled) return
  const { state, reason, isAtRest } = settled
  // Whoever reported the reason may have ended without taking it back.
  if (reason === null && pipe.state_reason !== null && workingStates.includes(state)) {
    await clearLastError(sql, { pipeId, reason: pipe.state_reason })
  }
  if (state !== pipe.state || reason !== pipe.state_reason) await sql.run(setStateStatement, { pipeId, state, reason })
  if (isAtRest) await sql.run(releaseAllStatement, { pipeId })
}

function slotsOf(pipe: PipeRow): number {
  return workerCount({ kind: pipe.kind, scaling: JSON.parse(pipe.scaling), settings: JSON.parse(pipe.settings) })
}

function isRowLive({ state, expires_at }: WorkerRow, now: string): boolean {
  return isLive({ state, isHeld: expires_at > now })
}
