// What the API reads of the progress of pipes. Its writers are the runner's (../store.ts).
import { type Sql, statement } from '../../database/sql.ts'
import type { PipeKey } from '../../pipes/store.ts'

/** What has been counted of a pipe since it was created. */
export interface PipeCounters {
  rowsRead: number
  bytesRead: number
  rowsWritten: number
  bytesWritten: number
  rowsRefused: number
  inserts: number
  retries: number
}

export interface PipeProgress extends PipeCounters {
  stateReason: string | null
  replayRequestedAt: string | null
  delivery: 'exactly_once' | 'at_least_once' | null
  deliveryReason: string | null
  retainedBytes: number | null
  lastInsertAt: string | null
  deliveredUntil: string | null
  lastError: string | null
  lastErrorAt: string | null
}

export interface WorkerProgress {
  slot: number
  doing: string
  lag: number | null
}

export interface MinuteCounters {
  minute: string
  rowsRead: number
  bytesRead: number
  rowsWritten: number
  rowsRefused: number
}

/** From `pipe_figures AS figures`, joined to a pipe; one that has never run has no row. */
export const countedText = `coalesce(figures.rows_read, 0) AS "rowsRead", coalesce(figures.bytes_read, 0) AS "bytesRead",
  coalesce(figures.rows_written, 0) AS "rowsWritten", coalesce(figures.bytes_written, 0) AS "bytesWritten",
  coalesce(figures.rows_refused, 0) AS "rowsRefused", coalesce(figures.inserts, 0) AS inserts,
  coalesce(figures.retries, 0) AS retries`
const ofPipe = 'WHERE pipes.id = :pipeId AND pipes.service_id = :serviceId AND pipes.organization_id = :organizationId'

const progressStatement = statement<PipeKey, PipeProgress>(
  `SELECT pipes.state_reason AS "stateReason", pipes.replay_requested_at AS "replayRequestedAt", ${countedText},
     figures.delivery, figures.delivery_reason AS "deliveryReason", figures.last_insert_at AS "lastInsertAt",
     figures.delivered_until AS "deliveredUntil",
     figures.retained_bytes AS "retainedBytes", figures.last_error AS "lastError", figures.last_error_at AS "lastErrorAt"
   FROM pipes LEFT JOIN pipe_figures AS figures ON figures.pipe_id = pipes.id ${ofPipe}`,
)
const workersStatement = statement<PipeKey & { now: string }, WorkerProgress>(
  `SELECT workers.slot, workers.doing, workers.lag_records AS lag
   FROM pipes JOIN pipe_workers AS workers ON workers.pipe_id = pipes.id ${ofPipe} AND workers.expires_at > :now
   ORDER BY workers.slot`,
)
const minutesStatement = statement<PipeKey & { since: string }, MinuteCounters>(
  `SELECT minutes.minute, minutes.rows_read AS "rowsRead", minutes.bytes_read AS "bytesRead",
     minutes.rows_written AS "rowsWritten", minutes.rows_refused AS "rowsRefused"
   FROM pipes JOIN pipe_throughput AS minutes ON minutes.pipe_id = pipes.id ${ofPipe} AND minutes.minute >= :since
   ORDER BY minutes.minute`,
)
const requestReplayStatement = statement<PipeKey & { now: string }>(
  `UPDATE pipes SET replay_requested_at = :now
   WHERE id = :pipeId AND service_id = :serviceId AND organization_id = :organizationId
     AND replay_requested_at IS NULL`,
)

export async function findProgress(sql: Sql, key: PipeKey): Promise<PipeProgress | undefined> {
  return sql.first(progressStatement, key)
}

/** Those that hold their place now. */
export async function listWorkers(sql: Sql, key: PipeKey, now: string): Promise<WorkerProgress[]> {
  return sql.all(workersStatement, { ...key, now })
}

/** The oldest first. */
export async function listMinutes(sql: Sql, key: PipeKey, since: string): Promise<MinuteCounters[]> {
  return sql.all(minutesStatement, { ...key, since })
}

/** Tells whether it is news: one that is waiting stays as it is. */
export async function requestReplay(sql: Sql, key: PipeKey, now: string): Promise<boolean> {
  return (await sql.run(requestReplayStatement, { ...key, now })) > 0
}
