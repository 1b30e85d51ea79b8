// Load progress of the tables of a postgres pipe. As in ../store.ts, a worker writes only while it holds its lease, and a write that is
// repeated after an unknown outcome has no effect.
import { type Sql, statement } from '../../database/sql.ts'
import type { CounterChanges } from '../pipe-counters.ts'
import { addCounters, lockLease, type WorkerLease } from '../store.ts'
import { fromKept, toKept } from '../texts.ts'
import type { StoredTable, TableRange } from './stored-table.ts'

type TableKey = { pipeId: string; targetTable: string }

type TableRow = Omit<StoredTable, 'columns' | 'shape'> & { columns: string; shape: string | null }

/** Load progress of a table, for the API. */
export type TableProgress = Pick<
  StoredTable,
  | 'targetTable'
  | 'sourceSchemaName'
  | 'sourceTable'
  | 'replaces'
  | 'phase'
  | 'rowsEstimated'
  | 'rowsLoaded'
  | 'rangeCount'
  | 'rangesDone'
  | 'loadStartedAt'
>

const progressText = `target_table AS "targetTable", source_schema AS "sourceSchemaName", source_table AS "sourceTable",
  replaces, phase, rows_estimated AS "rowsEstimated", rows_loaded AS "rowsLoaded", range_count AS "rangeCount",
  ranges_done AS "rangesDone", load_started_at AS "loadStartedAt"`
const ofTable = 'WHERE pipe_id = :pipeId AND target_table = :targetTable'

const listStatement = statement<{ pipeId: string }, TableRow>(
  `SELECT ${progressText}, source_id AS "sourceId", coverage, mapping_digest AS "mappingDigest", load_id AS "loadId", pipe_tables.reload_requested_at AS "reloadRequestedAt", begin_lsn AS "beginLsn", columns, shape,
     truncated_version AS "truncatedVersion", load_ended_at AS "loadEndedAt"
   FROM pipe_tables WHERE pipe_id = :pipeId ORDER BY target_table`,
)
const listProgressStatement = statement<{ pipeId: string }, TableProgress>(
  `SELECT ${progressText} FROM pipe_tables WHERE pipe_id = :pipeId ORDER BY target_table`,
)
/** Keeps the planned and completed ranges of the same load; resets them for another load. */
const ofOtherLoad = (column: string): string =>
  `${column} = CASE WHEN pipe_tables.load_id = excluded.load_id THEN pipe_tables.${column} ELSE excluded.${column} END`
