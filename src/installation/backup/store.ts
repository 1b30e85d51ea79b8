// What is different in a database that was restored: engines and sources have gone on since the backup, and pipes do not know it.
import { type Sql, statement } from '../../database/sql.ts'

const stopStatement = statement<{ reason: string; reasonOfPostgres: string }>(
  `UPDATE pipes SET replay_requested_at = NULL,
     state_reason = CASE WHEN kind = 'postgres' THEN CAST(:reasonOfPostgres AS text) ELSE CAST(:reason AS text) END,
     state = CASE WHEN state = 'Completed' THEN state WHEN kind = 'postgres' THEN 'Paused' ELSE 'Stopped' END`,
)
// The slot at the source is ahead of what is known of it here, and a table may have taken the place of another since.
const reloadStatement = statement<{ now: string }>(
  `UPDATE pipes SET reload_requested_at = :now WHERE kind = 'postgres' AND epoch > 0`,
)
// Engines remember the claims of workers since the backup; what comes now must be later than all of them.
const countClaimsOnStatement = statement<Record<string, never>>(
  'UPDATE pipes SET epoch = epoch + 1000000 WHERE epoch > 0',
)

/** Nothing runs by itself. Returns how many pipes there are. */
export async function settleRestoredPipes(
  sql: Sql,
  { createdAt, now }: { createdAt: string; now: string },
): Promise<number> {
  const restored = `Penstock was restored from a backup of ${createdAt}.`
  await sql.run(reloadStatement, { now })
  await sql.run(countClaimsOnStatement, {})
  return sql.run(stopStatement, {
    reason: `${restored} Rows that the pipe has stored since then are stored again when it is started`,
    reasonOfPostgres: `${restored} All tables of the pipe are loaded again when it is started`,
  })
}
