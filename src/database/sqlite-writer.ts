// Writer thread of SQLite: migrates the file, then executes writes in groups.
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { describeError } from '../lib/describe-error.ts'
import type { LogFields } from '../lib/log.ts'
import { toWire, type WireOutcome } from './database.ts'
import { type CommitGroupMetrics, GroupCommit } from './group-commit.ts'
import { MigrationError, migrate } from './migrate.ts'
import type { Sql } from './sql.ts'
import { openFailure, SqliteConnection } from './sqlite.ts'
import { Checkpoints } from './sqlite-checkpoint.ts'

export interface WriteMessage {
  id: number
  name: string
  input: unknown
}

/** Messages in both directions are JSON text, which is cheaper than structured cloning. */
export type ToWriter = { writes: WriteMessage[] } | { close: true }
export type FromWriter =
  | { ready: true }
  | { refused: string; error: LogFields['error'] }
  | { settled: [number, WireOutcome][]; metrics: CommitGroupMetrics; fatal: boolean }
  | { checkpointFailed: NonNullable<LogFields['error']>; fatal: boolean }

export async function serveWrites(
  port: MessagePort,
  file: string,
  work: (sql: Sql, name: string, input: unknown) => Promise<unknown>,
): Promise<void> {
  const send = (message: FromWriter): void => port.postMessage(JSON.stringify(message))
  let connection: SqliteConnection
  try {
    connection = new SqliteConnection(file, { readOnly: false })
    await migrateSqlite(connection)
  } catch (error) {
    const sentence = error instanceof MigrationError ? error.message : openFailure(file, error)
    send({ refused: sentence, error: describeError(error) })
    return
  }
  const groups = new GroupCommit<WriteMessage>({
    connection,
    work: (sql, message) => work(sql, message.name, message.input),
    settle: (settled, metrics) => {
      const fatal = settled.some(([, outcome]) => 'error' in outcome && outcome.verdict === 'fatal')
      send({ settled: settled.map(([message, outcome]) => [message.id, toWire(outcome)]), metrics, fatal })
      // A checkpoint would first sync the log, whose sync has failed.
      if (!fatal) checkpoints.consider()
    },
  })
  const checkpoints = new Checkpoints(file, connection, {
    onFailure: (verdict, error) => {
      if (verdict === 'fatal') groups.stop(new Error('a checkpoint could not be synced'))
      send({ checkpointFailed: error, fatal: verdict === 'fatal' })
    },
  })

  let closing = false
  const take = (text: string): WriteMessage[] => {
    const message = JSON.parse(text) as ToWriter
    if ('writes' in message) return message.writes
    closing = true
    return []
  }
  port.on('message', (first: string) => {
    const writes = take(first)
    // All messages that have arrived join the same group.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      writes.push(...take(next.message))
    if (writes.length > 0) groups.add(writes)
    if (!closing) return
    void groups
      .idle()
      .then(() => checkpoints.close())
      .then(() => {
        connection.close()
        port.close()
      })
  })
  send({ ready: true })
}

export async function migrateSqlite(connection: SqliteConnection): Promise<void> {
  const { database } = connection
  await migrate({
    dialect: 'sqlite',
    execute: async (text) => database.exec(text),
    rows: async (text) => database.prepare(text).all(),
    // The process already holds the file lock.
    locked: (work) => work(),
  })
}
