// Read-only access to an SQLite file, without the lock of the process that owns it.
import { statSync } from 'node:fs'
import { NotSetUpError, StartError } from '../lib/start-error.ts'
import { schemaMismatch, selectMigrations } from './migrate.ts'
import { openFailure, SqliteConnection } from './sqlite.ts'

export function openSqliteReadOnly(file: string): SqliteConnection {
  let connection: SqliteConnection | undefined
  let mismatch: StartError | undefined
  try {
    // Not `existsSync`, which returns false when access is denied.
    const isMissing = statSync(file, { throwIfNoEntry: false }) === undefined
    if (isMissing) throw new NotSetUpError(`There is no database at ${file}. This Penstock has not been set up yet.`)
    connection = new SqliteConnection(file, { readOnly: true })
    const applied = connection.database.prepare(selectMigrations).all() as { number: number }[]
    mismatch = schemaMismatch(applied.map(({ number }) => number))
  } catch (error) {
    connection?.close()
    if (error instanceof NotSetUpError) throw error
    const refusal = `The database file ${file} cannot be read: is it a Penstock database, and may it be read?`
    throw new StartError(openFailure(file, error, refusal), { cause: error })
  }
  if (mismatch === undefined) return connection
  connection.close()
  throw mismatch
}
