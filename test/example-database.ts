// The PostgreSQL source that the examples of the API name: `orders-db.northwind.example` with the database `shop` and its orders.
import pg from 'pg'

export const exampleHost = 'orders-db.northwind.example'

/** On the server of the test run. The password is that of the example. */
export async function makeExampleDatabase(serverUrl: string): Promise<void> {
  await query(serverUrl, [`CREATE ROLE shop_reader LOGIN PASSWORD 'a-password'`, 'CREATE DATABASE shop'])
  const url = new URL(serverUrl)
  url.pathname = '/shop'
  await query(url.href, [
    'CREATE TABLE orders (id bigint PRIMARY KEY, placed_at timestamptz NOT NULL)',
    `INSERT INTO orders VALUES (1, '2026-11-02T16:40:09.120Z')`,
    'GRANT SELECT ON orders TO shop_reader',
  ])
}

async function query(url: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
