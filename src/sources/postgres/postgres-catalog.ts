// Queries of the PostgreSQL system catalogs about the server and the mapped tables. For PostgreSQL 12 and newer.

import type { SampledTable } from '../../source-shapes/probe.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { PostgresSession } from './postgres-connection.ts'
import { SessionError } from './postgres-messages.ts'
import { isNumber, isText, isTexts, isTruth, orNull, queryRows, type Shape } from './postgres-rows.ts'

export interface Server {
  /** Such as 170002. */
  version: number
  walLevel: string
  maxSlots: number
  usedSlots: number
  maxSenders: number
  usedSenders: number
  isStandby: boolean
  isSuperuser: boolean
  mayReplicate: boolean
  mayCreateInDatabase: boolean
}

const serverShape: Shape<Server> = {
  version: isNumber,
  walLevel: isText,
  maxSlots: isNumber,
  usedSlots: isNumber,
  maxSenders: isNumber,
  usedSenders: isNumber,
  isStandby: isTruth,
  isSuperuser: isTruth,
  mayReplicate: isTruth,
  mayCreateInDatabase: isTruth,
}

/** On Amazon RDS, membership in rds_replication replaces the REPLICATION attribute. */
export async function loadServer(session: PostgresSession): Promise<Server> {
  const [server] = await queryRows(
    session,
    serverShape,
    `SELECT
      current_setting('server_version_num')::int AS "version",
      current_setting('wal_level') AS "walLevel",
      current_setting('max_replication_slots')::int AS "maxSlots",
      (SELECT count(*)::int FROM pg_replication_slots) AS "usedSlots",
      current_setting('max_wal_senders')::int AS "maxSenders",
      (SELECT count(*)::int FROM pg_stat_replication) AS "usedSenders",
      pg_is_in_recovery() AS "isStandby",
      rolsuper AS "isSuperuser",
      rolsuper OR rolreplication OR EXISTS (
        SELECT FROM pg_roles cloud WHERE cloud.rolname = 'rds_replication' AND pg_has_role(cloud.oid, 'MEMBER')
      ) AS "mayReplicate",
      has_database_privilege(current_database(), 'CREATE') AS "mayCreateInDatabase"
    FROM pg_roles WHERE rolname = current_user`,
  )
  if (!server) throw new SessionError('not postgres')
  return server
}

export interface Slot {
  isLogical: boolean
  plugin: string | null
  isOfThisDatabase: boolean
  isActive: boolean
  /** The server has removed WAL that the slot still needs. */
  isLost: boolean
}

const slotShape: Shape<Slot> = {
  isLogical: isTruth,
  plugin: orNull(isText),
  isOfThisDatabase: isTruth,
  isActive: isTruth,
  isLost: isTruth,
}

export async function findSlot(session: PostgresSession, name: string): Promise<Slot | undefined> {
  // to_jsonb, because older servers do not have all of these columns.
  const [slot] = await queryRows(
    session,
    slotShape,
    `SELECT
      slot_type = 'logical' AS "isLogical",
      plugin,
      coalesce(database = current_database(), false) AS "isOfThisDatabase",
      active AS "isActive",
      coalesce(to_jsonb(slot) ->> 'wal_status' = 'lost' OR to_jsonb(slot) ->> 'conflicting' = 'true', false) AS "isLost"
    FROM pg_replication_slots slot WHERE slot_name = $1`,
    [name],
  )
  return slot
}

export interface Publication {
  hasInserts: boolean
  hasUpdates: boolean
  hasDeletes: boolean
  hasTruncates: boolean
  /** publish_via_partition_root: changes of partitions have the name of the partitioned table. */
  isViaRoot: boolean
}

const publicationShape: Shape<Publication> = {
  hasInserts: isTruth,
  hasUpdates: isTruth,
  hasDeletes: isTruth,
  hasTruncates: isTruth,
  isViaRoot: isTruth,
}

export async function findPublication(session: PostgresSession, name: string): Promise<Publication | undefined> {
  const [publication] = await queryRows(
    session,
    publicationShape,
    `SELECT
      pubinsert AS "hasInserts",
      pubupdate AS "hasUpdates",
      pubdelete AS "hasDeletes",
      pubtruncate AS "hasTruncates",
      coalesce((to_jsonb(publication) ->> 'pubviaroot')::bool, false) AS "isViaRoot"
    FROM pg_publication publication WHERE pubname = $1`,
    [name],
  )
  return publication
}

export interface PublishedTable {
  sourceSchemaName: string
  sourceTable: string
  /** Null before PostgreSQL 15, which has no column lists. */
  columns: string[] | null
  /** Has a row filter. */
  isFiltered: boolean
}

const publishedShape: Shape<PublishedTable> = {
  sourceSchemaName: isText,
  sourceTable: isText,
  columns: orNull(isTexts),
  isFiltered: isTruth,
}

export function listPublishedTables(session: PostgresSession, publication: string): Promise<PublishedTable[]> {
  return queryRows(
    session,
    publishedShape,
    `SELECT
      schemaname::text AS "sourceSchemaName",
      tablename::text AS "sourceTable",
      to_jsonb(published) -> 'attnames' AS columns,
      to_jsonb(published) ->> 'rowfilter' IS NOT NULL AS "isFiltered"
    FROM pg_publication_tables published WHERE pubname = $1`,
    [publication],
  )
}

