// Checks that a server is set up for logical replication: wal_level, slots, WAL senders, role, publication.

import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { FailureDetails } from '../../source-shapes/source-failure.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import {
  findPublication,
  findSlot,
  listPublishedTables,
  type Publication,
  type PublishedTable,
  type Server,
} from './postgres-catalog.ts'
import type { PostgresSession } from './postgres-connection.ts'
import { createSlotStatement, escapeIdentifier, listed, plainName, quotedTable, tableName } from './postgres-names.ts'
import type { MappedTable } from './postgres-tables.ts'

const oldestVersion = 12

function fail(details: Omit<FailureDetails, 'step'>): never {
  throw new ProbeFailure({ step: 'describe', ...details })
}

const majorOf = ({ version }: Server): number => Math.floor(version / 10_000)

/** Rejects with a ProbeFailure. */
export function checkVersion(server: Server): void {
  if (majorOf(server) >= oldestVersion) return
  fail({
    code: 'not_set_up',
    reason: `the server is PostgreSQL ${majorOf(server)}, and Penstock reads ${oldestVersion} and newer`,
    remedy: 'upgrade the server',
    field: 'host',
  })
}

/** When `ownSlot` exists, a free slot and WAL sender are not required. Rejects with a ProbeFailure. */
export async function checkReplication(
  session: PostgresSession,
  server: Server,
  config: PostgresSource,
  ownSlot?: string,
): Promise<void> {
  const { settings } = config
  const { replicationSlotName, enableFailoverSlots } = settings
  const isFollowing = ownSlot !== undefined && (await findSlot(session, ownSlot)) !== undefined
  if (server.isStandby) checkStandby(server, settings)
  if (server.walLevel !== 'logical') {
    fail({
      code: 'not_set_up',
      reason: `changes can be followed only with wal_level logical, and it is ${plainName(server.walLevel)}`,
      remedy:
        'run ALTER SYSTEM SET wal_level = logical and restart the server (a cloud has a parameter for logical replication), or use the replicationMode snapshot',
      field: 'settings.replicationMode',
    })
  }
  if (!server.mayReplicate) {
    fail({
      code: 'permission_missing',
      reason: 'the user may not replicate',
      remedy:
        'have an administrator run ALTER ROLE … REPLICATION for the user of this source (on Amazon RDS: GRANT rds_replication TO it)',
      field: 'credentials',
    })
  }
  if (enableFailoverSlots && majorOf(server) < 17) {
    fail({
      code: 'not_set_up',
      reason: `failover slots exist since PostgreSQL 17, and the server is ${majorOf(server)}`,
      remedy: 'turn enableFailoverSlots off, or upgrade the server',
      field: 'settings.enableFailoverSlots',
    })
  }
  if (server.usedSenders >= server.maxSenders && !isFollowing) {
    fail({
      code: 'not_set_up',
      reason: `all ${server.maxSenders} of max_wal_senders are in use`,
      remedy: 'raise max_wal_senders and restart the server, or stop another consumer',
    })
  }
  if (replicationSlotName !== undefined) {
    await checkSlot(session, replicationSlotName, config.database, { mayBeActive: ownSlot !== undefined })
  } else if (!isFollowing) checkFreeSlots(server)
}

function checkStandby(server: Server, { publicationName, enableFailoverSlots }: PostgresSource['settings']): void {
  if (majorOf(server) < 16) {
    fail({
      code: 'not_set_up',
      reason: `the server is a standby, whose changes can be followed since PostgreSQL 16, and it is ${majorOf(server)}`,
      remedy: 'use the primary server',
      field: 'host',
    })
  }
  if (enableFailoverSlots) {
    fail({
      code: 'not_set_up',
      reason: 'the server is a standby, on which no failover slot can be made',
      remedy: 'turn enableFailoverSlots off, or use the primary server',
      field: 'settings.enableFailoverSlots',
    })
  }
  if (publicationName === undefined) {
    fail({
      code: 'not_set_up',
      reason: 'the server is a standby, on which no publication can be made',
      remedy: 'make one on the primary server and name it in publicationName, or use the primary server',
      field: 'settings.publicationName',
    })
  }
}

function checkFreeSlots({ maxSlots, usedSlots }: Server): void {
  if (usedSlots < maxSlots) return
  fail({
    code: 'not_set_up',
    reason: `all ${maxSlots} of max_replication_slots are in use`,
    remedy:
      'drop a slot that nobody uses with pg_drop_replication_slot, or raise max_replication_slots and restart the server',
  })
}

async function checkSlot(
  session: PostgresSession,
  name: string,
  database: string,
  { mayBeActive }: { mayBeActive: boolean },
): Promise<void> {
  const field = 'settings.replicationSlotName'
  const slot = await findSlot(session, name)
  if (!slot) {
    return fail({
      code: 'not_found',
      reason: `the server has no replication slot ${name}`,
      remedy: `check its name, or run ${createSlotStatement(name)}`,
      field,
    })
  }
  const unusable = (what: string, remedy: string): never =>
    fail({ code: 'not_set_up', reason: `the replication slot ${name} ${what}`, remedy, field })
  if (!slot.isLogical) unusable('is physical', 'name a logical slot')
  if (slot.plugin !== 'pgoutput') unusable('is not for pgoutput', 'name a slot that was made with the plugin pgoutput')
  if (!slot.isOfThisDatabase) {
    unusable('belongs to another database', `name a slot of the database ${JSON.stringify(database)}`)
  }
  if (slot.isLost) unusable('has lost changes that it had not given out yet', 'make a new slot')
  if (slot.isActive && !mayBeActive)
    unusable('is in use by another consumer', 'stop that consumer, or name another slot')
}

