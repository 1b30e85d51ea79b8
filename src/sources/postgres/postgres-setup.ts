// The publication and the slot of a pipe: made when they are missing, and kept as the mappings say.
import pg from 'pg'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { DescribedSource } from './postgres-describe.ts'
import type { PostgresLink } from './postgres-link.ts'
import { quotedTable } from './postgres-words.ts'

type Named = Pick<TableMapping, 'sourceSchemaName' | 'sourceTable'>

/** Ours publishes exactly the mapped tables. One that the user has named is theirs. */
export async function keepPublication(
  link: PostgresLink,
  { settings }: Pick<PostgresSource, 'settings'>,
  { tables }: DescribedSource,
  ownName: string,
): Promise<string> {
  const { publicationName } = settings
  if (publicationName !== undefined) return publicationName
  const name = pg.escapeIdentifier(ownName)
  const isViaRoot = tables.some(({ found }) => found.kind === 'p')
  const wanted = tables.map(({ mapping }) => mapping)
  const [found] = await link.query(
    `SELECT coalesce((to_jsonb(publication) ->> 'pubviaroot')::bool, false)
     FROM pg_catalog.pg_publication publication WHERE pubname = ${pg.escapeLiteral(ownName)}`,
  )
  if (!found) {
    const viaRoot = isViaRoot ? ' WITH (publish_via_partition_root = true)' : ''
    await link.query(`CREATE PUBLICATION ${name} FOR TABLE ${wanted.map(quotedTable).join(', ')}${viaRoot}`)
    return ownName
  }
  const present = await listPublished(link, ownName)
  const added = without(wanted, present)
  const removed = without(present, wanted)
  if (isViaRoot && found[0] !== 't') {
    await link.query(`ALTER PUBLICATION ${name} SET (publish_via_partition_root = true)`)
  }
  if (added.length > 0) await link.query(`ALTER PUBLICATION ${name} ADD TABLE ${added.map(quotedTable).join(', ')}`)
  if (removed.length > 0)
    await link.query(`ALTER PUBLICATION ${name} DROP TABLE ${removed.map(quotedTable).join(', ')}`)
  return ownName
}

async function listPublished(link: PostgresLink, publication: string): Promise<Named[]> {
  const rows = await link.query(
    `SELECT schema.nspname, published.relname
     FROM pg_catalog.pg_publication_rel member
     JOIN pg_catalog.pg_publication publication ON publication.oid = member.prpubid
     JOIN pg_catalog.pg_class published ON published.oid = member.prrelid
     JOIN pg_catalog.pg_namespace schema ON schema.oid = published.relnamespace
     WHERE publication.pubname = ${pg.escapeLiteral(publication)}`,
  )
  return rows.map(([sourceSchemaName, sourceTable]) => ({
    sourceSchemaName: sourceSchemaName ?? '',
    sourceTable: sourceTable ?? '',
  }))
}

function without(tables: Named[], others: Named[]): Named[] {
  const known = new Set(others.map(quotedTable))
  return tables.filter((table) => !known.has(quotedTable(table)))
}

/** One of another database has none of the changes of this one: it is `lost`. */
export type SlotState = 'missing' | 'lost' | 'there'

export async function findSlotState(link: PostgresLink, slot: string): Promise<SlotState> {
  const [found] = await link.query(
    `SELECT coalesce(to_jsonb(slot) ->> 'wal_status' = 'lost' OR to_jsonb(slot) ->> 'conflicting' = 'true'
       OR slot.database <> pg_catalog.current_database(), false)
     FROM pg_catalog.pg_replication_slots slot WHERE slot_name = ${pg.escapeLiteral(slot)}`,
  )
  if (!found) return 'missing'
  return found[0] === 't' ? 'lost' : 'there'
}

/** Gives where its log begins. */
export async function createSlot(
  replication: PostgresLink,
  slot: string,
  { isFailover }: { isFailover: boolean },
): Promise<string> {
  // It waits for all who are writing, which may take longer than anything else here may wait for a lock.
  await replication.query('SET lock_timeout = 0')
  const options = isFailover ? "(SNAPSHOT 'nothing', FAILOVER true)" : 'NOEXPORT_SNAPSHOT'
  const [created] = await replication.query(
    `CREATE_REPLICATION_SLOT ${pg.escapeIdentifier(slot)} LOGICAL pgoutput ${options}`,
  )
  return created?.[1] ?? '0/0'
}

export async function dropSlot(link: PostgresLink, slot: string): Promise<void> {
  await link.query(`SELECT pg_catalog.pg_drop_replication_slot(${pg.escapeLiteral(slot)})`)
}
