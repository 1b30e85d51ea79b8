// Settings of a pipe: bounds and defaults (docs/reference/pipe-settings.md). All are accepted on every kind of pipe.
import { type Static, Type } from '../lib/schema.ts'
import { defaultsOf, optionalFields, patchOf } from '../lib/schema-fields.ts'

const integer = (minimum: number, maximum: number, defaultValue: number, description: string) =>
  Type.Integer({ minimum, maximum, default: defaultValue, description })
const boolean = (defaultValue: boolean, description: string) => Type.Boolean({ default: defaultValue, description })

const settings = {
  engine_max_download_threads: integer(
    0,
    32,
    4,
    'ClickHouse setting `max_download_threads`: maximum number of threads that download data.',
  ),
  engine_max_insert_threads: integer(
    0,
    16,
    1,
    'ClickHouse setting `max_insert_threads`: maximum number of threads for an insert; 0: ClickHouse decides.',
  ),
  engine_max_threads: integer(
    0,
    64,
    0,
    'ClickHouse setting `max_threads`: maximum number of query processing threads; 0: ClickHouse decides.',
  ),
  engine_min_insert_block_size_bytes: integer(
    0,
    10_737_418_240,
    1_073_741_824,
    'ClickHouse setting `min_insert_block_size_bytes`: minimum size in bytes of an inserted block. Smaller blocks are ' +
      'combined.',
  ),
  engine_parallel_distributed_insert_select: integer(
    0,
    2,
    2,
    'ClickHouse setting `parallel_distributed_insert_select`. 0: not parallel. 1: each shard runs the SELECT. 2: each ' +
      'shard runs both, INSERT and SELECT.',
  ),
  engine_parallel_view_processing: boolean(
    false,
    'ClickHouse setting `parallel_view_processing`: whether to push to attached materialized views in parallel.',
  ),
  object_storage_concurrency: integer(
    1,
    35,
    1,
    'Object storage: number of concurrent inserts, unless `scaling.concurrency` is set.',
  ),
  object_storage_max_file_count: integer(1, 10_000, 100, 'Object storage: maximum number of files in one insert.'),
  object_storage_max_insert_bytes: integer(
    10_485_760,
    53_687_091_200,
    10_737_418_240,
    'Object storage: maximum number of bytes in one insert. A larger file is divided.',
  ),
  object_storage_polling_interval_ms: integer(
    100,
    3_600_000,
    30_000,
    'Object storage: time in milliseconds between two listings for new files.',
  ),
  object_storage_use_cluster_function: boolean(
    true,
    'Object storage: whether all replicas of the pipe load files. `false`: one replica loads all files.',
  ),
  streaming_max_insert_wait_ms: integer(
    500,
    60_000,
    5_000,
    'Kafka and Kinesis: maximum time in milliseconds from the first record of a batch to its insert.',
  ),
}

export const Settings = Type.Object(settings, {
  $id: 'PipeSettings',
  description: 'Settings of the pipe, with the values in effect.',
  additionalProperties: false,
})
export type Settings = Static<typeof Settings>

export const SettingsCreate = Type.Object(optionalFields(settings), {
  $id: 'PipeSettingsCreate',
  description: 'Settings of the pipe. Settings that are not sent have their defaults.',
  additionalProperties: false,
})

export const SettingsPatch = Type.Object(patchOf(settings), {
  $id: 'PipeSettingsPatch',
  description: 'Settings to change; `null` resets a setting to its default.',
  additionalProperties: false,
})

export const defaultSettings = defaultsOf(settings) as Settings
