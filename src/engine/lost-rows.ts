// Which rows of a batch an engine has: by what they are known again, and which partitions lack theirs. What must stay true: a batch that is
// there is never taken for one that is not, whatever the table makes of its rows; when in doubt, nobody can tell.
import type { EngineSettings } from './client.ts'
import { type EngineColumn, EngineError, type Insert } from './engine.ts'
import { known } from './insert-settings.ts'
import { listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, parseRows, queryTables, type TableRef } from './side-tables.ts'
import { forgotten, partitionText, type SinkParts } from './staged-insert.ts'

/** Of each partition. A block goes into a partition as a whole or not at all, so a few rows tell of all. */
const sampledRows = 20
/** Of all partitions: what is beyond is believed. */
const mostSamples = 20_000
/** A key that many rows have in common, or none, would have the whole table read. */
const [mostReadRows, mostReadBytes] = [50_000_000, 10_000_000_000]
const readTimeoutMs = 60_000

/** By what rows are known again, as expressions of the columns of the table. */
export interface RowTraits {
  row: string
  /** Of the rows that an insert leaves of those that it has. */
  rowOfStaged: string
  /** Empty, or what the rows that become one have in common. */
  groupBy: string
  /** Empty when it cannot be searched by a key. */
  key: string
}

interface FoundTable {
  sorting_key: string
  engine_full: string
}

interface FoundColumn extends EngineColumn {
  default_kind: string
  is_in_sorting_key: number
}

/** Undefined when nobody can tell. */
export async function loadTraits(
  parts: SinkParts,
  insert: Insert,
  signal: AbortSignal,
): Promise<RowTraits | undefined> {
  const { client, table } = parts
  const where = `database = ${quoteText(table.database)}`
  const ask = async <Row>(text: string): Promise<Row[]> =>
    parseRows<Row>(await queryTables(client, `${text} FORMAT JSONEachRow`, signal))
  const [[found], columns] = await Promise.all([
    ask<FoundTable>(
      `SELECT sorting_key, engine_full FROM system.tables WHERE ${where} AND name = ${quoteText(table.table)}`,
    ),
    ask<FoundColumn>(
      `SELECT name, type, default_kind, is_in_sorting_key FROM system.columns WHERE ${where} AND table = ${quoteText(table.table)}`,
    ),
  ])
  const traits = found && traitsOf(insert, found, columns)
  return traits && !(await hasPolicies(parts, signal)) ? traits : undefined
}

/** Types whose values need not look the same in every part of a table. */
const changeable = /JSON|Object|Dynamic|Variant|AggregateFunction|QBit|Map/

function traitsOf(
  insert: Insert,
  { sorting_key: key, engine_full: engine }: FoundTable,
  columns: FoundColumn[],
): RowTraits | undefined {
  const filled = new Set(insert.columns.map(({ column }) => column))
  // In place of a NULL the engine puts what it makes up each time.
  const isKnown = ({ name, type, default_kind: kind }: FoundColumn): boolean =>
    filled.has(name) && kind === '' && !changeable.test(type)
  const known = new Set(columns.filter(isKnown).map(({ name }) => name))
  const isSearched = key !== '' && columns.every(({ name, is_in_sorting_key: isKey }) => isKey === 0 || known.has(name))
  if (engine.startsWith('Replacing')) return isSearched ? traitsByVersion(engine, key, known) : undefined
  // One that the table has under several names, as it has a Nested column, cannot be moved as it came.
  if (insert.identity === 'none' || !columnsHave(columns, filled)) return undefined
  const names = [...known].filter((name) => insert.identity?.includes(name) ?? true)
  if (names.length === 0) return undefined
  const row = `cityHash64(tuple(${listOf(names)}))`
  return { row, rowOfStaged: row, groupBy: '', key: isSearched ? key : '' }
}

function columnsHave(columns: FoundColumn[], names: ReadonlySet<string>): boolean {
  const there = new Set(columns.map(({ name }) => name))
  return [...names].every((name) => there.has(name))
}

