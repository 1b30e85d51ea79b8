// Worker leases. A claim is made under the lock of the pipe's organization and increments `pipes.epoch`, so that writes of a worker with
// an earlier epoch are rejected.

import { type Sql, statement } from '../../database/sql.ts'
import { lockOrganization } from '../../organizations/store.ts'
import type { SourceKindName } from '../../source-shapes/source-kind.ts'
import { lossReason } from '../losses.ts'
import type { PipeState } from '../pipe-state.ts'
import {
  isCompleted,
  isLive,
  settledState,
  type WorkerPhase,
  type WorkerState,
  workingStates,
} from '../settled-state.ts'
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
import { storableText } from '../texts.ts'
import { workerCount } from './worker-count.ts'

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
  kind: SourceKindName
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
  LeaseValues & Pick<WorkerReport, 'pipeVersion' | 'state' | 'reason' | 'doing' | 'lag' | 'phase' | 'deliveredUntil'>
>(
  `UPDATE pipe_workers SET pipe_version = :pipeVersion, state = :state, reason = :reason, doing = :doing,
     lag_records = :lag, phase = :phase, delivered_until = :deliveredUntil
   WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch`,
)
export interface ListedWorker {
  pipeId: string
  workerIndex: number
  workerCount: number
  runnerId: string
  epoch: number
  expiresAt: string
  pipeVersion: number
  state: WorkerState
}

/** Workers of all pipes. */
export async function listWorkers(sql: Sql): Promise<ListedWorker[]> {
  return (await sql.all(listStatement, {})).map((row) => ({
    pipeId: row.pipe_id,
    workerIndex: row.slot,
    workerCount: row.slots,
    runnerId: row.runner_id,
    epoch: row.epoch,
    expiresAt: row.expires_at,
    pipeVersion: row.pipe_version,
    state: row.state,
  }))
}

/** Whether the pipe has workers. Call with the pipe locked, so that no worker starts concurrently. */
export async function hasLiveWorkers(sql: Sql, pipeId: string, now: string): Promise<boolean> {
  return (await sql.all(listOfPipeStatement, { pipeId })).some((row) => isRowLive(row, now))
}

export interface WorkerClaim {
  organizationId: string
  pipeId: string
  runnerId: string
  now: string
  expiresAt: string
  /** Maximum number of leases to claim. */
  limit: number
}

/** The worker indexes that the caller now holds. */
export interface ClaimedWorkers {
  workerCount: number
  epoch: number
  claimed: number[]
}

/** Claims free worker indexes and those with an expired lease. None while there are workers with another worker count. */
export async function claimWorkers(sql: Sql, claim: WorkerClaim): Promise<ClaimedWorkers> {
  const { organizationId, pipeId, runnerId, now, expiresAt, limit } = claim
  await lockOrganization(sql, organizationId)
  const nothing = { workerCount: 0, epoch: 0, claimed: [] }
  const pipe = await sql.first(pipeStatement, { pipeId, organizationId })
  if (!pipe || !workingStates.includes(pipe.state)) return nothing
  const slots = slotsOf(pipe)
  const workers = await sql.all(listOfPipeStatement, { pipeId })
  const isTaken = (row: WorkerRow): boolean =>
    isCompleted({ state: row.state, pipeVersion: row.pipe_version }, pipe.version) || isRowLive(row, now)
  if (workers.some((row) => row.slots !== slots && isRowLive(row, now))) return nothing
  for (const { slot: workerIndex, epoch } of workers.filter((row) => row.slots !== slots)) {
    await sql.run(releaseStatement, { pipeId, slot: workerIndex, epoch })
  }
  const taken = new Set(
    workers.filter((row) => row.slots === slots && isTaken(row)).map(({ slot: workerIndex }) => workerIndex),
  )
  const free = Array.from({ length: slots }, (_, workerIndex) => workerIndex).filter(
    (workerIndex) => !taken.has(workerIndex),
  )
  const claimed = free.slice(0, limit)
  if (claimed.length === 0) return nothing
  const epoch = pipe.epoch + 1
  await sql.run(setEpochStatement, { pipeId, epoch })
  for (const workerIndex of claimed)
    await sql.run(claimStatement, { pipeId, slot: workerIndex, slots, runnerId, epoch, expiresAt })
  return { workerCount: slots, epoch, claimed }
}

export interface WorkerReport {
  lease: WorkerLease
  pipeVersion: number
  state: WorkerState
  reason: string | null
  doing: string
  lag: number | null
  phase: WorkerPhase | null
  /** Null when unknown. */
  retainedBytes: number | null
  /** Null when unknown. */
  deliveredUntil: string | null
  delivery?: { delivery: string; reason: string | null }
  now: string
}