/** Rejects with a ProbeFailure. */
export async function checkPublication(
  session: PostgresSession,
  server: Server,
  { settings, database }: PostgresSource,
  tables: MappedTable[],
): Promise<void> {
  const { publicationName } = settings
  if (publicationName === undefined) return checkMayPublish(server, database, tables)
  const publication = await findPublication(session, publicationName)
  const name = plainName(publicationName)
  if (!publication) {
    return fail({
      code: 'not_found',
      reason: `the database ${JSON.stringify(database)} has no publication ${name}`,
      remedy: 'check its name, or leave publicationName out: then one is made',
      field: 'settings.publicationName',
    })
  }
  const { hasInserts, hasUpdates, hasDeletes } = publication
  // A log table keeps truncated rows.
  const hasTruncates = publication.hasTruncates || tables.every(({ mapping }) => mapping.tableEngine === 'MergeTree')
  const left = Object.entries({
    inserts: hasInserts,
    updates: hasUpdates,
    deletes: hasDeletes,
    truncates: hasTruncates,
  })
    .filter(([, isThere]) => !isThere)
    .map(([operation]) => operation)
  if (left.length > 0) {
    const change = alterPublication(publicationName, "SET (publish = 'insert, update, delete, truncate')")
    fail({
      code: 'not_set_up',
      reason: `the publication ${name} leaves out ${listed(left)}`,
      remedy: `have its owner run ${change}`,
      field: 'settings.publicationName',
    })
  }
  await checkPublished(session, publicationName, publication, tables)
}

const alterPublication = (name: string, change: string): string =>
  `ALTER PUBLICATION ${escapeIdentifier(name)} ${change}`

async function checkPublished(
  session: PostgresSession,
  publicationName: string,
  publication: Publication,
  tables: MappedTable[],
): Promise<void> {
  const name = plainName(publicationName)
  const field = 'settings.publicationName'
  const published = new Map(
    (await listPublishedTables(session, publicationName)).map((table) => [tableName(table), table]),
  )
  const absent = tables.filter(({ mapping }) => !published.has(tableName(mapping)))
  const partitioned = absent.filter(({ found }) => found.kind === 'p')
  if (absent.length > 0) {
    const added = listed(absent.map(({ mapping }) => quotedTable(mapping)))
    const add = alterPublication(publicationName, `ADD TABLE ${added}`)
    const viaRoot = alterPublication(publicationName, 'SET (publish_via_partition_root = true)')
    const needsRoot = partitioned.length > 0 && !publication.isViaRoot
    const mayBeHidden = publication.isViaRoot && absent.some(({ found }) => found.ancestors.length > 0)
    const direct = alterPublication(publicationName, 'SET (publish_via_partition_root = false)')
    const otherwise = mayBeHidden
      ? `; where the partitioned table is published too, map that one, or have its owner run ${direct}`
      : ''
    fail({
      code: 'not_set_up',
      reason: `the publication ${name} does not publish ${listed(absent.map(({ mapping }) => tableName(mapping)))}`,
      remedy: needsRoot
        ? `have its owner run ${viaRoot}, without which partitions stand for themselves, and ${add} for what is not in it`
        : `have its owner run ${add}${otherwise}`,
      field,
    })
  }
  checkFilters(publicationName, tables, published)
  const withheld = tables.flatMap(({ mapping, columns }) => {
    const given = published.get(tableName(mapping))?.columns
    const lacking = given ? columns.filter((column) => !given.includes(column.name)) : []
    return lacking.map((column) => `${tableName(mapping)}.${plainName(column.name)}`)
  })
  if (withheld.length > 0) {
    fail({
      code: 'not_set_up',
      reason: `the publication ${name} leaves out columns: ${listed(withheld)}`,
      remedy: 'exclude them in the mapping too, or have its owner publish them',
      field,
    })
  }
}

/** Rejects row filters: a load reads all rows, and a row that an update moves out of the filter would stay in the copy. */
function checkFilters(publicationName: string, tables: MappedTable[], published: Map<string, PublishedTable>): void {
  const filtered = tables.filter(({ mapping }) => published.get(tableName(mapping))?.isFiltered)
  const [first] = filtered
  if (!first) return
  const drop = alterPublication(publicationName, `DROP TABLE ${quotedTable(first.mapping)}`)
  const add = alterPublication(publicationName, `ADD TABLE ${quotedTable(first.mapping)}`)
  fail({
    code: 'not_set_up',
    reason: `the publication ${plainName(publicationName)} filters the rows of ${listed(filtered.map(({ mapping }) => tableName(mapping)))}`,
    remedy: `have its owner publish all rows with ${drop}; ${add}, or filter in the engine with a view`,
    field: 'settings.publicationName',
  })
}

function checkMayPublish(server: Server, database: string, tables: MappedTable[]): void {
  if (server.isSuperuser) return
  const foreign = tables.filter(({ found }) => !found.isOwned)
  if (server.mayCreateInDatabase && foreign.length === 0) return
  const lacks = [
    !server.mayCreateInDatabase && `CREATE in the database ${JSON.stringify(database)}`,
    foreign.length > 0 && `the ownership of ${listed(foreign.map(({ mapping }) => tableName(mapping)))}`,
  ].filter(Boolean)
  const viaRoot = tables.some(({ found }) => found.kind === 'p') ? ' WITH (publish_via_partition_root = true)' : ''
  const all = listed(tables.map(({ mapping }) => quotedTable(mapping)))
  fail({
    code: 'permission_missing',
    reason: `the user may not make a publication: it lacks ${lacks.join(' and ')}`,
    remedy: `have an administrator run CREATE PUBLICATION penstock FOR TABLE ${all}${viaRoot}, and name it in publicationName`,
    field: 'settings.publicationName',
  })
}
