// PostgreSQL. Connections are pipelined: statements are sent without waiting for the previous result. Writes go through a few
// connections with group commit; an organization always uses the same one.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describeError } from '../lib/describe-error.ts'
import { Problem } from '../lib/problem.ts'
import { StartError } from '../lib/start-error.ts'
import type { Vault } from '../lib/vault.ts'
import {
  type Database,
  type DatabaseEvents,
  maxWaitingWrites,
  type PendingAnswer,
  settle,
  tooManyWaiting,
  toWire,
  unavailable,
  type Writes,
} from './database.ts'
import { GroupCommit, type Verdict, type WriteConnection } from './group-commit.ts'
import { MigrationError, migrate } from './migrate.ts'
import { connectOnce, connectTimeoutMs } from './postgres-connect.ts'
import { bind, type SqlValues, type Statement } from './sql.ts'

const writerCount = 4
const readerCount = 2
/** Arbitrary, but the same in every Penstock process. */
export const migrationLockId = 7_353_789
const maxReconnectMs = 1_000
/** A distributed database may ask to retry even a single read. */
const mostReadTries = 8

class LostConnection extends Error {}

class PostgresConnection implements WriteConnection {
  readonly dialect = 'postgres'
  changeCount = 0
  readonly #url: string
  #client: pg.Client | undefined
  #connecting: Promise<pg.Client> | undefined
  /** Monotonic time, so that setting the clock back does not delay reconnecting. */
  #failedAtMs = Number.NEGATIVE_INFINITY
  /** The connection of the current transaction. */
  #transaction: pg.Client | undefined
  /** The first failure of a statement that was sent without waiting for its result. */
  #sendError: unknown

  constructor(url: string) {
    this.#url = url
  }

  async connect(): Promise<pg.Client> {
    if (this.#client) return this.#client
    // Limits connection attempts while the database is unreachable.
    if (performance.now() - this.#failedAtMs < maxReconnectMs && !this.#connecting)
      throw new LostConnection('the database is away')
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #open(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      pipeline: true,
      application_name: 'penstock',
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: 10_000,
      lock_timeout: 5_000,
      idle_in_transaction_session_timeout: 15_000,
      keepAlive: true,
      // Otherwise a silently lost server would be noticed only when TCP times out.
      query_timeout: 15_000,
    } as pg.ClientConfig)
    const forget = (): void => {
      if (this.#client === client) this.#client = undefined
    }
    // Without a listener for 'error', a database restart would end this process.
    client.on('error', forget)
    client.on('end', forget)
    try {
      await client.connect()
    } catch (error) {
      this.#failedAtMs = performance.now()
      void client.end().catch(() => undefined)
      throw error
    }
    this.#failedAtMs = Number.NEGATIVE_INFINITY
    this.#client = client
    return client
  }

  async query(text: string): Promise<pg.QueryResult> {
    return (await this.connect()).query(text)
  }

  async #execute<Values extends SqlValues, Row>(
    statement: Statement<Values, Row>,
    values: Values,
  ): Promise<pg.QueryResult> {
    const prepared = statement.for('postgres')
    const client = this.#transaction ? this.#inTransaction() : (this.#client ?? (await this.connect()))
    return client.query({ name: prepared.name, text: prepared.text, values: bind(prepared, values) })
  }

