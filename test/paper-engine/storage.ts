// What the paper engine keeps: tables with their rows, the tokens of the inserts that they have, and the tables that tell of them.
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
  /** By partition and token. */
  tokens: Set<string>
  /** Of a materialized view. */
  view?: PaperView
}

export interface PaperView {
  /** Both as `database.table`. */
  source: string
  target: string
  /** What it makes of the rows of an insert into its source, by the names of columns. */
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
  version: string
  hasTokens: boolean
  /** Nothing comes of them, other than that they are listed. */
  policies: { database: string; table: string }[]
}

export function loadTable(storage: PaperStorage, database: string, name: string): PaperTable {
  const found = storage.tables.get(`${database}.${name}`)
  if (found) return found
  if (!storage.databases.has(database)) throw new SqlError(81, `Database ${database} does not exist`)
  throw new SqlError(60, `Table ${database}.${name} does not exist`)
}

export const partitionOf = ({ partitionBy }: PaperTable, row: Row): string =>
  partitionBy ? textOf(partitionBy.evaluate(row, [row])) : 'tuple()'

/** As it stands in the names of parts. */
export const partitionId = (table: PaperTable, row: Row): string =>
  table.partitionBy ? Buffer.from(partitionOf(table, row), 'latin1').toString('hex') : 'all'

const keepsTokens = ({ engine, settings }: PaperTable): boolean =>
  engine.startsWith('Replicated') || Number(settings.non_replicated_deduplication_window ?? 0) > 0

/** One insert is one block: of each partition it has all rows, or none when it has its token. */
export function storeRows(table: PaperTable, rows: Row[], token: string | undefined): void {
  if (table.engine === 'Null') return
  if (token === undefined || !keepsTokens(table)) {
    for (const row of rows) table.rows.push(row)
    return
  }
  const known = new Set(table.tokens)
  for (const row of rows) {
    const mark = `${partitionOf(table, row)} ${token}`
    if (known.has(mark)) continue
    table.rows.push(row)
    table.tokens.add(mark)
  }
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

/** As SELECT … FINAL reads them. */
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

const settingsOfAll = [
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
const settingsOfNew = [
  'insert_deduplication_token',
  'deduplicate_insert',
  'deduplicate_insert_select',
  'final',
  'transform_null_in',
  'async_insert',
  'wait_for_async_insert',
  'input_format_parallel_parsing',
  'max_insert_threads',
  'input_format_null_as_default',
  'input_format_defaults_for_omitted_fields',
  'input_format_json_read_objects_as_strings',
  'input_format_json_read_numbers_as_strings',
  'input_format_json_read_bools_as_numbers',
  'input_format_json_read_bools_as_strings',
  'input_format_json_read_arrays_as_strings',
  'input_format_with_names_use_header',
  'log_comment',
  'mutations_sync',
  'max_download_threads',
  'max_partitions_per_insert_block',
  'throw_on_max_partitions_per_insert_block',
  'parallel_distributed_insert_select',
  'parallel_view_processing',
  'input_format_parquet_allow_missing_columns',
  'input_format_avro_allow_missing_fields',
  'input_format_csv_empty_as_default',
  'input_format_tsv_empty_as_default',
  'input_format_csv_use_default_on_bad_values',
  'deduplicate_blocks_in_dependent_materialized_views',
  'max_parser_backtracks',
  'session_timezone',
  'http_write_exception_in_output_format',
  'cancel_http_readonly_queries_on_client_disconnect',
  'allow_suspicious_low_cardinality_types',
  'input_format_json_named_tuples_as_objects',
  'input_format_try_infer_datetimes',
  'date_time_output_format',
  'bool_true_representation',
  'input_format_json_try_infer_numbers_from_strings',
  'use_async_executor_for_materialized_views',
  'input_format_max_bytes_to_read_for_schema_inference',
  'min_insert_block_size_bytes_for_materialized_views',
  'min_insert_block_size_rows_for_materialized_views',
  'database_atomic_wait_for_drop_and_detach_synchronously',
  'alter_sync',
  'distributed_ddl_task_timeout',
  'max_insert_block_size_bytes',
  'format_tsv_null_representation',
  'input_format_csv_allow_variable_number_of_columns',
  'input_format_json_ignore_unknown_keys_in_named_tuple',
]
const formatsOfAll = [
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
const formatsOfNew = ['Parquet', 'Avro', 'JSONCompactEachRow']

export const knownSettings = ({ hasTokens }: PaperStorage): string[] =>
  hasTokens ? [...settingsOfAll, ...settingsOfNew] : settingsOfAll

const sortingKeyOf = ({ orderBy }: PaperTable): string => (orderBy?.text ?? '').replace(/^tuple\(\)$/, '')

export function systemRows(storage: PaperStorage, name: string): Row[] {
  const tables = [...storage.tables.values()]
  const { hasTokens } = storage
  switch (name) {
    case 'settings':
      return knownSettings(storage).map((setting) => ({ name: setting, value: '', changed: 0 }))
    case 'merge_tree_settings':
      if (!hasTokens) throw new SqlError(60, 'Table system.merge_tree_settings does not exist')
      return ['index_granularity', 'non_replicated_deduplication_window'].map((setting) => ({
        name: setting,
        value: '0',
      }))
    case 'formats':
      return [...formatsOfAll, ...(hasTokens ? formatsOfNew : [])].map((format) => ({
        name: format,
        is_input: 1,
        is_output: 1,
      }))
    case 'table_functions':
      return (hasTokens ? ['numbers', 'input', 'url'] : ['numbers', 'url']).map((each) => ({ name: each }))
    case 'functions':
      return ['toYYYYMM', 'base64Encode', 'hex'].map((each) => ({ name: each, is_aggregate: 0 }))
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
    case 'row_policies':
      return storage.policies
    case 'one':
      return [{ dummy: 0 }]
    case 'processes':
    case 'mutations':
      return []
    default:
      throw new SqlError(60, `Table system.${name} does not exist`)
  }
}
