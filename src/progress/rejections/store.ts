// Number of rejected rows of a pipe that the engine still keeps, by day. A replay replaces the numbers.
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

/** For a query on `pipes`. */
export const keptRejectionsText = `(SELECT CAST(coalesce(sum(rejections.rejected), 0) AS bigint)
  FROM pipe_rejections AS rejections WHERE rejections.pipe_id = pipes.id AND rejections.day >= :firstKeptDay)`

/** The engine may have removed rows that were rejected before this day. */
export function firstKeptDay(now: string): string {
  return dayOf(new Date(Date.parse(now) - (keptDays - 1) * dayMs).toISOString())
}

/** Call with the organization locked. */
export async function addRejections(sql: Sql, pipeId: string, rejected: number, now: string): Promise<void> {
  await sql.run(addStatement, { pipeId, day: dayOf(now), rejected })
  await sql.run(forgetStatement, { pipeId, firstDay: firstKeptDay(now) })
}

/** Replaces the stored numbers by those of the engine. Call with the organization locked. */
export async function replaceRejections(sql: Sql, pipeId: string, countByDay: Record<string, number>): Promise<void> {
  await sql.run(forgetAllStatement, { pipeId })
  for (const [day, rejected] of Object.entries(countByDay)) await sql.run(addStatement, { pipeId, day, rejected })
}

const dayOf = (timestamp: string): string => timestamp.slice(0, 10)
