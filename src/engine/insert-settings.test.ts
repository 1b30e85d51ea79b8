import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Capabilities } from './capabilities.ts'
import { bodySettings, moveSettings } from './insert-settings.ts'

const current = { hasSetting: () => true } as unknown as Capabilities
const settings = {
  engine_max_download_threads: 7,
  engine_max_insert_threads: 3,
  engine_max_threads: 5,
  engine_min_insert_block_size_bytes: 1_000,
  engine_parallel_distributed_insert_select: 1,
  engine_parallel_view_processing: true,
}
const ofEngine = {
  max_download_threads: 7,
  max_insert_threads: 3,
  max_threads: 5,
  min_insert_block_size_bytes: 1_000,
  parallel_distributed_insert_select: 1,
  parallel_view_processing: 1,
}

describe('settings of an insert', () => {
  it('have each engine_… setting of the pipe under the name that the engine has for it', () => {
    const sent = bodySettings(current, { format: 'JSONEachRow', settings })
    assert.deepEqual({ ...sent, ...ofEngine }, sent)
  })

  it('enable deduplication by token, whatever the profile of the user says, also in INSERT SELECT', () => {
    const deduplication = {
      insert_deduplicate: 1,
      deduplicate_insert: 'enable',
      deduplicate_insert_select: 'enable_even_for_bad_queries',
    }
    for (const sent of [bodySettings(current, { format: 'JSONEachRow', settings }), moveSettings(current, settings)]) {
      assert.deepEqual({ ...sent, ...deduplication }, sent)
    }
  })

  it('leave the number of threads to the engine at 0', () => {
    const sent = bodySettings(current, {
      format: 'JSONEachRow',
      settings: { ...settings, engine_max_threads: 0, engine_max_insert_threads: 0 },
    })
    assert.ok(!('max_threads' in sent) && !('max_insert_threads' in sent))
  })

  it('squash formats that the engine reads in blocks into one block, whatever block size the pipe sets', () => {
    for (const sent of [bodySettings(current, { format: 'Parquet', settings }), moveSettings(current, settings)]) {
      assert.equal(sent.min_insert_block_size_bytes, 0)
      assert.equal(sent.max_insert_threads, 1)
      assert.equal(sent.max_threads, 5)
    }
  })
})