const saveStatement = statement<TableRow & { pipeId: string }>(
  `INSERT INTO pipe_tables (pipe_id, target_table, source_schema, source_table, source_id, coverage, replaces, mapping_digest, load_id,
     reload_requested_at, begin_lsn, phase, columns, shape, truncated_version, rows_estimated, rows_loaded, range_count, ranges_done,
     load_started_at, load_ended_at)
   VALUES (:pipeId, :targetTable, :sourceSchemaName, :sourceTable, :sourceId, :coverage, :replaces, :mappingDigest, :loadId, :reloadRequestedAt,
     :beginLsn, :phase, :columns, :shape, :truncatedVersion, :rowsEstimated, :rowsLoaded, :rangeCount, :rangesDone, :loadStartedAt, :loadEndedAt)
   ON CONFLICT (pipe_id, target_table) DO UPDATE SET source_schema = excluded.source_schema,
     source_table = excluded.source_table, source_id = excluded.source_id, coverage = excluded.coverage, replaces = excluded.replaces, mapping_digest = excluded.mapping_digest,
     load_id = excluded.load_id, reload_requested_at = excluded.reload_requested_at, begin_lsn = excluded.begin_lsn, phase = excluded.phase, columns = excluded.columns, shape = excluded.shape,
     truncated_version = excluded.truncated_version, load_ended_at = excluded.load_ended_at,
     ${['rows_estimated', 'rows_loaded', 'range_count', 'ranges_done', 'load_started_at'].map(ofOtherLoad).join(', ')}`,
)
const listRivalsStatement = statement<TableKey, { name: string; destination: string }>(
  `SELECT DISTINCT pipes.name, pipes.destination FROM pipe_tables
   JOIN pipes ON pipes.id = pipe_tables.pipe_id
   JOIN pipes own ON own.service_id = pipes.service_id AND own.id = :pipeId
   WHERE pipes.id <> own.id AND COALESCE(pipe_tables.replaces, pipe_tables.target_table) = :targetTable
   ORDER BY pipes.name LIMIT 100`,
)
const findReloadRequestStatement = statement<{ pipeId: string }, { requestedAt: string | null }>(
  'SELECT reload_requested_at AS "requestedAt" FROM pipes WHERE id = :pipeId',
)
const requestReloadStatement = statement<{ organizationId: string; pipeId: string; now: string }>(
  'UPDATE pipes SET reload_requested_at = :now WHERE id = :pipeId AND organization_id = :organizationId',
)
const keepStatement = statement<TableKey & { now: string }>(
  `UPDATE pipe_tables SET reload_requested_at = :now, begin_lsn = '0/0', coverage = NULL ${ofTable}`,
)
const removeStatement = statement<TableKey>(`DELETE FROM pipe_tables ${ofTable}`)
const planStatement = statement<TableKey & { rowsEstimated: number | null; rangeCount: number; now: string }>(
  `UPDATE pipe_tables SET rows_estimated = :rowsEstimated, rows_loaded = 0, range_count = :rangeCount, ranges_done = 0,
     load_started_at = :now, load_ended_at = NULL ${ofTable}`,
)
const removeRangesStatement = statement<TableKey>(`DELETE FROM pipe_table_ranges ${ofTable}`)
const listRangesStatement = statement<TableKey, TableRange>(
  `SELECT number, range FROM pipe_table_ranges ${ofTable} ORDER BY number`,
)
const finishRangeStatement = statement<TableKey & { number: number }>(
  `DELETE FROM pipe_table_ranges ${ofTable} AND number = :number`,
)
const countRangeStatement = statement<TableKey & { rows: number }>(
  `UPDATE pipe_tables SET rows_loaded = rows_loaded + :rows, ranges_done = ranges_done + 1 ${ofTable}`,
)
const replacedStatement = statement<TableKey, { replaces: string | null }>(
  `SELECT replaces FROM pipe_tables ${ofTable} FOR UPDATE`,
)
const swapStatement = statement<TableKey>(
  `UPDATE pipe_tables SET target_table = replaces, replaces = NULL, phase = 'following' ${ofTable}`,
)

/** Many ranges per statement: large tables have tens of thousands, and the organization is locked while they are written. */
const suffixes = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
const addRangesText = (rows: string[]): string =>
  `INSERT INTO pipe_table_ranges (pipe_id, target_table, number, range)
   VALUES ${rows.map((row) => `(:pipeId, :targetTable, :number${row}, :range${row})`).join(', ')}`
type RangeValues = TableKey & Record<string, string | number>
const addRangeStatement = statement<RangeValues>(addRangesText(suffixes.slice(0, 1)))
const addRangesStatement = statement<RangeValues>(addRangesText(suffixes))

/** Of the whole pipe. */
export async function listTables(sql: Sql, pipeId: string): Promise<StoredTable[]> {
  return (await sql.all(listStatement, { pipeId })).map(({ columns, shape, ...row }) => ({
    ...row,
    columns: JSON.parse(columns) as StoredTable['columns'],
    shape: shape === null ? null : (JSON.parse(shape) as StoredTable['shape']),
  }))
}

/** Of the whole pipe. */
export async function listTableProgress(sql: Sql, pipeId: string): Promise<TableProgress[]> {
  return sql.all(listProgressStatement, { pipeId })
}

/** The ranges that are not loaded yet, in order. */
export async function listRanges(sql: Sql, key: TableKey): Promise<TableRange[]> {
  return (await sql.all(listRangesStatement, key)).map(({ number, range }) => ({ number, range: fromKept(range) }))
}

export interface TableToSave {
  lease: WorkerLease
  table: StoredTable
}

export async function saveTable(sql: Sql, { lease, table }: TableToSave): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  const [columns, shape] = [JSON.stringify(table.columns), table.shape && JSON.stringify(table.shape)]
  await sql.run(saveStatement, { ...table, pipeId: lease.pipeId, columns, shape })
  return true
}

