// A database file as somebody else reads it: without the lock of the process that owns it, and without changing anything.
import { existsSync } from 'node:fs'
import { StartError } from '../lib/start-error.ts'
import { loadMigrations, selectMigrations } from './migrate.ts'
import { SqliteConnection } from './sqlite.ts'

export function openSqliteReadOnly(file: string): SqliteConnection {
  if (!existsSync(file)) throw new StartError(`There is no database at ${file}. PENSTOCK_DATA says where the data is.`)
  const newest = Math.max(...loadMigrations().map(({ number }) => number))
  let connection: SqliteConnection | undefined
  let schema: number | undefined
  try {
    connection = new SqliteConnection(file, { readOnly: true })
    const applied = connection.database.prepare(selectMigrations).all() as { number: number }[]
    schema = applied.at(-1)?.number
  } catch (error) {
    connection?.close()
    throw new StartError(`The database file ${file} cannot be read: is it a Penstock database, and may it be read?`, {
      cause: error,
    })
  }
  if (schema === newest) return connection
  connection.close()
  throw new StartError(
    `The database ${file} is at schema ${schema}, and this Penstock is at ${newest}. Use the version that the database is used with.`,
  )
}