/** Catalog entry of a mapped table. For a partitioned table, conditions hold for all of its partitions. */
export interface FoundTable {
  id: string
  /** `relkind` of pg_class: `r` table, `p` partitioned table, `v` view, … */
  kind: string
  isSystem: boolean
  isLogged: boolean
  /** OIDs of the tables that it is a partition of. */
  ancestors: string[]
  isOwned: boolean
  maySeeSchema: boolean
  /** SELECT on the whole table and its partitions: the load reads each partition, by a system column. */
  mayReadParts: boolean
  /** Row-level security leaves rows out of what the user reads; the write-ahead log has them all. */
  hasRowSecurity: boolean
  /** Has a replica identity: updates and deletes identify their row. */
  hasIdentity: boolean
  /** REPLICA IDENTITY FULL: updates and deletes have the whole old row. */
  hasFullIdentity: boolean
  /** Columns of the replica identity that all partitions share. */
  identityKey: string[]
  primaryKey: string[]
  /** Columns of each unique index whose columns are all NOT NULL. */
  uniqueKeys: string[][]
  /** The same without DEFERRABLE constraints. */
  immediateKeys: string[][]
  /** Digest of the file numbers of the table; changes with a rewrite. */
  files: string
  /** Includes dropped columns. */
  lastColumnNumber: number
}

const tableShape: Shape<FoundTable & { ordinal: number }> = {
  ordinal: isNumber,
  id: isText,
  kind: isText,
  isSystem: isTruth,
  isLogged: isTruth,
  ancestors: isTexts,
  isOwned: isTruth,
  maySeeSchema: isTruth,
  mayReadParts: isTruth,
  hasRowSecurity: isTruth,
  hasIdentity: isTruth,
  hasFullIdentity: isTruth,
  identityKey: isTexts,
  primaryKey: isTexts,
  uniqueKeys: (value) => Array.isArray(value) && value.every(isTexts),
  immediateKeys: (value) => Array.isArray(value) && value.every(isTexts),
  files: isText,
  lastColumnNumber: isNumber,
}

const keyOf = (table: string, isKey: string): string => `ARRAY(
  SELECT attribute.attname::text
  FROM pg_index key, unnest(key.indkey) WITH ORDINALITY AS part(number, ordinal), pg_attribute attribute
  WHERE key.indrelid = ${table}.oid AND ${isKey}
    AND attribute.attrelid = ${table}.oid AND attribute.attnum = part.number
  ORDER BY part.ordinal)`

const primaryKeyOf = (table: string): string => keyOf(table, 'key.indisprimary')
const columnsOf = (table: string): string => `ARRAY(
  SELECT attribute.attname::text FROM pg_attribute attribute
  WHERE attribute.attrelid = ${table}.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped)`
const identityOf = (table: string): string => `CASE ${table}.relreplident
  WHEN 'f' THEN ${columnsOf(table)}
  WHEN 'd' THEN ${keyOf(table, 'key.indisprimary AND key.indimmediate')}
  ELSE ${keyOf(table, 'key.indisreplident')} END`
/** The log has the column names of the table, but only values of the replica identity of the partition. */
const identityKeyOf = (table: string): string => `ARRAY(
  SELECT name FROM unnest(${identityOf(table)}) name
  WHERE NOT EXISTS (
    SELECT FROM pg_class leaf
    WHERE leaf.oid IN (SELECT relid FROM pg_partition_tree(${table}.oid) WHERE isleaf AND relid <> ${table}.oid)
      AND NOT name = ANY (${identityOf('leaf')})))`

/** Without partial indexes and indexes on expressions, which do not make the columns unique. */
const uniqueKeysOf = (table: string, isKey = 'true'): string => `(
  SELECT coalesce(json_agg(key.names), '[]') FROM (
    SELECT json_agg(attribute.attname) AS names
    FROM pg_index index, unnest(index.indkey) WITH ORDINALITY AS part(number, ordinal), pg_attribute attribute
    WHERE index.indrelid = ${table}.oid AND index.indisunique AND index.indisvalid AND ${isKey}
      AND index.indpred IS NULL AND index.indexprs IS NULL AND part.ordinal <= index.indnkeyatts
      AND attribute.attrelid = ${table}.oid AND attribute.attnum = part.number
    GROUP BY index.indexrelid HAVING bool_and(attribute.attnotnull)
  ) key)`

/** As of the snapshot of the session. */
const filesOf = (table: string): string => `(
  SELECT md5(coalesce(string_agg(file.oid || '/' || file.relfilenode, ',' ORDER BY file.oid), ''))
  FROM pg_class file
  WHERE file.oid = ${table}.oid
    OR file.oid IN (SELECT relid FROM pg_partition_tree(${table}.oid) WHERE isleaf AND relid <> ${table}.oid))`

