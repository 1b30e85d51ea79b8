// Adjusts pipes after a restore: engines and sources have moved on since the backup.
import { type Sql, statement } from '../../database/sql.ts'

const stopStatement = statement<{ reason: string; reasonOfPostgres: string }>(
  `UPDATE pipes SET replay_requested_at = NULL,
     state_reason = CASE WHEN kind = 'postgres' THEN CAST(:reasonOfPostgres AS text) ELSE CAST(:reason AS text) END,
     state = CASE WHEN state = 'Completed' THEN state WHEN kind = 'postgres' THEN 'Paused' ELSE 'Stopped' END`,
)
// The replication slot at the source is ahead of the restored position, and tables may have been replaced since.
const reloadStatement = statement<{ now: string }>(
  `UPDATE pipes SET reload_requested_at = :now WHERE kind = 'postgres' AND epoch > 0`,
)
// Engines remember lease epochs from after the backup; new epochs must be greater.
const advanceEpochsStatement = statement<Record<string, never>>(
  'UPDATE pipes SET epoch = epoch + 1000000 WHERE epoch > 0',
)

/** Stops all pipes. Returns the number of pipes. */
export async function settleRestoredPipes(
  sql: Sql,
  { createdAt, now }: { createdAt: string; now: string },
): Promise<number> {
  const restored = `Penstock was restored from a backup of ${createdAt}.`
  await sql.run(reloadStatement, { now })
  await sql.run(advanceEpochsStatement, {})
  return sql.run(stopStatement, {
    reason: `${restored} Rows that the pipe has stored since then are stored again when it is started`,
    reasonOfPostgres: `${restored} All tables of the pipe are loaded again when it is started`,
  })
}
