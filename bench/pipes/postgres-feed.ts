// PostgreSQL source: the same orders in a table, and their changes in the WAL.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { startDebianPostgres } from '../../test/real/servers/postgres.ts'
import { channels, countries, firstSecond, ordersPerSecond, products, statuses } from './orders.ts'

/** Connection data of the source. All connections use TLS. */
export interface PostgresFeed {
  kind: 'postgres'
  host: string
  port: number
  database: string
  username: string
  password: string
  /** Path of the CA certificate. */
  caFile: string
  table: string
}

export interface PostgresFeedServer {
  /** With its version. */
  name: string
  feed(table: string): PostgresFeed
  query(sql: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

/** Status of updated orders; no inserted order has it. */
export const changedStatus = 'changed'

export async function startPostgresFeed(folder: string): Promise<PostgresFeedServer> {
  const { name, host, port, ca, superuser, query, stop } = await startDebianPostgres()
  const caFile = join(folder, 'postgres-ca.pem')
  await writeFile(caFile, ca)
  return {
    name,
    feed: (table) => ({ kind: 'postgres', host, port, database: 'postgres', ...superuser, caFile, table }),
    query,
    stop,
  }
}

/** Fills the table with the first orders. */
export async function makeOrders(server: PostgresFeedServer, table: string, count: number): Promise<void> {
  await server.query(`
    CREATE TABLE ${table} (
      order_id bigint PRIMARY KEY, created_at timestamp NOT NULL, customer_id integer NOT NULL, country text NOT NULL,
      status text NOT NULL, channel text NOT NULL, product text NOT NULL, quantity smallint NOT NULL,
      unit_price double precision NOT NULL, discount double precision NOT NULL
    );
    INSERT INTO ${table} ${ordersText('0', String(count))}`)
  // Sets the hint bits, which the first reader would have to write otherwise.
  await server.query(`VACUUM (ANALYZE) ${table}`)
}

/** Query for the orders from `begin` to `end`, exclusive, equal to those of `orderOf`. */
export function ordersText(begin: string, end: string): string {
  const pick = (list: string[], shift: number): string =>
    `('{${list.join(',')}}'::text[])[1 + (mixed >> ${shift}) % ${list.length}]`
  return `
    SELECT number, to_timestamp(${firstSecond} + number / ${ordersPerSecond}) AT TIME ZONE 'UTC', mixed % 900000,
      ${pick(countries, 3)}, ${pick(statuses, 7)}, ${pick(channels, 11)}, ${pick(products, 13)} || '-' || mixed % 4000,
      1 + (mixed >> 17) % 9, (mixed % 20000) / 100.0, (mixed >> 21) % 30 / 100.0
    FROM (SELECT number, number * ${0x9e3779b1} & ${0xffffffff} AS mixed
          FROM generate_series((${begin})::bigint, (${end})::bigint - 1) number) orders`
}

/** Table as Penstock creates it for this source, without the columns that Penstock adds. */
export async function makeReplica(engine: EngineServer, table: string): Promise<void> {
  const types = await engine.query("SELECT name FROM system.data_type_families WHERE name = 'DateTime64'")
  await engine.query(`
    CREATE TABLE ${table} (
      order_id Int64, created_at ${types === '' ? 'String' : "DateTime64(6, 'UTC')"}, customer_id Int32, country String,
      status String, channel String, product String, quantity Int16, unit_price Float64, discount Float64,
      _penstock_version UInt64, _penstock_deleted UInt8
    ) ENGINE = ReplacingMergeTree(_penstock_version) ORDER BY order_id`)
}
