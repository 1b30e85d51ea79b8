// Finds partitions whose rows of a batch were lost. Invariant: a batch that is in the table is never taken for a lost one, whatever the
// table does with its rows; in case of doubt, the result is undefined.
import type { EngineSettings } from './client.ts'
import { type EngineColumn, EngineError, type Insert } from './engine.ts'
import { known } from './insert-settings.ts'
import { listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, parseRows, queryTables, type TableRef } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { partitionText, stagedRowsLost } from './staged-insert.ts'

/** Sample size per partition. A part is written completely or not at all, so a few rows stand for all. */
const sampledRows = 20
/** Sample size of all partitions; partitions beyond it are assumed to be complete. */
const mostSamples = 20_000
/** Limits the read: a key shared by many rows, or no key, could read the whole table. */
const [mostReadRows, mostReadBytes] = [50_000_000, 10_000_000_000]
const readTimeoutMs = 60_000

/** How rows are identified, as expressions of the table's columns. */
export interface RowTraits {
  row: string
  /** Identity of the rows that remain of the staged rows after the insert. */
  rowOfStaged: string
  /** Empty, or the key of rows that are merged into one. */
  groupBy: string
  /** Empty when rows cannot be found by the sorting key. */
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

/** Undefined when rows cannot be identified. */
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

/** Types whose values may look different in different parts of a table. */
const changeable = /JSON|Object|Dynamic|Variant|AggregateFunction|QBit|Map/

function traitsOf(
  insert: Insert,
  { sorting_key: key, engine_full: engine }: FoundTable,
  columns: FoundColumn[],
): RowTraits | undefined {
  const filled = new Set(insert.columns.map(({ column }) => column))
  // Excludes columns with defaults: for NULL, ClickHouse evaluates the default at each insert.
  const isKnown = ({ name, type, default_kind: kind }: FoundColumn): boolean =>
    filled.has(name) && kind === '' && !changeable.test(type)
  const known = new Set(columns.filter(isKnown).map(({ name }) => name))
  const isSearched = key !== '' && columns.every(({ name, is_in_sorting_key: isKey }) => isKey === 0 || known.has(name))
  if (engine.startsWith('Replacing')) return isSearched ? traitsByVersion(engine, key, known) : undefined
  // Excludes Nested: its columns have other names than the field and cannot be moved unchanged.
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

/**
 * An insert keeps one of the rows with the same key. Without a version column it is unknown which one, and whether a later row
 * replaced it.
 */
function traitsByVersion(engine: string, key: string, known: ReadonlySet<string>): RowTraits | undefined {
  const [, version = ''] = /^ReplacingMergeTree\(`?(\w+)`?[,)]/.exec(engine) ?? []
  if (!known.has(version)) return undefined
  const rowOf = (versionText: string): string => `cityHash64(tuple(${key}, ${versionText}))`
  return { row: rowOf(quoteName(version)), rowOfStaged: rowOf(`max(${quoteName(version)})`), groupBy: key, key }
}

/** Row policies hide rows silently. A user who cannot list them is assumed to have no policies. */
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

/** Names that no user column has. */
interface Sample {
  _penstock_place: string
  _penstock_row: string
}

/** Returns the partitions whose rows are missing. */
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
  const partition = partitionText(partitionKey)
  const samples = await read<Sample>(
    `SELECT ${partition} AS _penstock_place, toString(${rowOfStaged}) AS _penstock_row FROM ${fullName(staged)} ` +
      (groupBy === '' ? '' : `GROUP BY ${partition}, ${groupBy} `) +
      // Ordered by hash: the first rows may be alike in every batch.
      `ORDER BY ${rowOfStaged} LIMIT ${sampledRows} BY _penstock_place LIMIT ${mostSamples}`,
  )
  if (samples.length === 0) throw stagedRowsLost(client)
  const sampled = [...new Set(samples.map((sample) => sample._penstock_row))].join(', ')
  const among = `${row} IN (${sampled})`
  const within = key === '' ? '' : `(${key}) IN (SELECT ${key} FROM ${fullName(staged)} WHERE ${among}) AND `
  const there = await read<Pick<Sample, '_penstock_row'>>(
    `SELECT DISTINCT toString(${row}) AS _penstock_row FROM ${fullName(table)} WHERE ${within}${among}`,
  )
  const found = new Set(there.map((one) => one._penstock_row))
  const byPartition = Map.groupBy(samples, (sample) => sample._penstock_place)
  return [...byPartition].filter(([, some]) => !isThere(some, found)).map(([name]) => name)
}

/** Half of the samples are enough: rows may equal older ones, or have been removed by a TTL. */
function isThere(samples: Sample[], found: ReadonlySet<string>): boolean {
  return 2 * samples.filter((sample) => found.has(sample._penstock_row)).length >= samples.length
}

/** The answer must be complete and current, or an error, whatever the user's profile sets. */
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
