// Exclusive access for maintenance commands. SQLite: locks the file against every other process. PostgreSQL: holds an advisory
// lock against other commands, while running processes continue.
import type { ClientConfig } from 'pg'
import { DataInUseError, StartError } from '../lib/start-error.ts'
import { type SchemaTarget, selectMigrations } from './migrate.ts'
import type { DataLocation } from './snapshot.ts'
import { bind, type Sql, type SqlValue } from './sql.ts'
import { lockFile, openFailure, SqliteConnection } from './sqlite.ts'

export interface Exclusive extends SchemaTarget {
  readonly sql: Sql
  /** Atomic, also across a crash. */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>
  insert(table: string, columns: string[], rows: SqlValue[][]): Promise<void>
  close(): Promise<void>
}

/** `schema`: also blocks migrations. */
export type ExclusiveLock = 'schema' | 'keys'

/** Maximum number of values in a statement, on either database. */
const mostValues = 30_000

export async function openExclusive(
  { databaseUrl, sqliteFile }: DataLocation,
  lock: ExclusiveLock,
): Promise<Exclusive> {
  return databaseUrl === undefined ? openOnSqlite(sqliteFile) : openOnPostgres(databaseUrl, lock)
}

function openOnSqlite(file: string): Exclusive {
  const lock = lockFile(`${file}.lock`)
  if (!lock) {
    throw new DataInUseError(
      `Penstock is running on ${file}, and with SQLite only one process may write it. Stop Penstock first.`,
    )
  }
  let connection: SqliteConnection
  try {
    connection = new SqliteConnection(file, { readOnly: false })
  } catch (error) {
    lock.release()
    throw new StartError(openFailure(file, error), { cause: error })
  }
  const { database } = connection
  const isTrouble = (error: unknown) => connection.classify(error) !== 'write-failed'
  return {
    dialect: 'sqlite',
    sql: connection,
    execute: async (text) => database.exec(text),
    rows: async (text) => database.prepare(text).all(),
    transaction: (work) =>
      inTransaction(
        {
          begin: () => connection.begin(),
          commit: () => connection.commit(),
          rollback: () => connection.rollback(),
          isTrouble,
        },
        work,
      ),
    insert: async (table, columns, rows) => {
      const marks = columns.map(() => '?').join(', ')
      const statement = database.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`)
      for (const row of rows) statement.run(...row)
    },
    close: async () => {
      connection.close()
      lock.release()
    },
  }
}

async function openOnPostgres(url: string, lock: ExclusiveLock): Promise<Exclusive> {
  const { migrationLockId } = await import('./postgres.ts')
  const { connectOnce } = await import('./postgres-connect.ts')
  // Pipelined: statements are sent without waiting for the previous result.
  const client = await connectOnce(url, { keepAlive: true, pipeline: true } as ClientConfig)
  const lockId = lock === 'schema' ? migrationLockId : migrationLockId + 1
  await client.query('SET statement_timeout = 0')
  await client.query('SET idle_in_transaction_session_timeout = 0')
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${lockId}) AS is_ours`)
  if (rows[0].is_ours !== true) {
    await client.end().catch(() => undefined)
    throw new DataInUseError(
      'Another command or a starting Penstock is at work on this database. Try again when it is done.',
    )
  }
  const all: Sql['all'] = async (statement, values) => {
    const prepared = statement.for('postgres')
    return (await client.query(prepared.text, bind(prepared, values))).rows
  }
  const execute = async (text: string) => void (await client.query(text))
  return {
    dialect: 'postgres',
    sql: {
      dialect: 'postgres',
      all,
      first: async (statement, values) => (await all(statement, values))[0],
      run: async (statement, values) => {
        const prepared = statement.for('postgres')
        return (await client.query(prepared.text, bind(prepared, values))).rowCount ?? 0
      },
    },
    execute,
    rows: async (text) => (await client.query(text)).rows,
    transaction: (work) =>
      inTransaction(
        {
          begin: () => execute('BEGIN ISOLATION LEVEL READ COMMITTED'),
          commit: () => execute('COMMIT'),
          rollback: () => execute('ROLLBACK'),
          isTrouble: isPostgresTrouble,
        },
        work,
      ),
    insert: async (table, columns, rows) => {
      const rowsAtOnce = Math.max(1, Math.floor(mostValues / columns.length))
      for (let start = 0; start < rows.length; start += rowsAtOnce) {
        const some = rows.slice(start, start + rowsAtOnce)
        const marks = some.map(
          (_, row) => `(${columns.map((_, at) => `$${row * columns.length + at + 1}`).join(', ')})`,
        )
        await client.query(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${marks.join(', ')}`, some.flat())
      }
    },
    close: () => client.end().catch(() => undefined),
  }
}

interface TransactionSteps {
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Whether the database failed, rather than the statement. */
  isTrouble(error: unknown): boolean
}

async function inTransaction<Result>(steps: TransactionSteps, work: () => Promise<Result>): Promise<Result> {
  try {
    await steps.begin()
    const result = await work()
    await steps.commit()
    return result
  } catch (error) {
    await steps.rollback().catch(() => undefined)
    if (error instanceof StartError || !steps.isTrouble(error)) throw error
    const { code = 'connection lost' } = error as { code?: string }
    throw new StartError(
      `The database could not go on (${code}). What was under way is undone; run the command again.`,
      {
        cause: error,
      },
    )
  }
}

function isPostgresTrouble(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  // Connection, resources, operator intervention, input/output, read-only.
  if (typeof code === 'string') return /^(?:08|53|57|58|25006|E[A-Z]+$)/.test(code)
  return /connection|terminated/i.test(String(message))
}

/** Numbers of the applied migrations; empty when the database has no Penstock tables. */
export async function appliedMigrations(database: Exclusive): Promise<number[]> {
  const text =
    database.dialect === 'sqlite'
      ? `SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'`
      : `SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL`
  if ((await database.rows(text)).length === 0) return []
  return (await database.rows(selectMigrations)).map(({ number }) => number as number)
}

export async function hasRows(database: Exclusive, table: string): Promise<boolean> {
  return (await database.rows(`SELECT 1 AS one FROM ${table} LIMIT 1`)).length > 0
}
