// A pipe that loads files from memory into an engine table, with one worker after another.
import type { EngineAccess } from '../../src/engine/check.ts'
import type { EngineColumn } from '../../src/engine/engine.ts'
import { openSink } from '../../src/engine/sink.ts'
import type { ObjectFormat } from '../../src/formats/decode/decoding.ts'
import type { Settings } from '../../src/pipes/settings.ts'
import { makeWorker } from '../../src/runner/move.ts'
import type { Worker } from '../../src/runner/worker.ts'
import { MemoryStore } from '../runner-world/memory-store.ts'
import { makeRunnerWorld } from '../runner-world/runner-world.ts'
import { loopbackEgress } from '../sources/conformance.ts'
import { plainContext } from '../sources/object-storage-conformance.ts'
import type { MemoryFiles } from './memory-files.ts'

export interface FileEngine {
  access: EngineAccess
  query(sql: string): Promise<string>
}

export interface FilePipe {
  store: MemoryStore
  /** Replaces the previous worker. */
  newWorker(): Worker
}

export interface FilePipeOptions {
  /** In the database `pipes`. */
  table: string
  format: ObjectFormat
  columns: EngineColumn[]
  files: MemoryFiles
  settings?: Partial<Settings>
}

const definition = { engine: { type: 'MergeTree' as const }, sortingKey: ['id'] }
const times = { backOff: { firstMs: 1, longestMs: 4 }, lookAgainMs: 1, userErrorRetryMs: 50 }

export function openFilePipe(
  engine: FileEngine,
  { table, format, columns, files, settings = {} }: FilePipeOptions,
): FilePipe {
  const store = new MemoryStore()
  const makeSource = () => files.source()
  const { parts } = makeRunnerWorld({ kind: 'objectStorage', options: {}, settings, state: 'Provisioning', makeSource })
  const url = 'https://bucket.example.com/files/*'
  const source = { type: 's3', format, compression: 'auto', isContinuous: false, url }
  const destination = { database: 'pipes', table, columns, managedTable: true, tableDefinition: definition }
  const pipe = { ...parts.pipe, source, destination }
  let epoch = 0
  const newWorker = (): Worker => {
    const lease = { workerIndex: 0, workerCount: 1, epoch: ++epoch }
    const sinkTable = { database: 'pipes', table, columns, definition }
    const workerParts = {
      ...parts,
      ...lease,
      pipe,
      source: files.source(),
      store: store.of(lease),
      egress: loopbackEgress,
      context: plainContext,
      openSink: (signal: AbortSignal) =>
        openSink(
          loopbackEgress,
          engine.access,
          sinkTable,
          { pipeId: pipe.id, workerIndex: 0, epoch: lease.epoch },
          { signal },
        ),
      report: () => undefined,
    }
    return makeWorker(workerParts, { times })
  }
  return { store, newWorker }
}
