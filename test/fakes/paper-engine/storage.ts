// Storage of the paper engine: tables with rows, and the system tables that describe them.
import type { Expression } from './expressions.ts'
import { compare, textOf } from './functions.ts'
import { SqlError } from './tokens.ts'
import { defaultOf, type Row } from './values.ts'

export interface PaperColumn {
  name: string
  type: string
  defaultExpression?: Expression
}

export interface PaperTable {
  database: string
  name: string
  columns: PaperColumn[]
  /** `ReplacingMergeTree`, and with its parameters. */
  engine: string
  engineFull: string
  engineParameters: string[]
  partitionBy?: Expression
  orderBy?: Expression
  primaryKey: string
  settings: Record<string, string>
  rows: Row[]
  /** Set for a materialized view. */
  view?: PaperView
}

export interface PaperView {
  /** Both as `database.table`. */
  source: string
  target: string
  /** Maps inserted rows to rows of the target, by column name. */
  select(rows: Row[]): Row[]
}

const allViews = ({ tables }: PaperStorage): PaperView[] => [...tables.values()].flatMap(({ view }) => view ?? [])

const viewsAmong = (views: PaperView[], { database, name }: PaperTable): PaperView[] =>
  views.filter(({ source }) => source === `${database}.${name}`)

export const viewsOf = (storage: PaperStorage, table: PaperTable): PaperView[] => viewsAmong(allViews(storage), table)

export interface PaperStorage {
  /** By `database.table`. */
  tables: Map<string, PaperTable>
  databases: Set<string>
}

export function loadTable(storage: PaperStorage, database: string, name: string): PaperTable {
  const found = storage.tables.get(`${database}.${name}`)
  if (found) return found
  if (!storage.databases.has(database)) throw new SqlError(81, `Database ${database} does not exist`)
  throw new SqlError(60, `Table ${database}.${name} does not exist`)
}

export const partitionOf = ({ partitionBy }: PaperTable, row: Row): string =>
  partitionBy ? textOf(partitionBy.evaluate(row, [row])) : 'tuple()'

export function storeRows(table: PaperTable, rows: Row[]): void {
  if (table.engine === 'Null') return
  for (const row of rows) table.rows.push(row)
}

export function completeRow(table: PaperTable, values: Row): Row {
  const row: Row = {}
  for (const { name, type, defaultExpression } of table.columns) {
    const given = values[name]
    row[name] =
      given !== undefined
        ? given
        : defaultExpression
          ? defaultExpression.evaluate({ ...values, ...row }, [])
          : defaultOf(type)
  }
  return row
}

/** The rows that SELECT … FINAL reads. */
export function finalRows(table: PaperTable): Row[] {
  const { engine, engineParameters, orderBy, rows } = table
  if (!engine.endsWith('ReplacingMergeTree') || !orderBy) return rows
  const version = engineParameters[0]?.replaceAll('`', '')
  const kept = new Map<string, Row>()
  for (const row of rows) {
    const key = `${partitionOf(table, row)} ${textOf(orderBy.evaluate(row, [row]))}`
    const other = kept.get(key)
    const isNewer = !other || version === undefined || compare(row[version] ?? 0, other[version] ?? 0) >= 0
    if (isNewer) kept.set(key, row)
  }
  return [...kept.values()]
}

export const knownSettings = [
  'insert_deduplicate',
  'wait_end_of_query',
  'max_insert_block_size',
  'min_insert_block_size_rows',
  'min_insert_block_size_bytes',
  'date_time_input_format',
  'input_format_skip_unknown_fields',
  'input_format_import_nested_json',
  'format_csv_delimiter',
  'input_format_allow_errors_num',
  'input_format_allow_errors_ratio',
  'max_block_size',
  'max_threads',
  'max_memory_usage',
  'max_execution_time',
  'max_query_size',
  'max_ast_elements',
  'max_expanded_ast_elements',
  'max_parser_depth',
  'log_queries',
  'send_progress_in_http_headers',
  'output_format_json_quote_64bit_integers',
  'insert_quorum',
  'max_partition_size_to_drop',
  'allow_experimental_low_cardinality_type',
]
const formats = [
  'JSONEachRow',
  'CSV',
  'TabSeparated',
  'TSV',
  'TabSeparatedRaw',
  'TabSeparatedWithNames',
  'CSVWithNames',
  'JSON',
  'Values',
  'RowBinary',
]
const sortingKeyOf = ({ orderBy }: PaperTable): string => (orderBy?.text ?? '').replace(/^tuple\(\)$/, '')

const typeNames =
  'UInt8 UInt16 UInt32 UInt64 Int8 Int16 Int32 Int64 Float32 Float64 String UUID Date DateTime FixedString Decimal Enum8 ' +
  'Enum16 Array Nullable LowCardinality Tuple Nested AggregateFunction'

export function systemRows(storage: PaperStorage, name: string): Row[] {
  const tables = [...storage.tables.values()]
  switch (name) {
    case 'settings':
      return knownSettings.map((setting) => ({ name: setting, value: '', changed: 0 }))
    case 'formats':
      return formats.map((format) => ({
        name: format,
        is_input: 1,
        is_output: 1,
      }))
    case 'table_functions':
      return ['numbers', 'url'].map((each) => ({ name: each }))
    case 'data_type_families':
      return typeNames.split(' ').map((each) => ({ name: each, case_insensitive: 0, alias_to: '' }))
    case 'databases':
      return [...storage.databases].map((each) => ({ name: each, engine: 'Atomic' }))
    case 'tables': {
      const views = allViews(storage)
      return tables.map((table) => ({
        database: table.database,
        name: table.name,
        engine: table.engine,
        engine_full: table.engineFull,
        dependencies_table: viewsAmong(views, table).map(({ target }) => target),
        partition_key: table.partitionBy?.text ?? '',
        sorting_key: sortingKeyOf(table),
        primary_key: table.primaryKey,
        create_table_query: `CREATE TABLE ${table.database}.${table.name} ENGINE = ${table.engineFull}`,
        is_temporary: 0,
        metadata_modification_time: new Date().toISOString().slice(0, 19).replace('T', ' '),
        total_rows: table.rows.length,
      }))
    }
    case 'columns':
      return tables.flatMap((table) =>
        table.columns.map(({ name: column, type, defaultExpression }, index) => ({
          database: table.database,
          table: table.name,
          name: column,
          type,
          default_kind: defaultExpression ? 'DEFAULT' : '',
          default_expression: defaultExpression?.text ?? '',
          position: index + 1,
          is_in_sorting_key: new RegExp(`\\b${column}\\b`).test(sortingKeyOf(table)) ? 1 : 0,
        })),
      )
    case 'parts':
      return tables.flatMap((table) => {
        const partitions = [...new Set(table.rows.map((row) => partitionOf(table, row)))]
        return partitions.map((partition) => ({
          database: table.database,
          table: table.name,
          partition,
          partition_id: Buffer.from(partition, 'latin1').toString('hex'),
          active: 1,
          rows: table.rows.filter((row) => partitionOf(table, row) === partition).length,
        }))
      })
    case 'processes':
    case 'mutations':
      return []
    default:
      throw new SqlError(60, `Table system.${name} does not exist`)
  }
}
