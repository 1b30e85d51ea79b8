// The processes that run pipes. One that has not been seen for a while has ended; its leases end with it.
import { type Sql, statement } from '../../database/sql.ts'
import { keepDelivered, type WorkerLease } from '../store.ts'
import { tellable } from '../texts.ts'
import type { ToldStatus } from '../workers/store.ts'

/** What a worker does; its state is told apart (`tellWorker`). */
export type Doing = { pipeId: string; slot: number; epoch: number } & Pick<
  ToldStatus,
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
const listRunnersStatement = statement<{ seenSince: string }, { id: string }>(
  'SELECT id FROM runners WHERE seen_at > :seenSince ORDER BY id',
)
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
/** Only where there are figures: to add them takes the lock of the organization. A pipe that runs has them, with its delivery. */
const setRetainedStatement = statement<{ pipeId: string; retainedBytes: number }>(
  'UPDATE pipe_figures SET retained_bytes = :retainedBytes WHERE pipe_id = :pipeId',
)

const rememberedRunnersMs = 3_600_000

export async function listRunners(sql: Sql, seenSince: string): Promise<string[]> {
  return (await sql.all(listRunnersStatement, { seenSince })).map(({ id }) => id)
}

export interface RunnerReport {
  runnerId: string
  startedAt: string
  now: string
  expiresAt: string
}

/** Renews all leases of a runner; returns the places that are its own. */
export async function reportRunner(sql: Sql, report: RunnerReport): Promise<WorkerLease[]> {
  const { runnerId, startedAt, now, expiresAt } = report
  await sql.run(seeRunnerStatement, { runnerId, startedAt, now })
  await sql.run(renewStatement, { runnerId, expiresAt })
  return (await sql.all(listHeldStatement, { runnerId })).map(({ organization_id, pipe_id, slot, epoch }) => ({
    organizationId: organization_id,
    pipeId: pipe_id,
    slot,
    epoch,
  }))
}

/** Of a worker that has lost its place, nothing is kept. */
export async function keepDoing(sql: Sql, doing: Doing): Promise<void> {
  const { retainedBytes, ...told } = doing
  const kept = await sql.run(setDoingStatement, { ...told, doing: tellable(told.doing) })
  // While nobody knows, what was known last stays.
  if (kept > 0 && retainedBytes !== null) await sql.run(setRetainedStatement, { pipeId: told.pipeId, retainedBytes })
  if (kept > 0 && told.deliveredUntil !== null) await keepDelivered(sql, told.pipeId)
}

/** It has no workers any more. */
export async function endRunner(sql: Sql, runnerId: string): Promise<void> {
  await sql.run(endRunnerStatement, { runnerId })
}

/** Only where no other process can be on the database: whoever has places there has ended without giving them back. */
export async function endOtherRunners(sql: Sql, runnerId: string): Promise<void> {
  await sql.run(endWorkersOfOthersStatement, { runnerId })
  await sql.run(endOthersStatement, { runnerId })
}

/** Those that have ended without a word, long after everyone else has taken their places. */
export async function forgetRunners(sql: Sql, { now }: { now: string }): Promise<void> {
  const before = new Date(Date.parse(now) - rememberedRunnersMs).toISOString()
  await sql.run(forgetRunnersStatement, { before })
}
