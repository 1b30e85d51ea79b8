// SQLite as the main thread sees it: reads on a connection of its own, writes sent to the writer thread in batches.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { StartError } from '../lib/start-error.ts'
import {
  type Database,
  type DatabaseEvents,
  maxWaitingWrites,
  type PendingAnswer,
  settle,
  unavailable,
  type Writes,
} from './database.ts'
import { lockFile, SqliteConnection } from './sqlite.ts'
import type { FromWriter, ToWriter, WriteMessage } from './sqlite-writer.ts'

export interface SqliteOptions {
  file: string
  /** The module that calls `serveWrites`. */
  writer: URL
  /** Handed to that module. */
  writerData: Record<string, unknown>
  events: DatabaseEvents
}

// One batch is being committed, the next already waits at the writer's door, so that it does not idle between two groups.
// What comes after that gathers here: larger batches cost less each.
const maxBatchesPerAnswer = 2

export async function openSqlite<List extends Writes>(options: SqliteOptions): Promise<Database<List>> {
  const { events } = options
  const lock = lockFile(`${options.file}.lock`)
  if (!lock) {
    throw new StartError(
      `Another Penstock is using ${options.file}. Stop it first, or use PostgreSQL (DATABASE_URL) to run several.`,
    )
  }
  const worker = new Worker(options.writer, { workerData: { file: options.file, ...options.writerData } })
  const [started] = (await once(worker, 'message')) as [FromWriter]
  if ('refused' in started) {
    events.onTrouble('the database could not be opened', started.error)
    await worker.terminate()
    lock.release()
    throw new StartError(started.refused)
  }
  const reader = new SqliteConnection(options.file, { readOnly: true })

  const waiting = new Map<number, PendingAnswer>()
  let outbox: WriteMessage[] = []
  let lastId = 0
  let batchesSinceAnswer = 0
  let flushPlanned = false
  let closing = false

  const flush = (): void => {
    flushPlanned = false
    if (outbox.length === 0 || batchesSinceAnswer >= maxBatchesPerAnswer) return
    batchesSinceAnswer++
    worker.postMessage({ writes: outbox } satisfies ToWriter)
    outbox = []
  }
  const planFlush = (): void => {
    if (flushPlanned) return
    flushPlanned = true
    setImmediate(flush)
  }

  worker.on('message', (message: FromWriter) => {
    if (!('settled' in message)) return
    events.onGroup?.(message.figures)
    for (const [id, outcome] of message.settled) {
      const pending = waiting.get(id)!
      waiting.delete(id)
      settle(pending, outcome, events)
    }
    batchesSinceAnswer = 0
    flush()
    if (message.fatal) events.onFatal()
  })
  const failAll = (): void => {
    for (const pending of waiting.values()) pending.reject(unavailable())
    waiting.clear()
    outbox = []
  }
  worker.on('error', (error) => {
    events.onTrouble('the writer thread ended', { name: error.name })
    failAll()
    if (!closing) events.onFatal()
  })

  return {
    dialect: 'sqlite',
    reader,
    write: (name, input) => {
      if (closing || waiting.size >= maxWaitingWrites) return Promise.reject(unavailable())
      return new Promise((resolve, reject) => {
        const id = ++lastId
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
        outbox.push({ id, name, input })
        planFlush()
      })
    },
    check: async () => {
      try {
        reader.database.prepare('SELECT 1').get()
      } catch (error) {
        throw unavailable(error)
      }
    },
    close: async () => {
      closing = true
      batchesSinceAnswer = 0
      flush()
      const exited = once(worker, 'exit')
      worker.postMessage({ close: true } satisfies ToWriter)
      await exited
      failAll()
      reader.close()
      lock.release()
    },
  }
}
