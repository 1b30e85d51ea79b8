// Current end of the WAL that can be read.
import { type PostgresLink, parseLsn } from './postgres-link.ts'

export async function findWalEnd(link: PostgresLink): Promise<bigint> {
  const [row] = await link.query(
    `SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
       ELSE pg_catalog.pg_current_wal_flush_lsn() END`,
  )
  return parseLsn(row?.[0] ?? '')
}
