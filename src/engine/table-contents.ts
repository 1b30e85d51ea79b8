// Table sizes and newest rows, for people who check what has arrived. Read-only.
import type { EngineClient } from './client.ts'
import type { EngineColumn } from './engine.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, parseRows, queryTables, type TableRef } from './side-tables.ts'
import { deletedColumn, isMergeTree, isReplicated } from './table-delivery.ts'

export interface TableSize extends TableRef {
  /** As the engine names it: `MergeTree`, `View`. */
  engine: string
  /** Null when the engine does not count them: views, and tables of other databases. */
  rows: number | null
  /** Compressed, on disk. */
  bytes: number | null
}

export interface NewestRows {
  columns: EngineColumn[]
  /** As texts, in the order of the columns; null is NULL. */
  rows: (string | null)[][]
  /** Whether a value was too long and is shortened. */
  isCut: boolean
}

/** Bytes of the values in one answer, before escaping. */
const maxBytes = 1_048_576
const maxValueBytes = 10_000
/** A table with very many columns is read with fewer rows, not with shorter values. */
const minValueBytes = 16
/** Of a copy, for each row to return: deleted rows and older versions are left out. */
const versionsPerRow = 20
/** A table that gets many small inserts has many parts. */
const maxParts = 50

interface TableLine extends TableRef {
  engine: string
  engineFull: string
  sortingKey: string
}

/** Tables of one database, or of all user databases; ordered by name. Tables that do not exist are left out. */
export async function listTableSizes(
  client: EngineClient,
  { database, tables, limit }: { database?: string; tables?: string[]; limit: number },
  signal: AbortSignal,
): Promise<TableSize[]> {
  const where = (nameColumn: string): string =>
    [
      database === undefined
        ? "database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA', '')"
        : `database = ${quoteText(database)}`,
      ...(tables ? [`${nameColumn} IN (${tables.map(quoteText).join(', ')})`] : []),
    ].join(' AND ')
  const found = await queryTables(
    client,
    `SELECT database, name AS table, engine FROM system.tables WHERE ${where('name')} ` +
      `ORDER BY database, table LIMIT ${limit} FORMAT JSONEachRow`,
    signal,
  )
  const parts = await client.query(
    'SELECT database, table, sum(rows) AS rowCount, sum(bytes_on_disk) AS byteCount FROM system.parts ' +
      `WHERE active AND ${where('table')} GROUP BY database, table FORMAT JSONEachRow`,
    { signal, settings: readSettings },
  )
  const sizes = new Map(
    parseRows<TableRef & { rowCount: string; byteCount: string }>(parts).map((line) => [fullName(line), line]),
  )
  return parseRows<TableRef & { engine: string }>(found).map((line) => {
    const size = sizes.get(fullName(line))
    const none = isMergeTree(line.engine) ? 0 : null
    return { ...line, rows: size ? Number(size.rowCount) : none, bytes: size ? Number(size.byteCount) : none }
  })
}

/**
 * The rows of the parts that were written last, by the version column of a ReplacingMergeTree or else by the sorting key, highest
 * first; of a copy, the newest versions of rows that are not deleted. Undefined when the table does not exist.
 */
export async function readNewestRows(
  client: EngineClient,
  table: TableRef,
  { limit, timeoutMs }: { limit: number; timeoutMs: number },
  signal: AbortSignal,
): Promise<NewestRows | undefined> {
  const [line] = parseRows<TableLine>(
    await queryTables(
      client,
      'SELECT database, name AS table, engine, engine_full AS engineFull, sorting_key AS sortingKey FROM system.tables ' +
        `WHERE database = ${quoteText(table.database)} AND name = ${quoteText(table.table)} FORMAT JSONEachRow`,
      signal,
    ),
  )
  if (!line) return undefined
  const columns = await listReadable(client, table, signal)
  if (columns.length === 0) return { columns, rows: [], isCut: false }
  const maxRows = Math.max(1, Math.min(limit, Math.floor(maxBytes / (minValueBytes * columns.length))))
  const valueBytes = Math.max(minValueBytes, Math.min(maxValueBytes, Math.floor(maxBytes / (maxRows * columns.length))))
  const values = columns.map(({ name }) => `substring(toString(${quoteName(name)}), 1, ${valueBytes + 1})`)
  const version = versionOf(line, columns)
  const copy = version !== undefined && line.sortingKey !== '' && columns.some(({ name }) => name === deletedColumn)
  const rowsToRead = copy ? maxRows * versionsPerRow : maxRows
  const parts = isMergeTree(line.engine) ? await listNewestParts(client, line, rowsToRead, signal) : undefined
  const from = `${fullName(table)}${parts ? ` WHERE _part IN (${parts.map(quoteText).join(', ')})` : ''}`
  const text = copy
    ? newestVersionsText(line, { values, version, from, rowsToRead, maxRows })
    : `SELECT ${values.join(', ')} FROM ${from}${orderOf(line, columns, version)} LIMIT ${maxRows}`
  const answer = await client.query(`${text} FORMAT JSONCompact`, {
    signal,
    settings: { ...readSettings, max_execution_time: Math.ceil(timeoutMs / 1000) },
  })
  let isCut = false
  const shorten = (value: string | null): string | null => {
    if (value === null || Buffer.byteLength(value) <= valueBytes) return value
    isCut = true
    // A character that was cut in half has become U+FFFD.
    return Buffer.from(value)
      .subarray(0, valueBytes)
      .toString('utf8')
      .replace(/\uFFFD$/, '')
  }
  const { data } = JSON.parse(answer) as { data: (string | null)[][] }
  return { columns, rows: data.map((row) => row.map(shorten)), isCut }
}

