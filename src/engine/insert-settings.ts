// The settings that an insert is sent with. What must stay true: an insert is one block, since an engine keeps a block as a whole
// or not at all, and knows it again by its token; and no row is dropped without an error.
import type { Capabilities } from './capabilities.ts'
import type { EngineSettings } from './client.ts'
import type { Insert, InsertFormat, PipeEngineSettings } from './engine.ts'

/** More rows than an insert has. */
const allRows = 1_000_000_000

/** How values are read: leniently, as the check of a sample promises. */
const parsing: EngineSettings = {
  date_time_input_format: 'best_effort',
  input_format_allow_errors_num: 0,
  input_format_allow_errors_ratio: 0,
  input_format_skip_unknown_fields: 1,
  input_format_null_as_default: 1,
  insert_null_as_default: 1,
  input_format_force_null_for_omitted_fields: 0,
  input_format_defaults_for_omitted_fields: 1,
  input_format_import_nested_json: 0,
  input_format_json_read_numbers_as_strings: 1,
  input_format_json_read_bools_as_strings: 1,
  input_format_json_read_bools_as_numbers: 1,
  input_format_json_read_objects_as_strings: 1,
  input_format_json_read_arrays_as_strings: 1,
  // An empty text of JSON is an empty text.
  input_format_json_empty_as_default: 0,
  input_format_csv_empty_as_default: 1,
  input_format_csv_trim_whitespaces: 1,
  format_csv_allow_single_quotes: 0,
  format_csv_allow_double_quotes: 1,
  input_format_tsv_empty_as_default: 1,
  input_format_parquet_allow_missing_columns: 1,
  input_format_avro_allow_missing_fields: 1,
  input_format_avro_null_as_default: 1,
}

/** A NULL has a mark of its own. */
const emptyTexts: EngineSettings = { input_format_csv_empty_as_default: 0, input_format_tsv_empty_as_default: 0 }

/** One insert, one block, which is written when the answer comes. */
const oneBlock: EngineSettings = {
  max_insert_block_size: allRows,
  max_insert_block_size_bytes: 0,
  min_insert_block_size_rows: allRows,
  input_format_max_block_size_bytes: 0,
  use_strict_insert_block_limits: 0,
  input_format_parallel_parsing: 0,
  input_format_parquet_preserve_order: 1,
  // Both would keep what has come of a body that was cut.
  input_format_connection_handling: 0,
  input_format_max_block_wait_ms: 0,
  async_insert: 0,
  insert_deduplicate: 1,
  // Both are asked before the one above, and the second one by some engines also where there is a token.
  deduplicate_insert: 'enable',
  deduplicate_insert_select: 'enable_even_for_bad_queries',
  // Rows of any number of days are to go in one insert.
  max_partitions_per_insert_block: 0,
}

/** For a statement that has the rows in its body. */
export function bodySettings(
  { hasSetting }: Capabilities,
  insert: Pick<Insert, 'format' | 'delimiter' | 'hasEmptyTexts' | 'settings'>,
): EngineSettings {
  return known(hasSetting, {
    ...parsing,
    ...oneBlock,
    ...pipeSettings(insert.settings),
    ...(comesInPieces(insert.format) ? joined : {}),
    ...(insert.format === 'CSV' ? { format_csv_delimiter: insert.delimiter ?? ',' } : {}),
    ...(insert.hasEmptyTexts ? emptyTexts : {}),
  })
}

/** For a statement that moves rows from one table into another. */
export function moveSettings({ hasSetting }: Capabilities, settings: PipeEngineSettings): EngineSettings {
  return known(hasSetting, { ...oneBlock, ...pipeSettings(settings), ...joined })
}

/**
 * The least size of a block. The engine joins what it reads until a block has that size; a text format is read as one block of all
 * rows, whatever the size, so the setting goes along as it is. What the engine reads in pieces is joined to the end: at 0, rows
 * alone decide, and one block of everything is at least as large as any size that was asked for, or is all there is.
 */
const joined: EngineSettings = { min_insert_block_size_bytes: 0, max_insert_threads: 1 }

/** What the engine reads by itself in blocks of its own. */
export function comesInPieces(format: InsertFormat): boolean {
  return format === 'Parquet' || format === 'Avro'
}

function pipeSettings(settings: PipeEngineSettings): EngineSettings {
  const { engine_max_threads: threads, engine_max_insert_threads: insertThreads } = settings
  return {
    ...(threads > 0 ? { max_threads: threads } : {}),
    ...(insertThreads > 0 ? { max_insert_threads: insertThreads } : {}),
    max_download_threads: settings.engine_max_download_threads,
    min_insert_block_size_bytes: settings.engine_min_insert_block_size_bytes,
    parallel_distributed_insert_select: settings.engine_parallel_distributed_insert_select,
    parallel_view_processing: settings.engine_parallel_view_processing ? 1 : 0,
  }
}

/** An engine refuses a request with a setting that it does not know. */
export function known(hasSetting: (name: string) => boolean, settings: EngineSettings): EngineSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => hasSetting(name)))
}
