// Queries, creates, advances and drops the replication slot of a pipe.
import type { PostgresLink } from './postgres-link.ts'
import { escapeIdentifier, escapeLiteral } from './postgres-names.ts'

/** A slot of another database counts as `lost`. */
export type SlotState = 'missing' | 'lost' | 'there'

export async function findSlotState(link: PostgresLink, slot: string): Promise<SlotState> {
  const [found] = await link.query(
    `SELECT coalesce(to_jsonb(slot) ->> 'wal_status' = 'lost' OR to_jsonb(slot) ->> 'conflicting' = 'true'
       OR slot.database <> pg_catalog.current_database(), false)
     FROM pg_catalog.pg_replication_slots slot WHERE slot_name = ${escapeLiteral(slot)}`,
  )
  if (!found) return 'missing'
  return found[0] === 't' ? 'lost' : 'there'
}

/** Returns the LSN from which the slot can be read. */
export async function createSlot(
  replication: PostgresLink,
  slot: string,
  { isFailover }: { isFailover: boolean },
): Promise<string> {
  // It waits for all running write transactions, which can take longer than lock_timeout.
  await replication.query('SET lock_timeout = 0')
  const options = isFailover ? "(SNAPSHOT 'nothing', FAILOVER true)" : 'NOEXPORT_SNAPSHOT'
  const [created] = await replication.query(
    `CREATE_REPLICATION_SLOT ${escapeIdentifier(slot)} LOGICAL pgoutput ${options}`,
  )
  return created?.[1] ?? '0/0'
}

/** Advances the slot to the end of the WAL without decoding. Returns the new LSN. */
export async function advanceSlot(link: PostgresLink, slot: string): Promise<string> {
  const [advanced] = await link.query(
    `SELECT end_lsn FROM pg_catalog.pg_replication_slot_advance(${escapeLiteral(slot)},
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
       ELSE pg_catalog.pg_current_wal_lsn() END)`,
  )
  return advanced?.[0] ?? '0/0'
}

export async function dropSlot(link: PostgresLink, slot: string): Promise<void> {
  await link.query(`SELECT pg_catalog.pg_drop_replication_slot(${escapeLiteral(slot)})`)
}
