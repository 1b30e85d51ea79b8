// How many rejected rows a pipe has that are kept now: those that were rejected since, in the days that the engine keeps them for.
// A replay counts them again.
import { type Sql, statement } from '../../database/sql.ts'

const keptDays = 7
const dayMs = 86_400_000

const addStatement = statement<{ pipeId: string; day: string; rejected: number }>(
  `INSERT INTO pipe_rejections (pipe_id, day, rejected) VALUES (:pipeId, :day, :rejected)
   ON CONFLICT (pipe_id, day) DO UPDATE SET rejected = pipe_rejections.rejected + excluded.rejected`,
)
const forgetStatement = statement<{ pipeId: string; firstDay: string }>(
  'DELETE FROM pipe_rejections WHERE pipe_id = :pipeId AND day < :firstDay',
)
const forgetAllStatement = statement<{ pipeId: string }>('DELETE FROM pipe_rejections WHERE pipe_id = :pipeId')

/** Of a pipe in `pipes`. */
export const keptRejectionsText = `(SELECT CAST(coalesce(sum(rejections.rejected), 0) AS bigint)
  FROM pipe_rejections AS rejections WHERE rejections.pipe_id = pipes.id AND rejections.day >= :firstKeptDay)`

/** What was rejected earlier the engine may have removed. */
export function firstKeptDay(now: string): string {
  return dayOf(new Date(Date.parse(now) - (keptDays - 1) * dayMs).toISOString())
}

/** Call with the organization locked. */
export async function addRejections(sql: Sql, pipeId: string, rejected: number, now: string): Promise<void> {
  await sql.run(addStatement, { pipeId, day: dayOf(now), rejected })
  await sql.run(forgetStatement, { pipeId, firstDay: firstKeptDay(now) })
}

/** In place of what was counted before: as the engine has them. Call with the organization locked. */
export async function replaceRejections(sql: Sql, pipeId: string, countByDay: Record<string, number>): Promise<void> {
  await sql.run(forgetAllStatement, { pipeId })
  for (const [day, rejected] of Object.entries(countByDay)) await sql.run(addStatement, { pipeId, day, rejected })
}

const dayOf = (timestamp: string): string => timestamp.slice(0, 10)