/** Stores the status of a worker and the resulting state of its pipe. False when the lease is lost. */
export async function reportWorker(sql: Sql, report: WorkerReport): Promise<boolean> {
  const { lease, pipeVersion, state, reason, doing, lag, phase, retainedBytes, deliveredUntil, delivery, now } = report
  const held = await lockLease(sql, lease)
  if (!held) return false
  const { organizationId, pipeId, workerIndex, epoch } = lease
  await sql.run(setStatusStatement, {
    pipeId,
    slot: workerIndex,
    epoch,
    pipeVersion,
    state,
    reason: reason === null ? null : storableText(reason),
    doing: storableText(doing),
    lag,
    phase,
    deliveredUntil,
  })
  if (held.reason !== null && reason === null) await clearLastError(sql, { pipeId, reason: held.reason })
  // While unknown, the last value stays.
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

/** Ends transitional states of a pipe without workers, such as `Stopping`. */
export async function settlePipe(sql: Sql, pipe: PipeToSettle): Promise<void> {
  await lockOrganization(sql, pipe.organizationId)
  await settle(sql, pipe)
}

export interface WorkersToRelease extends PipeToSettle {
  leases: { workerIndex: number; epoch: number }[]
}

export async function releaseWorkers(sql: Sql, release: WorkersToRelease): Promise<void> {
  const { organizationId, pipeId, leases } = release
  await lockOrganization(sql, organizationId)
  for (const { workerIndex, epoch } of leases) await sql.run(releaseStatement, { pipeId, slot: workerIndex, epoch })
  await settle(sql, release)
}

export interface PipeToFail extends PipeToSettle {
  /** Lease of the worker that failed; undefined when the pipe could not be started. */
  lease?: { workerIndex: number; epoch: number }
  state: 'Failed' | 'InternalError'
  reason: string
}

/** Fails a pipe that needs a change by the user. False when the lease is lost: another worker may succeed. */
export async function failPipe(sql: Sql, failure: PipeToFail): Promise<boolean> {
  const { organizationId, pipeId, lease, state, reason, now } = failure
  await lockOrganization(sql, organizationId)
  if (lease) {
    const { workerIndex, epoch } = lease
    if ((await sql.run(releaseStatement, { pipeId, slot: workerIndex, epoch })) === 0) return false
  }
  const pipe = await sql.first(pipeStatement, { pipeId, organizationId })
  if (!pipe) return false
  if (workingStates.includes(pipe.state)) {
    await sql.run(setStateStatement, { pipeId, state, reason: storableText(reason) })
  }
  await setLastError(sql, { pipeId, reason, now })
  await settle(sql, failure)
  return true
}

export interface ReplayToEnd {
  organizationId: string
  pipeId: string
  requestedAt: string
  /** Why some rows could not be tried; null when all were. */
  error: string | null
  now: string
}

/** Keeps a newer request. A pipe that has loaded everything may complete now. */
export async function endReplay(sql: Sql, replay: ReplayToEnd): Promise<void> {
  const { organizationId, pipeId, requestedAt, error, now } = replay
  await lockOrganization(sql, organizationId)
  const ended = await sql.run(endReplayStatement, { organizationId, pipeId, requestedAt })
  if (ended === 0) return
  await setReplayError(sql, { pipeId, reason: error, now })
  await settle(sql, { organizationId, pipeId, now })
}

/** Call with the organization locked. Does not change version and `updatedAt`. */
async function settle(sql: Sql, { organizationId, pipeId, now }: PipeToSettle): Promise<void> {
  const pipe = await sql.first(pipeStatement, { pipeId, organizationId })
  if (!pipe) return
  const workers = await sql.all(listOfPipeStatement, { pipeId })
  const settled = settledState(
    {
      state: pipe.state,
      version: pipe.version,
      workerCount: slotsOf(pipe),
      replayRequestedAt: pipe.replay_requested_at,
      lossReason: lossReason(pipe.losses),
      rowsWritten: pipe.rows_written ?? 0,
      rowsRejected: pipe.rows_rejected ?? 0,
    },
    workers.map((row) => ({
      workerIndex: row.slot,
      workerCount: row.slots,
      state: row.state,
      reason: row.reason,
      phase: row.phase,
      pipeVersion: row.pipe_version,
      isHeld: row.expires_at > now,
    })),
  )
  if (!settled) return
  const { state, reason, isAtRest } = settled
  // The worker that reported the reason may have ended without clearing it.
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
