// SQLite in the main thread: reads on its own connection, writes sent to the writer thread in batches.
import { once } from 'node:events'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { DataInUseError, StartError } from '../lib/start-error.ts'
import { watchForDeletion } from '../lib/watch-for-deletion.ts'
import {
  type Database,
  type DatabaseEvents,
  maxWaitingWrites,
  type PendingAnswer,
  settle,
  tooManyWaiting,
  unavailable,
  type Writes,
} from './database.ts'
import { statement } from './sql.ts'
import { lockFile } from './sqlite.ts'
import { SqliteReader } from './sqlite-reader.ts'
import type { FromWriter, ToWriter, WriteMessage } from './sqlite-writer.ts'

export interface SqliteOptions {
  file: string
  /** Module that calls `serveWrites`. */
  writer: URL
  /** Passed to that module. */
  writerData: Record<string, unknown>
  events: DatabaseEvents
}

/** A single write is not worth a message while the writer is busy. */
const leastBatch = 2

// Reads a page of the file, so that the check covers the database and not only the driver.
const checkStatement = statement<Record<string, never>, { number: number }>(
  'SELECT number FROM schema_migrations LIMIT 1',
)

export async function openSqlite<List extends Writes>(options: SqliteOptions): Promise<Database<List>> {
  const { events } = options
  const lock = lockFile(`${options.file}.lock`)
  if (!lock) {
    throw new DataInUseError(
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
  let reader: SqliteReader
  try {
    reader = new SqliteReader(options.file)
  } catch (error) {
    await worker.terminate()
    lock.release()
    throw new StartError(`The database file ${options.file} cannot be read.`, { cause: error })
  }

  const waiting = new Map<number, PendingAnswer>()
  let outbox: WriteMessage[] = []
  let lastId = 0
  /** Number of writes sent to the writer and not yet settled. */
  let underWay = 0
  let flushPlanned = false
  let closing = false

  // JSON text is cheaper than structured cloning.
  const send = (message: ToWriter): void => worker.postMessage(JSON.stringify(message))
  const flush = (): void => {
    if (outbox.length === 0) return
    underWay += outbox.length
    send({ writes: outbox })
    outbox = []
  }
  // Sends as many writes as the writer has: they are queued when it finishes its group, so that it works on one half while this
  // thread answers the other. Smaller batches wait for more writes, for the end of this turn of the event loop, or for the writer.
  const planFlush = (): void => {
    if (outbox.length >= Math.max(underWay, leastBatch)) flush()
    else if (underWay === 0 && !flushPlanned) {
      flushPlanned = true
      setImmediate(() => {
        flushPlanned = false
        if (underWay === 0) flush()
      })
    }
  }

  worker.on('message', (text: string) => {
    const message = JSON.parse(text) as FromWriter
    if ('checkpointFailed' in message) {
      events.onTrouble('the write-ahead log could not be moved into the database file', message.checkpointFailed)
      if (message.fatal) events.onFatal('disk')
    }
    if (!('settled' in message)) return
    underWay -= message.settled.length
    reader.endSnapshot()
    // Before the responses are written, so that the writer does not idle.
    if (underWay === 0) flush()
    else planFlush()
    events.onGroup?.(message.metrics)
    for (const [id, outcome] of message.settled) {
      const pending = waiting.get(id)
      // Already rejected when the file was deleted.
      if (!pending) continue
      waiting.delete(id)
      settle(pending, outcome, events)
    }
    if (message.fatal) events.onFatal('disk')
  })
  const failAll = (): void => {
    for (const pending of waiting.values()) pending.reject(unavailable())
    waiting.clear()
    outbox = []
  }
  worker.on('error', (error) => {
    events.onTrouble('the writer thread ended', { name: error.name })
    failAll()
    if (!closing) events.onFatal('defect')
  })

  // Commits to a deleted file would be lost with this process.
  const endWatch = watchForDeletion([{ path: dirname(options.file) }, { path: options.file }], () => {
    closing = true
    failAll()
    events.onFatal('deleted')
  })

  return {
    dialect: 'sqlite',
    reader,
    write: (name, input) => {
      if (closing) return Promise.reject(unavailable())
      if (waiting.size >= maxWaitingWrites) return Promise.reject(tooManyWaiting())
      return new Promise((resolve, reject) => {
        const id = ++lastId
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
        outbox.push({ id, name, input })
        planFlush()
      })
    },
    check: async () => {
      try {
        await reader.first(checkStatement, {})
      } catch (error) {
        throw unavailable(error)
      }
    },
    close: async () => {
      closing = true
      endWatch()
      flush()
      const exited = once(worker, 'exit')
      // Before the writer: the last connection to close moves the log into the file, which a reader cannot do.
      reader.close()
      send({ close: true })
      await exited
      failAll()
      lock.release()
    },
  }
}
