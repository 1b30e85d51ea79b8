// Values for the tests of new pipes.
import type { Json, ServiceOfPipes } from '../harness/pipes.ts'

export const unknownId = '00000000-0000-4000-8000-000000000000'
export const columns = [
  { name: 'order_id', type: 'UInt64' },
  { name: 'amount', type: 'Decimal(18, 2)' },
  { name: 'ordered_at', type: 'DateTime64(3)' },
]

export const bounds: [path: string, least: number, most: number, step: number][] = [
  ['scaling.concurrency', 0, 34, 1],
  ['scaling.replicas', 1, 40, 1],
  ['scaling.replicaCpuMillicores', 125, 2000, 1],
  ['scaling.replicaMemoryGb', 0.5, 8, 0.01],
  ['settings.streaming_max_insert_wait_ms', 500, 60_000, 1],
  ['settings.object_storage_concurrency', 1, 35, 1],
  ['settings.object_storage_polling_interval_ms', 100, 3_600_000, 1],
  ['settings.object_storage_max_insert_bytes', 10_485_760, 53_687_091_200, 1],
  ['settings.object_storage_max_file_count', 1, 10_000, 1],
  ['settings.engine_max_threads', 0, 64, 1],
  ['settings.engine_max_insert_threads', 0, 16, 1],
  ['settings.engine_max_download_threads', 0, 32, 1],
  ['settings.engine_min_insert_block_size_bytes', 0, 10_737_418_240, 1],
  ['settings.engine_parallel_distributed_insert_select', 0, 2, 1],
]

export function pipeLists(service: () => ServiceOfPipes) {
  const list = async () => (await service().send('GET', '?limit=1000')).body.result as Json[]

  return { list }
}
