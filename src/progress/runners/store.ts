// Runner processes. One that has not reported for a while has ended, and its worker leases with it.
import { type Sql, statement } from '../../database/sql.ts'
import { keepDelivered, type WorkerLease } from '../store.ts'
import { storableText } from '../texts.ts'
import type { WorkerReport } from '../workers/store.ts'

/** Activity of a worker; its state is reported separately (`reportWorker`). */
export type Doing = { pipeId: string; slot: number; epoch: number } & Pick<
  WorkerReport,
  'doing' | 'lag' | 'retainedBytes' | 'deliveredUntil'
>

interface HeldRow {
  organization_id: string
  pipe_id: string
  slot: number
  epoch: number
}

const seeRunnerStatement = statement<{ runnerId: string; startedAt: string; now: string }>(
  `INSERT INTO runners (id, started_at, seen_at) VALUES (:runnerId, :startedAt, :now)
   ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
)
const listHeldStatement = statement<{ runnerId: string }, HeldRow>(
  `SELECT pipes.organization_id, pipe_id, slot, pipe_workers.epoch
   FROM pipe_workers JOIN pipes ON pipes.id = pipe_workers.pipe_id WHERE runner_id = :runnerId`,
)
const listRunnersStatement = statement<{ seenSince: string }, { id: string; seen_at: string }>(
  'SELECT id, seen_at FROM runners WHERE seen_at > :seenSince ORDER BY id',
)
const endUnchangedStatement = statement<ListedRunner>('DELETE FROM runners WHERE id = :id AND seen_at = :seenAt')
const endRunnerStatement = statement<{ runnerId: string }>('DELETE FROM runners WHERE id = :runnerId')
const endWorkersOfOthersStatement = statement<{ runnerId: string }>(
  "DELETE FROM pipe_workers WHERE runner_id <> :runnerId AND state <> 'completed'",
)
const endOthersStatement = statement<{ runnerId: string }>('DELETE FROM runners WHERE id <> :runnerId')
const forgetRunnersStatement = statement<{ before: string }>('DELETE FROM runners WHERE seen_at < :before')
const renewStatement = statement<{ runnerId: string; expiresAt: string }>(
  'UPDATE pipe_workers SET expires_at = :expiresAt WHERE runner_id = :runnerId',
)
const setDoingStatement = statement<Omit<Doing, 'retainedBytes'>>(
  `UPDATE pipe_workers SET doing = :doing, lag_records = :lag, delivered_until = :deliveredUntil
   WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch`,
)
/** Updates only: an insert needs the lock of the organization. A running pipe has a row since its first status report. */
const setRetainedStatement = statement<{ pipeId: string; retainedBytes: number }>(
  'UPDATE pipe_figures SET retained_bytes = :retainedBytes WHERE pipe_id = :pipeId',
)

export type ListedRunner = {
  id: string
  /** Its last report, by its clock. */
  seenAt: string
}

const rememberedRunnersMs = 3_600_000

export async function listRunners(sql: Sql, seenSince: string): Promise<ListedRunner[]> {
  return (await sql.all(listRunnersStatement, { seenSince })).map(({ id, seen_at: seenAt }) => ({ id, seenAt }))
}

export interface RunnerReport {
  runnerId: string
  startedAt: string
  now: string
  expiresAt: string
}

/** Renews all leases of a runner, and returns them. */
export async function reportRunner(sql: Sql, report: RunnerReport): Promise<WorkerLease[]> {
  const { runnerId, startedAt, now, expiresAt } = report
  await sql.run(seeRunnerStatement, { runnerId, startedAt, now })
  await sql.run(renewStatement, { runnerId, expiresAt })
  return (await sql.all(listHeldStatement, { runnerId })).map(({ organization_id, pipe_id, slot, epoch }) => ({
    organizationId: organization_id,
    pipeId: pipe_id,
    workerIndex: slot,
    epoch,
  }))
}

/** Ignored when the worker has lost its lease. */
export async function keepDoing(sql: Sql, doing: Doing): Promise<void> {
  const { retainedBytes, ...values } = doing
  const kept = await sql.run(setDoingStatement, { ...values, doing: storableText(values.doing) })
  // While unknown, the last value stays.
  if (kept > 0 && retainedBytes !== null) await sql.run(setRetainedStatement, { pipeId: values.pipeId, retainedBytes })
  if (kept > 0 && values.deliveredUntil !== null) await keepDelivered(sql, values.pipeId)
}

/** Call when the runner has no workers left. */
export async function endRunner(sql: Sql, runnerId: string): Promise<void> {
  await sql.run(endRunnerStatement, { runnerId })
}

/** Ends the leases of a runner that has died. False, and without effect, when it has reported since. */
export async function endDeadRunner(sql: Sql, { id, seenAt, now }: ListedRunner & { now: string }): Promise<boolean> {
  if ((await sql.run(endUnchangedStatement, { id, seenAt })) === 0) return false
  await sql.run(renewStatement, { runnerId: id, expiresAt: now })
  return true
}

/** Only where no other process can use the database: the holders of leases there have ended without releasing them. */
export async function endOtherRunners(sql: Sql, runnerId: string): Promise<void> {
  await sql.run(endWorkersOfOthersStatement, { runnerId })
  await sql.run(endOthersStatement, { runnerId })
}

/** Removes runners that ended without notice, long after their leases have expired. */
export async function forgetRunners(sql: Sql, { now }: { now: string }): Promise<void> {
  const before = new Date(Date.parse(now) - rememberedRunnersMs).toISOString()
  await sql.run(forgetRunnersStatement, { before })
}
