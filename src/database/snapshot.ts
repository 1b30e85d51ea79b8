// Consistent snapshot of a database, readable while other processes write.
import { StartError } from '../lib/start-error.ts'
import { loadMigrations, newestOf, schemaMismatch, selectMigrations, tablesOf } from './migrate.ts'
import { bind, type Dialect, type Sql, type SqlValue } from './sql.ts'
import { openSqliteReadOnly } from './sqlite-read-only.ts'

/** Location of the data. */
export interface DataLocation {
  /** Undefined: SQLite. */
  databaseUrl: string | undefined
  sqliteFile: string
}

export interface TableRows {
  columns: string[]
  /** Batches of rows. */
  portions: AsyncIterable<SqlValue[][]>
}

export interface Snapshot {
  readonly dialect: Dialect
  /** Number of the newest migration. */
  readonly schema: number
  /** Each table after the tables it references. */
  readonly tables: string[]
  readonly sql: Sql
  read(table: string): Promise<TableRows>
  close(): Promise<void>
}

const portionRows = 500

export async function openSnapshot({ databaseUrl, sqliteFile }: DataLocation): Promise<Snapshot> {
  return databaseUrl === undefined ? openSqliteSnapshot(sqliteFile) : openPostgresSnapshot(databaseUrl)
}

function openSqliteSnapshot(file: string): Snapshot {
  const connection = openSqliteReadOnly(file)
  connection.beginRead()
  // SQLite takes the snapshot with the first read.
  connection.database.prepare(selectMigrations).all()
  async function* portions(statement: ReturnType<typeof connection.database.prepare>) {
    let portion: SqlValue[][] = []
    for (const row of statement.iterate() as Iterable<unknown>) {
      portion.push(row as SqlValue[])
      if (portion.length < portionRows) continue
      yield portion
      portion = []
    }
    if (portion.length > 0) yield portion
  }
  return {
    ...known('sqlite'),
    sql: connection,
    read: async (table) => {
      const statement = connection.database.prepare(`SELECT * FROM ${table}`)
      statement.setReturnArrays(true)
      return { columns: statement.columns().map(({ name }) => name), portions: portions(statement) }
    },
    close: async () => {
      connection.endRead()
      connection.close()
    },
  }
}

async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  // Loaded only for PostgreSQL: the driver takes time to load.
  const { connectOnce } = await import('./postgres-connect.ts')
  const client = await connectOnce(url, { keepAlive: true })
  const ask = async (text: string, values: SqlValue[] = []) => {
    try {
      return await client.query({ text, values, rowMode: 'array' })
    } catch (error) {
      const { code = 'connection lost' } = error as { code?: string }
      throw new StartError(`PostgreSQL did not let Penstock read all tables (${code}). Try again.`, { cause: error })
    }
  }
  const all: Sql['all'] = async (statement, values) => {
    const prepared = statement.for('postgres')
    return (await client.query(prepared.text, bind(prepared, values))).rows
  }
  async function* portions() {
    for (;;) {
      const { rows } = await ask(`FETCH ${portionRows} FROM all_rows`)
      if (rows.length === 0) break
      yield rows as unknown as SqlValue[][]
    }
    await ask('CLOSE all_rows')
  }
  try {
    // No time limits: reading everything may take long.
    await ask('SET statement_timeout = 0')
    await ask('SET idle_in_transaction_session_timeout = 0')
    await ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const [found] = (await ask(`SELECT to_regclass('schema_migrations')`)).rows as unknown as [[unknown]]
    const applied = found[0] === null ? [] : ((await ask(selectMigrations)).rows as unknown as [number][])
    const mismatch = schemaMismatch(applied.map(([number]) => number))
    if (mismatch !== undefined) throw mismatch
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return {
    ...known('postgres'),
    sql: {
      dialect: 'postgres',
      all,
      first: async (statement, values) => (await all(statement, values))[0],
      run: async (statement, values) => (await all(statement, values)).length,
    },
    read: async (table) => {
      const { fields } = await ask(`SELECT * FROM ${table} LIMIT 0`)
      await ask(`DECLARE all_rows NO SCROLL CURSOR FOR SELECT * FROM ${table}`)
      return { columns: fields.map(({ name }) => name), portions: portions() }
    },
    close: () => client.end().catch(() => undefined),
  }
}

/** Schema and tables of this version; no other is read. */
function known<Kind extends Dialect>(dialect: Kind) {
  const migrations = loadMigrations()
  return { dialect, schema: newestOf(migrations), tables: tablesOf(migrations, dialect) }
}
