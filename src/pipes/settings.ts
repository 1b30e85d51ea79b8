// Settings of a pipe: bounds and defaults (docs/contract.md, section 5). All are accepted on every kind of pipe.
import { type Static, Type } from '../lib/schema.ts'
import { defaultsOf, optionalFields, patchOf } from '../lib/schema-fields.ts'

const integer = (minimum: number, maximum: number, defaultValue: number, description: string) =>
  Type.Integer({ minimum, maximum, default: defaultValue, description })
const boolean = (defaultValue: boolean, description: string) => Type.Boolean({ default: defaultValue, description })

const settings = {
  engine_max_download_threads: integer(0, 32, 4, 'Threads that download data.'),
  engine_max_insert_threads: integer(0, 16, 1, 'Threads that execute an insert.'),
  engine_max_threads: integer(0, 64, 0, 'Threads that process a query; 0: the engine decides.'),
  engine_min_insert_block_size_bytes: integer(
    0,
    10_737_418_240,
    1_073_741_824,
    'Smaller blocks are joined up to this size.',
  ),
  engine_parallel_distributed_insert_select: integer(0, 2, 2, 'How a distributed insert from a select is spread.'),
  engine_parallel_view_processing: boolean(false, 'Push to attached materialized views at the same time.'),
  object_storage_concurrency: integer(1, 35, 1, 'Files that are loaded at the same time.'),
  object_storage_max_file_count: integer(1, 10_000, 100, 'Most files in one insert.'),
  object_storage_max_insert_bytes: integer(10_485_760, 53_687_091_200, 10_737_418_240, 'Most bytes in one insert.'),
  object_storage_polling_interval_ms: integer(100, 3_600_000, 30_000, 'Time between two looks for new files.'),
  object_storage_use_cluster_function: boolean(
    true,
    'Share the files out over all replicas of the pipe; otherwise one loads them all.',
  ),
  streaming_max_insert_wait_ms: integer(500, 60_000, 5_000, 'Longest wait before what has been read is inserted.'),
}

export const Settings = Type.Object(settings, { $id: 'PipeSettings', additionalProperties: false })
export type Settings = Static<typeof Settings>

export const SettingsCreate = Type.Object(optionalFields(settings), {
  $id: 'PipeSettingsCreate',
  additionalProperties: false,
})

export const SettingsPatch = Type.Object(patchOf(settings), { $id: 'PipeSettingsPatch', additionalProperties: false })

export const defaultSettings = defaultsOf(settings) as Settings
