// What the PostgreSQL server of a test run has before the first test: the source that the examples of the API name,
// `orders-db.northwind.example` with the database `shop` and its orders; and a database with the schema of Penstock, to be copied,
// which takes half the time of making it.
import pg from 'pg'
import { migrate } from '../src/database/migrate.ts'

export const exampleHost = 'orders-db.northwind.example'
/** Nobody connects to it: only then it can be copied. */
export const schemaTemplate = 'penstock_schema'

export async function prepareDatabases(serverUrl: string): Promise<void> {
  await makeExampleDatabase(serverUrl)
  await query(serverUrl, [`CREATE DATABASE ${schemaTemplate}`])
  await connected(databaseUrl(serverUrl, schemaTemplate), (client) =>
    migrate({
      dialect: 'postgres',
      execute: async (text) => void (await client.query(text)),
      rows: async (text) => (await client.query(text)).rows,
      locked: (work) => work(),
    }),
  )
}

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

/** The password is that of the example. */
async function makeExampleDatabase(serverUrl: string): Promise<void> {
  await query(serverUrl, [`CREATE ROLE shop_reader LOGIN PASSWORD 'a-password'`, 'CREATE DATABASE shop'])
  await query(databaseUrl(serverUrl, 'shop'), [
    'CREATE TABLE orders (id bigint PRIMARY KEY, placed_at timestamptz NOT NULL)',
    `INSERT INTO orders VALUES (1, '2026-11-02T16:40:09.120Z')`,
    'GRANT SELECT ON orders TO shop_reader',
  ])
}

async function query(url: string, statements: string[]): Promise<void> {
  await connected(url, async (client) => {
    for (const statement of statements) await client.query(statement)
  })
}

async function connected(url: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}
