// Direct access of a drill to the database of Penstock.
import { copyFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { bind, type Sql, type SqlValues, type Statement } from '../../src/database/sql.ts'
import { SqliteConnection, walLimitBytes } from '../../src/database/sqlite.ts'

export interface DrillStore {
  sql: Sql
  all<Row>(text: string): Promise<Row[]>
  /** One message per inconsistency. */
  findDamage(): Promise<string[]>
  close(): Promise<void>
}

/**
 * Opens the database only during `use`: the next start must find the WAL unchanged, without another process that has it mapped.
 */
export async function inStore<Result>(
  folder: string,
  look: (store: DrillStore) => Promise<Result>,
  databaseUrl?: string,
): Promise<Result> {
  const store = databaseUrl === undefined ? openFileStore(folder) : await openServerStore(databaseUrl)
  try {
    return await look(store)
  } finally {
    await store.close()
  }
}

function openFileStore(folder: string): DrillStore {
  const connection = new SqliteConnection(join(folder, 'penstock.db'), { readOnly: false })
  const read = <Row>(text: string): Row[] => connection.database.prepare(text).all() as Row[]
  return {
    sql: connection,
    all: async (text) => read(text),
    findDamage: async () => {
      const damage = read<{ integrity_check: string }>('PRAGMA integrity_check').map((row) => row.integrity_check)
      const orphans = read('PRAGMA foreign_key_check').map((row) => `a reference to nothing: ${JSON.stringify(row)}`)
      return [...damage.filter((sentence) => sentence !== 'ok'), ...orphans]
    },
    close: async () => connection.close(),
  }
}

async function openServerStore(url: string): Promise<DrillStore> {
  const client = new pg.Client({ connectionString: url })
  // A terminated server must not end the drill.
  client.on('error', () => undefined)
  await client.connect()
  const all = async <Row>(text: string): Promise<Row[]> => (await client.query(text)).rows as Row[]
  const execute = <Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values) => {
    const prepared = statement.for('postgres')
    return client.query(prepared.text, bind(prepared, values))
  }
  const sql: Sql = {
    dialect: 'postgres',
    all: async (statement, values) => (await execute(statement, values)).rows,
    first: async (statement, values) => (await execute(statement, values)).rows[0],
    run: async (statement, values) => (await execute(statement, values)).rowCount ?? 0,
  }
  return {
    sql,
    all,
    // Page checksums are verified when pages are read.
    findDamage: async () => {
      const tables = await all<{ name: string }>(
        `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
      )
      const damage: string[] = []
      for (const { name } of tables) {
        await client
          .query(`SELECT sum(length(whole::text)) FROM ${name} AS whole`)
          .catch((error: Error) => damage.push(`${name}: ${error.message}`))
      }
      return damage
    },
    close: () => client.end(),
  }
}

const paddingRows = 64
const paddingRowBytes = 1_500

/**
 * Makes the WAL so long that the next commit starts a checkpoint, or nearly. No other process may have the file open; nothing is
 * synced. Writes few pages repeatedly, so that the checkpoint itself is small.
 */
export function padLog(folder: string, { shortByBytes = 0 } = {}): void {
  const file = join(folder, 'penstock.db')
  const connection = new SqliteConnection(file, { readOnly: false })
  const { database } = connection
  database.exec('PRAGMA synchronous = OFF')
  database.exec('CREATE TABLE IF NOT EXISTS padding (number integer PRIMARY KEY, bytes blob)')
  const write = database.prepare('INSERT OR REPLACE INTO padding VALUES (?, randomblob(?))')
  while (statSync(`${file}-wal`).size + shortByBytes <= walLimitBytes) {
    database.exec('BEGIN')
    for (let number = 0; number < paddingRows; number++) write.run(number, paddingRowBytes)
    database.exec('COMMIT')
  }
  // Closing the last connection would checkpoint and remove the WAL.
  const both = [file, `${file}-wal`]
  for (const each of both) copyFileSync(each, `${each}.kept`)
  connection.close()
  for (const each of both) renameSync(`${each}.kept`, each)
}
