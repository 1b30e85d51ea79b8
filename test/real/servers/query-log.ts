// Queries of an old ClickHouse, read from its query log.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineServer, LoggedQuery } from './engine.ts'

/** Timeout until the log has the last query, on a busy machine. */
const logTimeoutMs = 60_000
/** Timeout for the ends of earlier queries: queries of a killed engine have none. */
const endTimeoutMs = 5_000

/**
 * Waits for the log: the end of a query is logged after its answer, and `SYSTEM FLUSH LOGS` can return with the end of an earlier
 * flush. Entries keep their order, so all earlier queries are there when a new one is.
 */
export async function readQueryLog(query: EngineServer['query'], containing: string): Promise<LoggedQuery[]> {
  const deadlineMs = Date.now() + logTimeoutMs
  let isThereAtMs: number | undefined
  const last = `SELECT '${randomUUID()}'`
  await query(last)
  while (true) {
    const rows = await readLog(query, containing, last)
    const ended = rows.filter(({ type }) => type !== begunType)
    if (rows.some((row) => row.query === last)) isThereAtMs ??= Date.now()
    const hasEnded = rows.every(({ id }) => ended.some((row) => row.id === id))
    if (isThereAtMs !== undefined && (hasEnded || Date.now() > isThereAtMs + endTimeoutMs))
      return ended.filter((row) => row.query !== last).map(readLoggedQuery)
    if (isThereAtMs === undefined && Date.now() > deadlineMs)
      throw new Error(`what was asked is not in the log of queries after ${logTimeoutMs} ms`)
    await sleep(50)
  }
}

interface LogRow extends Pick<LoggedQuery, 'query' | 'exception'> {
  id: string
  type: number
  names: string[]
  values: string[]
  writtenRows: string
}

const begunType = 1

async function readLog(query: EngineServer['query'], containing: string, last: string): Promise<LogRow[]> {
  await query('SYSTEM FLUSH LOGS')
  const [text, lastText] = [containing, last].map((part) => part.replaceAll('\\', '\\\\').replaceAll("'", "\\'"))
  // This query is in the log too.
  const log = await query(`
    SELECT query_id AS id, toInt8(type) AS type, query, Settings.Names AS names, Settings.Values AS values,
      toString(written_rows) AS writtenRows, exception
    FROM system.query_log
    WHERE (position(query, '${text}') > 0 OR query = '${lastText}') AND position(query, 'system.query_log') = 0
    ORDER BY event_time
    FORMAT JSONEachRow`)
  const lines = log.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line))
}

function readLoggedQuery({ query, names, values, writtenRows, exception }: LogRow): LoggedQuery {
  const settings = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
  return { query, settings, writtenRows: Number(writtenRows), exception }
}
