// The processes that run pipes. One that has not been seen for a while has ended; its leases end with it.
import { type Sql, statement } from '../../database/sql.ts'
import type { WorkerPlace } from '../store.ts'

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
const setDoingStatement = statement<{ pipeId: string; slot: number; epoch: number; doing: string; lag: number | null }>(
  `UPDATE pipe_workers SET doing = :doing, lag_records = :lag
   WHERE pipe_id = :pipeId AND slot = :slot AND epoch = :epoch`,
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
  /** What has changed since the last report; states are told apart (`tellWorker`). */
  doings: { pipeId: string; slot: number; epoch: number; doing: string; lag: number | null }[]
}

/** Renews all leases of a runner; returns the places that are its own. */
export async function reportRunner(sql: Sql, report: RunnerReport): Promise<WorkerPlace[]> {
  const { runnerId, startedAt, now, expiresAt, doings } = report
  await sql.run(seeRunnerStatement, { runnerId, startedAt, now })
  await sql.run(renewStatement, { runnerId, expiresAt })
  for (const doing of doings) await sql.run(setDoingStatement, doing)
  return (await sql.all(listHeldStatement, { runnerId })).map(({ organization_id, pipe_id, slot, epoch }) => ({
    organizationId: organization_id,
    pipeId: pipe_id,
    slot,
    epoch,
  }))
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
