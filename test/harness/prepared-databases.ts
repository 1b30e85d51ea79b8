// Databases that a test run prepares in its PostgreSQL server: the source of the API examples, `orders-db.northwind.example` with
// the database `shop` and its orders, and a template database with the schema of Penstock. Copying the template takes half the
// time of creating the schema.
import pg from 'pg'
import { migrate } from '../../src/database/migrate.ts'

export const exampleHost = 'orders-db.northwind.example'
/** Without connections: only then it can be used as a template. */
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