/** Of rows with the same key, an insert leaves one. Without versions nobody knows which, nor whether another came after it. */
function traitsByVersion(engine: string, key: string, known: ReadonlySet<string>): RowTraits | undefined {
  const [, version = ''] = /^ReplacingMergeTree\(`?(\w+)`?[,)]/.exec(engine) ?? []
  if (!known.has(version)) return undefined
  const rowOf = (versionText: string): string => `cityHash64(tuple(${key}, ${versionText}))`
  return { row: rowOf(quoteName(version)), rowOfStaged: rowOf(`max(${quoteName(version)})`), groupBy: key, key }
}

/** They would hide rows, and say nothing of it. Who may not see them most likely has none. */
async function hasPolicies({ client, table }: SinkParts, signal: AbortSignal): Promise<boolean> {
  const tables = `'', ${quoteText(table.table)}`
  const text =
    'SELECT count() AS policies FROM system.row_policies ' +
    `WHERE database = ${quoteText(table.database)} AND table IN (${tables}) FORMAT JSONEachRow`
  const [found] = parseRows<{ policies: string | number }>(
    await client.query(text, { signal }).catch((error: unknown) => {
      if (error instanceof EngineError && error.kind === 'user') return ''
      throw error
    }),
  )
  return Number(found?.policies ?? 0) > 0
}

/** As no column of a user is called. */
interface Sample {
  _penstock_place: string
  _penstock_row: string
}

/** The partitions that lack their rows. */
export async function findMissing(
  parts: SinkParts,
  { row, rowOfStaged, groupBy, key }: RowTraits,
  staged: TableRef,
  signal: AbortSignal,
): Promise<string[]> {
  const { client, table, partitionKey } = parts
  const read = async <Row>(text: string): Promise<Row[]> => {
    const options = { settings: lookSettings(parts), signal, timeoutMs: 2 * readTimeoutMs }
    return parseRows<Row>(await client.query(`${text} FORMAT JSONEachRow`, options))
  }
  const place = partitionText(partitionKey)
  const samples = await read<Sample>(
    `SELECT ${place} AS _penstock_place, toString(${rowOfStaged}) AS _penstock_row FROM ${fullName(staged)} ` +
      (groupBy === '' ? '' : `GROUP BY ${place}, ${groupBy} `) +
      // By their hashes: rows that come first may be alike, such as those that a source begins with each time.
      `ORDER BY ${rowOfStaged} LIMIT ${sampledRows} BY _penstock_place LIMIT ${mostSamples}`,
  )
  if (samples.length === 0) throw forgotten(client)
  const wanted = [...new Set(samples.map((sample) => sample._penstock_row))].join(', ')
  const among = `${row} IN (${wanted})`
  const within = key === '' ? '' : `(${key}) IN (SELECT ${key} FROM ${fullName(staged)} WHERE ${among}) AND `
  const there = await read<Pick<Sample, '_penstock_row'>>(
    `SELECT DISTINCT toString(${row}) AS _penstock_row FROM ${fullName(table)} WHERE ${within}${among}`,
  )
  const found = new Set(there.map((one) => one._penstock_row))
  const byPlace = Map.groupBy(samples, (sample) => sample._penstock_place)
  return [...byPlace].filter(([, some]) => !isThere(some, found)).map(([name]) => name)
}

/** Some rows may be like others that were there before, and some may be gone already, by a TTL. */
function isThere(samples: Sample[], found: ReadonlySet<string>): boolean {
  return 2 * samples.filter((sample) => found.has(sample._penstock_row)).length >= samples.length
}

/** An answer is whole and of now, or an error; whatever the profile of the user says. */
function lookSettings({ capabilities: { hasSetting } }: SinkParts): EngineSettings {
  return known(hasSetting, {
    final: 0,
    transform_null_in: 1,
    use_query_cache: 0,
    max_rows_to_read: mostReadRows,
    max_bytes_to_read: mostReadBytes,
    max_execution_time: readTimeoutMs / 1_000,
    ...Object.fromEntries(
      ['read', 'timeout', 'set', 'distinct', 'result', 'group_by', 'sort'].map((what) => [
        `${what}_overflow_mode`,
        'throw',
      ]),
    ),
  })
}
