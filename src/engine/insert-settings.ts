// Settings of inserts. Invariants: an insert is one block, which ClickHouse writes completely or not at all, and deduplicates by its
// token; no row is dropped without an error.
import type { Capabilities } from './capabilities.ts'
import type { EngineSettings } from './client.ts'
import type { Insert, InsertFormat, PipeEngineSettings } from './engine.ts'

/** More rows than an insert has. */
const allRows = 1_000_000_000

/** Values are read leniently, as the check of a sample does. */
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
  // In JSON, an empty string is a value.
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

/** NULL has its own representation. */
const emptyTexts: EngineSettings = { input_format_csv_empty_as_default: 0, input_format_tsv_empty_as_default: 0 }

/** One insert is one block, written before the answer. */
const oneBlock: EngineSettings = {
  max_insert_block_size: allRows,
  max_insert_block_size_bytes: 0,
  min_insert_block_size_rows: allRows,
  input_format_max_block_size_bytes: 0,
  use_strict_insert_block_limits: 0,
  input_format_parallel_parsing: 0,
  input_format_parquet_preserve_order: 1,
  // Both would keep the received rows of a truncated body.
  input_format_connection_handling: 0,
  input_format_max_block_wait_ms: 0,
  async_insert: 0,
  insert_deduplicate: 1,
  // Both have priority over `insert_deduplicate`; some versions check the second one even with a token.
  deduplicate_insert: 'enable',
  deduplicate_insert_select: 'enable_even_for_bad_queries',
  // One insert may have rows of any number of partitions.
  max_partitions_per_insert_block: 0,
}

/** For a statement with the rows in its body. */
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

/** For INSERT … SELECT from one table into another. */
export function moveSettings({ hasSetting }: Capabilities, settings: PipeEngineSettings): EngineSettings {
  return known(hasSetting, { ...oneBlock, ...pipeSettings(settings), ...joined })
}

/**
 * ClickHouse squashes what it reads into blocks of at least the `min_insert_block_size_*` settings. A text format is one block of all
 * rows anyway, so the pipe setting is sent unchanged. Formats that are read in several blocks are squashed into one: with 0 bytes,
 * only the row limit counts.
 */
const joined: EngineSettings = { min_insert_block_size_bytes: 0, max_insert_threads: 1 }

/** Whether ClickHouse reads the format in several blocks. */
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

/** Only the settings that ClickHouse has: it rejects requests with unknown settings. */
export function known(hasSetting: (name: string) => boolean, settings: EngineSettings): EngineSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => hasSetting(name)))
}