const hasIdentity = (table: string): string => `CASE ${table}.relreplident
  WHEN 'f' THEN true
  WHEN 'd' THEN EXISTS (SELECT FROM pg_index WHERE indrelid = ${table}.oid AND indisprimary AND indimmediate)
  WHEN 'i' THEN EXISTS (SELECT FROM pg_index WHERE indrelid = ${table}.oid AND indisreplident)
  ELSE false END`

/** Evaluated for the table itself when it has no partitions. */
const inAllPartitions = (condition: (table: string) => string): string => `coalesce((
  SELECT bool_and(${condition('leaf')}) FROM pg_class leaf
  WHERE leaf.oid IN (SELECT relid FROM pg_partition_tree("table".oid) WHERE isleaf AND relid <> "table".oid)
), ${condition('"table"')})`

const systemSchema = (schema: string): string =>
  `(${schema} = 'information_schema' OR starts_with(${schema}::text, 'pg_'))`

/** In the order of the mappings; undefined for tables that do not exist. */
export async function findTables(
  session: PostgresSession,
  mappings: TableMapping[],
): Promise<(FoundTable | undefined)[]> {
  const rows = await queryRows(
    session,
    tableShape,
    `SELECT
      mapping.ordinal::int AS ordinal,
      "table".oid::text AS id,
      "table".relkind::text AS kind,
      ${systemSchema('schema.nspname')} AS "isSystem",
      ${inAllPartitions((table) => `${table}.relpersistence = 'p'`)} AS "isLogged",
      ARRAY(
        SELECT relid::oid::text FROM pg_partition_ancestors("table".oid) WHERE relid <> "table".oid
      ) AS ancestors,
      pg_has_role("table".relowner, 'USAGE') AS "isOwned",
      has_schema_privilege(schema.oid, 'USAGE') AS "maySeeSchema",
      ${inAllPartitions((table) => `has_table_privilege(${table}.oid, 'SELECT')`)} AS "mayReadParts",
      row_security_active("table".oid)
        OR NOT ${inAllPartitions((table) => `NOT row_security_active(${table}.oid)`)} AS "hasRowSecurity",
      ${inAllPartitions(hasIdentity)} AS "hasIdentity",
      "table".relreplident = 'f' AND ${inAllPartitions((table) => `${table}.relreplident = 'f'`)} AS "hasFullIdentity",
      ${identityKeyOf('"table"')} AS "identityKey",
      ${primaryKeyOf('"table"')} AS "primaryKey",
      ${uniqueKeysOf('"table"')} AS "uniqueKeys",
      ${uniqueKeysOf('"table"', 'index.indimmediate')} AS "immediateKeys",
      ${filesOf('"table"')} AS files,
      "table".relnatts::int AS "lastColumnNumber"
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS mapping(schema, name, ordinal)
    JOIN pg_namespace schema ON schema.nspname = mapping.schema
    JOIN pg_class "table" ON "table".relnamespace = schema.oid AND "table".relname = mapping.name`,
    [mappings.map(({ sourceSchemaName }) => sourceSchemaName), mappings.map(({ sourceTable }) => sourceTable)],
  )
  const found = new Map(rows.map(({ ordinal, ...table }) => [ordinal, table]))
  return mappings.map((_, index) => found.get(index + 1))
}

const sampledShape: Shape<SampledTable> = { sourceSchemaName: isText, sourceTable: isText, primaryKey: isTexts }

/** Tables whose names differ only in case, by lowercase name. */
export async function listNamesakes(session: PostgresSession, names: string[]): Promise<Map<string, SampledTable[]>> {
  const tables = await queryRows(
    session,
    sampledShape,
    `SELECT schema.nspname::text AS "sourceSchemaName", "table".relname::text AS "sourceTable", '{}'::text[] AS "primaryKey"
    FROM pg_class "table" JOIN pg_namespace schema ON schema.oid = "table".relnamespace
    WHERE lower("table".relname::text) = ANY ($1::text[]) AND "table".relkind IN ('r', 'p')
      AND NOT ${systemSchema('schema.nspname')}
    ORDER BY 1, 2 LIMIT 1000`,
    [names.map((name) => name.toLowerCase())],
  )
  return Map.groupBy(tables, ({ sourceTable }) => sourceTable.toLowerCase())
}

/** Tables that can be mapped. Partitions are left out in favor of their partitioned table. */
export function listTables(session: PostgresSession, isFollowed: boolean, limit: number): Promise<SampledTable[]> {
  return queryRows(
    session,
    sampledShape,
    `SELECT schema.nspname::text AS "sourceSchemaName", "table".relname::text AS "sourceTable",
      ${primaryKeyOf('"table"')} AS "primaryKey"
    FROM pg_class "table" JOIN pg_namespace schema ON schema.oid = "table".relnamespace
    WHERE "table".relkind IN ('r', 'p') AND NOT "table".relispartition
      AND ("table".relpersistence = 'p' OR "table".relpersistence = 'u' AND NOT $1)
      AND NOT ${systemSchema('schema.nspname')}
      AND has_schema_privilege(schema.oid, 'USAGE') AND has_any_column_privilege("table".oid, 'SELECT')
    ORDER BY schema.nspname, "table".relname LIMIT $2`,
    [isFollowed, limit],
  )
}