  async all<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]> {
    return (await this.#execute(statement, values)).rows as Row[]
  }

  async first<Values extends SqlValues, Row>(
    statement: Statement<Values, Row>,
    values: Values,
  ): Promise<Row | undefined> {
    return (await this.#execute(statement, values)).rows[0] as Row | undefined
  }

  async run<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<number> {
    this.changeCount++
    return (await this.#execute(statement, values)).rowCount ?? 0
  }

  #send(text: string): void {
    this.#inTransaction()
      .query(text)
      .catch((error: unknown) => {
        this.#sendError ??= error
      })
  }

  // On another connection the statements of a transaction would be committed one by one.
  #inTransaction(): pg.Client {
    if (!this.#transaction || this.#transaction !== this.#client) throw new LostConnection('the connection was lost')
    return this.#transaction
  }

  async begin(): Promise<void> {
    this.#transaction = await this.connect()
    this.#sendError = undefined
    // Explicit isolation level: a write must see what was committed while it waited for its locks.
    this.#send('BEGIN ISOLATION LEVEL READ COMMITTED')
  }

  async savepoint(): Promise<void> {
    this.#send('SAVEPOINT one_write')
  }

  async release(): Promise<void> {
    this.#send('RELEASE SAVEPOINT one_write')
  }

  async undo(): Promise<boolean> {
    if (this.#transaction !== this.#client || this.#sendError) return false
    this.#send('ROLLBACK TO SAVEPOINT one_write')
    this.#send('RELEASE SAVEPOINT one_write')
    return true
  }

  async commit(): Promise<void> {
    const result = await this.#inTransaction().query('COMMIT')
    if (this.#sendError) throw this.#sendError
    // PostgreSQL answers the COMMIT of a failed transaction with a ROLLBACK and no error.
    if (result.command !== 'COMMIT') throw new Error('the transaction was rolled back')
    this.#transaction = undefined
  }

  async rollback(): Promise<void> {
    const client = this.#transaction
    this.#transaction = undefined
    if (client && client === this.#client) await client.query('ROLLBACK')
  }

  classify(error: unknown): Verdict {
    if (error instanceof Problem) return 'write-failed'
    if (error instanceof LostConnection) return 'unavailable'
    const code = (error as { code?: unknown }).code
    if (typeof code !== 'string')
      return error instanceof pg.DatabaseError
        ? 'write-failed'
        : isConnectionError(error)
          ? 'unavailable'
          : 'write-failed'
    // 25P02 says only that the transaction had failed before. Databases without savepoint rollback return it after every failure.
    if (code === '25P02' && this.#sendError && this.#sendError !== error) return this.classify(this.#sendError)
    if (code === '40001' || code === '40P01') return 'try-again'
    // Connection, resources, operator intervention, lock timeout, input/output, read-only (a standby after a failover).
    if (/^(08|53|57|58|55P03|25006)/.test(code) || /^E[A-Z]+$/.test(code)) return 'unavailable'
    return 'write-failed'
  }

  async close(): Promise<void> {
    await this.#client?.end().catch(() => undefined)
  }
}

function isConnectionError(error: unknown): boolean {
  return error instanceof Error && /connection|timeout/i.test(error.message)
}

interface Write {
  orderKey: string
  name: string
  input: unknown
  pending: PendingAnswer
}

export interface PostgresOptions<List extends Writes> {
  url: string
  writes: List
  vault: Vault
  events: DatabaseEvents
}

export async function openPostgres<List extends Writes>(options: PostgresOptions<List>): Promise<Database<List>> {
  const { events } = options
  await prepare(options.url)

  const readers = Array.from({ length: readerCount }, () => new PostgresConnection(options.url))
  let nextReader = 0
  let waitingWrites = 0
  let closing = false

  const connections: PostgresConnection[] = [...readers]
  const writers = Array.from({ length: writerCount }, () => {
    const connection = new PostgresConnection(options.url)
    connections.push(connection)
    return new GroupCommit<Write>({
      connection,
      orderKey: (write) => write.orderKey,
      work: (sql, write) => options.writes[write.name]!({ sql, vault: options.vault }, write.input),
      settle: (settled, metrics) => {
        waitingWrites -= settled.length
        events.onGroup?.(metrics)
        for (const [write, outcome] of settled) settle(write.pending, toWire(outcome), events)
      },
    })
  })

  async function reading<Result>(
    work: (reader: PostgresConnection) => Promise<Result>,
    triesLeft = mostReadTries,
  ): Promise<Result> {
    const reader = readers[nextReader++ % readerCount]!
    try {
      return await work(reader)
    } catch (error) {
      const verdict = reader.classify(error)
      if (verdict === 'write-failed') throw error
      if (verdict === 'try-again' && triesLeft > 1) {
        await sleep(Math.random() * 10)
        return reading(work, triesLeft - 1)
      }
      events.onTrouble('a read was refused by the database', describeError(error))
      throw unavailable(error)
    }
  }

  return {
    dialect: 'postgres',
    reader: {
      dialect: 'postgres',
      all: (statement, values) => reading((reader) => reader.all(statement, values)),
      first: (statement, values) => reading((reader) => reader.first(statement, values)),
      run: (statement, values) => reading((reader) => reader.run(statement, values)),
    },
    write: (name, input, orderKey) => {
      if (closing) return Promise.reject(unavailable())
      if (waitingWrites >= maxWaitingWrites) return Promise.reject(tooManyWaiting())
      waitingWrites++
      return new Promise((resolve, reject) => {
        const pending = { resolve: resolve as (value: unknown) => void, reject }
        writers[writerOf(orderKey)]!.add([{ orderKey, name, input, pending }])
      })
    },
    check: () => reading(async (reader) => void (await reader.query('SELECT 1'))),
    close: async () => {
      closing = true
      await Promise.all(writers.map((writer) => writer.idle()))
      await Promise.all(connections.map((connection) => connection.close()))
    },
  }
}

function writerOf(orderKey: string): number {
  let sum = 0
  for (let index = 0; index < orderKey.length; index++) sum = (sum * 31 + orderKey.charCodeAt(index)) | 0
  return Math.abs(sum) % writerCount
}

/** Refuses a server that may lose committed data, then migrates the schema. */
async function prepare(url: string): Promise<void> {
  const client = await connectOnce(url)
  try {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      const { rows } = await client.query(`SHOW ${setting}`)
      if (rows[0]?.[setting] === 'off') {
        throw new StartError(
          `PostgreSQL has ${setting}=off: it may lose changes that Penstock has confirmed. Set ${setting}=on and start again.`,
        )
      }
    }
    await migrate({
      dialect: 'postgres',
      execute: async (text) => void (await client.query(text)),
      rows: async (text) => (await client.query(text)).rows,
      locked: async (work) => {
        await client.query(`SELECT pg_advisory_lock(${migrationLockId})`)
        try {
          await work()
        } finally {
          await client.query(`SELECT pg_advisory_unlock(${migrationLockId})`).catch(() => undefined)
        }
      },
    })
  } catch (error) {
    if (error instanceof StartError) throw error
    if (error instanceof MigrationError) throw new StartError(error.message)
    const code = (error as { code?: string }).code ?? 'unknown'
    throw new StartError(
      `The schema could not be brought up to date on PostgreSQL (SQLSTATE ${code}). The user of DATABASE_URL must be allowed to create tables.`,
      { cause: error },
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}
