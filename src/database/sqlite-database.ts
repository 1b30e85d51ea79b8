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
import { statement } from './sql.ts'
import { lockFile } from './sqlite.ts'
import { SqliteReader } from './sqlite-reader.ts'
import type { FromWriter, ToWriter, WriteMessage } from './sqlite-writer.ts'

export interface SqliteOptions {
  file: string
  /** The module that calls `serveWrites`. */
  writer: URL
  /** Handed to that module. */
  writerData: Record<string, unknown>
  events: DatabaseEvents
}

/**
 * With this many writes waiting, an idle writer gets them at once instead of at the end of the turn: it works on them while
 * the requests that came with them are still being read. Without it the two threads would take turns.
 */
const earlyBatch = 16

const selectOne = statement<Record<string, never>, { one: number }>('SELECT 1 AS one')

export async function openSqlite<List extends Writes>(options: SqliteOptions): Promise<Database<List>> {
  const { events } = options
  const lock = lockFile(`${options.file}.lock`)
  if (!lock) {
    throw new StartError(
      `Another Penstock is using ${options.file}. Stop it first, or use PostgreSQL (DATABASE_URL) to run several.`,
    )
  }
  const worker = new Worker(options.writer, { workerData: { file: options.file, ...options.writerData } })
  const [text] = (await once(worker, 'message')) as [string]
  const started = JSON.parse(text) as FromWriter
  if ('refused' in started) {
    events.onTrouble('the database could not be opened', started.error)
    await worker.terminate()
    lock.release()
    throw new StartError(started.refused)
  }
  const reader = new SqliteReader(options.file)

  const waiting = new Map<number, PendingAnswer>()
  let outbox: WriteMessage[] = []
  let lastId = 0
  /** One batch at a time: what arrives while it is being committed goes together into the next, and shares its commit. */
  let writerIsBusy = false
  let flushPlanned = false
  let closing = false

  // As text: cheaper than to have the objects cloned.
  const send = (message: ToWriter): void => worker.postMessage(JSON.stringify(message))
  const flush = (): void => {
    flushPlanned = false
    if (outbox.length === 0 || writerIsBusy) return
    writerIsBusy = true
    send({ writes: outbox })
    outbox = []
  }
  const planFlush = (): void => {
    if (outbox.length >= earlyBatch) flush()
    else if (!flushPlanned) {
      flushPlanned = true
      setImmediate(flush)
    }
  }

  worker.on('message', (text: string) => {
    const message = JSON.parse(text) as FromWriter
    if (!('settled' in message)) return
    writerIsBusy = waiting.size - outbox.length > message.settled.length
    reader.endSnapshot()
    if (outbox.length > 0) planFlush()
    events.onGroup?.(message.figures)
    for (const [id, outcome] of message.settled) {
      const pending = waiting.get(id)!
      waiting.delete(id)
      settle(pending, outcome, events)
    }
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
        await reader.first(selectOne, {})
      } catch (error) {
        throw unavailable(error)
      }
    },
    close: async () => {
      closing = true
      writerIsBusy = false
      flush()
      const exited = once(worker, 'exit')
      send({ close: true })
      await exited
      failAll()
      reader.close()
      lock.release()
    },
  }
}
