// Progress of pipes as the API reads it. The runner writes it (../store.ts).
import { type Sql, statement } from '../../database/sql.ts'
import type { PipeCounters } from '../pipe-counters.ts'
import type { PipeKey } from '../progress.ts'

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

/** From `pipe_figures AS counters`, joined to a pipe; one that has never run has no row. */
export const countedText = `coalesce(counters.rows_read, 0) AS "rowsRead", coalesce(counters.bytes_read, 0) AS "bytesRead",
  coalesce(counters.rows_written, 0) AS "rowsWritten", coalesce(counters.bytes_written, 0) AS "bytesWritten",
  coalesce(counters.rows_refused, 0) AS "rowsRefused", coalesce(counters.inserts, 0) AS inserts,
  coalesce(counters.retries, 0) AS retries`
const ofPipe = 'WHERE pipes.id = :pipeId AND pipes.service_id = :serviceId AND pipes.organization_id = :organizationId'

const progressStatement = statement<PipeKey, PipeProgress>(
  `SELECT pipes.state_reason AS "stateReason", pipes.replay_requested_at AS "replayRequestedAt", ${countedText},
     counters.delivery, counters.delivery_reason AS "deliveryReason", counters.last_insert_at AS "lastInsertAt",
     counters.delivered_until AS "deliveredUntil",
     counters.retained_bytes AS "retainedBytes", counters.last_error AS "lastError", counters.last_error_at AS "lastErrorAt"
   FROM pipes LEFT JOIN pipe_figures AS counters ON counters.pipe_id = pipes.id ${ofPipe}`,
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

/** Workers whose lease has not expired. */
export async function listWorkers(sql: Sql, key: PipeKey, now: string): Promise<WorkerProgress[]> {
  return sql.all(workersStatement, { ...key, now })
}

/** The oldest first. */
export async function listMinutes(sql: Sql, key: PipeKey, since: string): Promise<MinuteCounters[]> {
  return sql.all(minutesStatement, { ...key, since })
}

/** False when a replay is already waiting. */
export async function requestReplay(sql: Sql, key: PipeKey, now: string): Promise<boolean> {
  return (await sql.run(requestReplayStatement, { ...key, now })) > 0
}