/** Read-only whatever the user may do; other settings can still be sent. */
const readSettings = { readonly: 2 }

/** Columns without AggregateFunction, whose states have no text. */
async function listReadable(client: EngineClient, table: TableRef, signal: AbortSignal): Promise<EngineColumn[]> {
  const answer = await client.query(
    `SELECT name, type FROM system.columns WHERE database = ${quoteText(table.database)} ` +
      `AND table = ${quoteText(table.table)} FORMAT JSONEachRow`,
    { signal, settings: readSettings },
  )
  return parseRows<EngineColumn>(answer).filter(({ type }) => !type.startsWith('AggregateFunction('))
}

/** The newest parts that hold `limit` rows. A part that is merged before it is read is missed until the next call. */
async function listNewestParts(
  client: EngineClient,
  { database, table, engine }: TableLine,
  limit: number,
  signal: AbortSignal,
): Promise<string[]> {
  // Replicated tables number the blocks of each partition on their own.
  const newest = isReplicated(engine) ? 'modification_time DESC, max_block_number DESC' : 'max_block_number DESC'
  const answer = await client.query(
    `SELECT name, rows FROM system.parts WHERE active AND database = ${quoteText(database)} ` +
      `AND table = ${quoteText(table)} ORDER BY ${newest} LIMIT ${maxParts} FORMAT JSONEachRow`,
    { signal, settings: readSettings },
  )
  const parts: string[] = []
  let rows = 0
  for (const part of parseRows<{ name: string; rows: string }>(answer)) {
    if (rows >= limit) break
    parts.push(part.name)
    rows += Number(part.rows)
  }
  // ClickHouse rejects an empty list.
  return parts.length > 0 ? parts : ['']
}

/**
 * Leaves deleted rows and older versions out without FINAL, which reads whole parts: a newer version of a row that is read has a higher
 * version, so it is read, too.
 */
function newestVersionsText(
  { sortingKey }: TableLine,
  read: { values: string[]; version: string; from: string; rowsToRead: number; maxRows: number },
): string {
  const names = read.values.map((_, index) => `_penstock_value_${index}`)
  const values = read.values.map((value, index) => `${value} AS ${names[index]}`)
  const [byVersion, deleted] = [` ORDER BY ${quoteName(read.version)} DESC`, quoteName(deletedColumn)]
  const needed = `tuple(${sortingKey}) AS _penstock_key, ${quoteName(read.version)}, ${deleted}`
  const newest = `SELECT ${values.join(', ')}, ${needed} FROM ${read.from}${byVersion} LIMIT ${read.rowsToRead}`
  const once = `SELECT * FROM (${newest})${byVersion} LIMIT 1 BY _penstock_key`
  return `SELECT ${names.join(', ')} FROM (${once}) WHERE ${deleted} = 0${byVersion} LIMIT ${read.maxRows}`
}

function versionOf({ engineFull }: TableLine, columns: EngineColumn[]): string | undefined {
  const version = /^(?:Replicated)?ReplacingMergeTree\(([^()]*)\)/.exec(engineFull)?.[1]?.split(', ')
  return columns.find(({ name }) => version?.includes(name) || version?.includes(quoteName(name)))?.name
}

function orderOf({ sortingKey }: TableLine, columns: EngineColumn[], version: string | undefined): string {
  if (version !== undefined) return ` ORDER BY ${quoteName(version)} DESC`
  // An expression is not ordered by: the engine would read the whole table.
  const names = sortingKey.split(', ')
  const isPlain = names.every((name) => columns.some((column) => column.name === name))
  return isPlain ? ` ORDER BY ${names.map((name) => `${quoteName(name)} DESC`).join(', ')}` : ''
}
