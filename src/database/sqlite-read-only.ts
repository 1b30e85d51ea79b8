// A database file as somebody else reads it: without the lock of the process that owns it, and without changing anything.
import { existsSync } from 'node:fs'
import { StartError } from '../lib/start-error.ts'
import { schemaMismatch, selectMigrations } from './migrate.ts'
import { SqliteConnection } from './sqlite.ts'

export function openSqliteReadOnly(file: string): SqliteConnection {
  if (!existsSync(file)) throw new StartError(`There is no database at ${file}. PENSTOCK_DATA says where the data is.`)
  let connection: SqliteConnection | undefined
  let mismatch: string | undefined
  try {
    connection = new SqliteConnection(file, { readOnly: true })
    const applied = connection.database.prepare(selectMigrations).all() as { number: number }[]
    mismatch = schemaMismatch(applied.map(({ number }) => number))
  } catch (error) {
    connection?.close()
    throw new StartError(`The database file ${file} cannot be read: is it a Penstock database, and may it be read?`, {
      cause: error,
    })
  }
  if (mismatch === undefined) return connection
  connection.close()
  throw new StartError(mismatch)
}
