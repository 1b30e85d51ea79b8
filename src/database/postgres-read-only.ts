// Read-only access to PostgreSQL while Penstock processes run.
import type pg from 'pg'
import { StartError } from '../lib/start-error.ts'
import { schemaMismatch, selectMigrations } from './migrate.ts'
import { connectOnce } from './postgres-connect.ts'
import { bind, type Sql } from './sql.ts'

const undefinedTable = '42P01'

export interface ReadOnlyPostgres {
  sql: Sql
  close(): Promise<void>
}

export async function openPostgresReadOnly(url: string): Promise<ReadOnlyPostgres> {
  const client = await connectOnce(url, { statement_timeout: 10_000, query_timeout: 15_000, keepAlive: true })
  const ask = async <Row>(query: pg.QueryConfig): Promise<Row[]> => {
    try {
      return (await client.query(query)).rows as Row[]
    } catch (error) {
      const code = (error as { code?: string }).code
      throw new StartError(`PostgreSQL did not let Penstock read${code ? ` (${code})` : ''}. Try again.`, {
        cause: error,
      })
    }
  }
  const all: Sql['all'] = (statement, values) => {
    const prepared = statement.for('postgres')
    return ask({ name: prepared.name, text: prepared.text, values: bind(prepared, values) })
  }
  try {
    // Makes the server refuse every change.
    await ask({ text: 'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY' })
    const mismatch = schemaMismatch(await appliedNumbers(client))
    if (mismatch !== undefined) throw mismatch
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return {
    sql: {
      dialect: 'postgres',
      all,
      first: async (statement, values) => (await all(statement, values))[0],
      run: async (statement, values) => (await all(statement, values)).length,
    },
    close: () => client.end().catch(() => undefined),
  }
}

async function appliedNumbers(client: pg.Client): Promise<number[]> {
  try {
    return (await client.query(selectMigrations)).rows.map(({ number }: { number: number }) => number)
  } catch (error) {
    const { code = 'unknown' } = error as { code?: string }
    if (code === undefinedTable) return []
    throw new StartError(
      `The tables of Penstock cannot be read on PostgreSQL (SQLSTATE ${code}). The user of DATABASE_URL must be allowed to.`,
      { cause: error },
    )
  }
}