/** Other pipes of the service that fill a table of this name, with their databases. */
export async function listRivals(sql: Sql, key: TableKey): Promise<{ name: string; database: string }[]> {
  const rows = await sql.all(listRivalsStatement, key)
  return rows.map(({ name, destination }) => {
    const { database } = JSON.parse(destination) as { database: string }
    return { name, database }
  })
}

/** Time of the last reload request. */
export async function findReloadRequest(sql: Sql, pipeId: string): Promise<string | null> {
  return (await sql.first(findReloadRequestStatement, { pipeId }))?.requestedAt ?? null
}

/** Requests a reload of all tables. Call with the pipe locked. */
export async function requestReload(
  sql: Sql,
  request: { organizationId: string; pipeId: string; now: string },
): Promise<void> {
  await sql.run(requestReloadStatement, request)
}

/** Requested by a worker that has lost unread changes. The tables in `kept` are not reloaded, and get all later changes. */
export async function requestOwnReload(
  sql: Sql,
  { lease, kept, now }: { lease: WorkerLease; kept: string[]; now: string },
): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  const { organizationId, pipeId } = lease
  await requestReload(sql, { organizationId, pipeId, now })
  for (const targetTable of kept) await sql.run(keepStatement, { pipeId, targetTable, now })
  return true
}

export interface TableToRemove {
  lease: WorkerLease
  targetTable: string
}

export async function removeTable(sql: Sql, { lease, targetTable }: TableToRemove): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  await sql.run(removeStatement, { pipeId: lease.pipeId, targetTable })
  return true
}

export interface LoadToPlan {
  lease: WorkerLease
  targetTable: string
  ranges: TableRange[]
  rowsEstimated: number | null
  now: string
}

export async function planLoad(sql: Sql, plan: LoadToPlan): Promise<boolean> {
  const { lease, targetTable, ranges, rowsEstimated, now } = plan
  if (!(await lockLease(sql, lease))) return false
  const key = { pipeId: lease.pipeId, targetTable }
  await sql.run(removeRangesStatement, key)
  await sql.run(planStatement, { ...key, rowsEstimated, rangeCount: ranges.length, now })
  const whole = ranges.length - (ranges.length % suffixes.length)
  for (let from = 0; from < whole; from += suffixes.length) {
    await sql.run(addRangesStatement, rangeValues(key, ranges.slice(from, from + suffixes.length)))
  }
  for (const range of ranges.slice(whole)) await sql.run(addRangeStatement, rangeValues(key, [range]))
  return true
}

function rangeValues(key: TableKey, ranges: TableRange[]): RangeValues {
  const values: RangeValues = { ...key }
  for (const [index, { number, range }] of ranges.entries()) {
    values[`number${suffixes[index]}`] = number
    values[`range${suffixes[index]}`] = toKept(range)
  }
  return values
}

export interface RangeToFinish {
  lease: WorkerLease
  targetTable: string
  number: number
  rows: number
  counters: CounterChanges
  now: string
}

export async function finishRange(sql: Sql, change: RangeToFinish): Promise<boolean> {
  const { lease, targetTable, number, rows, counters, now } = change
  if (!(await lockLease(sql, lease))) return false
  const key = { pipeId: lease.pipeId, targetTable }
  if ((await sql.run(finishRangeStatement, { ...key, number })) === 0) return true
  await sql.run(countRangeStatement, { ...key, rows })
  await addCounters(sql, lease.pipeId, counters, now)
  return true
}

export interface SwapToFinish {
  lease: WorkerLease
  shadowTable: string
}

export async function finishSwap(sql: Sql, { lease, shadowTable }: SwapToFinish): Promise<boolean> {
  if (!(await lockLease(sql, lease))) return false
  const { pipeId } = lease
  const shadow = { pipeId, targetTable: shadowTable }
  const replaces = (await sql.first(replacedStatement, shadow))?.replaces
  // Done already by an earlier attempt.
  if (replaces === undefined || replaces === null) return true
  await sql.run(removeStatement, { pipeId, targetTable: replaces })
  await sql.run(removeRangesStatement, shadow)
  await sql.run(swapStatement, shadow)
  return true
}
