// Creates the publication of a pipe, and repairs it when it was changed.
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { DescribedSource } from './postgres-describe.ts'
import type { PostgresLink } from './postgres-link.ts'
import { escapeIdentifier, escapeLiteral, quotedTable } from './postgres-names.ts'

type Named = Pick<TableMapping, 'sourceSchemaName' | 'sourceTable'>

/** First version with publish_via_partition_root. */
const firstViaRoot = 130_000
const firstWithSchemas = 150_000
const allOperations = "publish = 'insert, update, delete, truncate'"

/** Publishes exactly the mapped tables, with all rows, columns and operations. A publication named by the user is not changed. */
export async function ensurePublication(
  link: PostgresLink,
  { settings }: Pick<PostgresSource, 'settings'>,
  { tables, server }: DescribedSource,
  ownName: string,
): Promise<'unchanged' | 'changed' | 'created'> {
  if (settings.publicationName !== undefined) return 'unchanged'
  const name = escapeIdentifier(ownName)
  const options = [allOperations, ...(server.version >= firstViaRoot ? ['publish_via_partition_root = true'] : [])]
  const desired = tables.map(({ mapping }) => mapping)
  const found = await findOwn(link, ownName)
  if (!found || found.isOfAllTables) {
    const drop = found ? `DROP PUBLICATION ${name}; ` : ''
    await link.query(`${drop}CREATE PUBLICATION ${name} FOR TABLE ${listTables(desired)} WITH (${options.join(', ')})`)
    return 'created'
  }
  const present = await listMembers(link, ownName)
  const schemas = server.version >= firstWithSchemas ? await listSchemas(link, ownName) : []
  const unrestricted = present.filter(({ isRestricted }) => !isRestricted)
  const added = without(desired, unrestricted)
  const removed = [...without(present, desired), ...present.filter(({ isRestricted }) => isRestricted)]
  const isViaRoot = found.isViaRoot || server.version < firstViaRoot
  const statements = [
    found.hasAllOperations && isViaRoot ? [] : `SET (${options.join(', ')})`,
    schemas.length > 0 ? `DROP TABLES IN SCHEMA ${schemas.map((one) => escapeIdentifier(one)).join(', ')}` : [],
    removed.length > 0 ? `DROP TABLE ${listTables(removed)}` : [],
    added.length > 0 ? `ADD TABLE ${listTables(added)}` : [],
  ].flat()
  if (statements.length === 0) return 'unchanged'
  await link.query(statements.map((statement) => `ALTER PUBLICATION ${name} ${statement}`).join('; '))
  return 'changed'
}

interface OwnPublication {
  isOfAllTables: boolean
  hasAllOperations: boolean
  isViaRoot: boolean
}

async function findOwn(link: PostgresLink, name: string): Promise<OwnPublication | undefined> {
  const [found] = await link.query(
    `SELECT puballtables, pubinsert AND pubupdate AND pubdelete AND pubtruncate,
       coalesce((to_jsonb(publication) ->> 'pubviaroot')::bool, false)
     FROM pg_catalog.pg_publication publication WHERE pubname = ${escapeLiteral(name)}`,
  )
  if (!found) return undefined
  const [isOfAllTables, hasAllOperations, isViaRoot] = found.map((value) => value === 't')
  return { isOfAllTables: isOfAllTables!, hasAllOperations: hasAllOperations!, isViaRoot: isViaRoot! }
}

/** to_jsonb, because row filters and column lists exist since PostgreSQL 15. */
async function listMembers(link: PostgresLink, publication: string): Promise<(Named & { isRestricted: boolean })[]> {
  const rows = await link.query(
    `SELECT schema.nspname, published.relname,
       to_jsonb(member) ->> 'prqual' IS NOT NULL OR to_jsonb(member) ->> 'prattrs' IS NOT NULL
     FROM pg_catalog.pg_publication_rel member
     JOIN pg_catalog.pg_publication publication ON publication.oid = member.prpubid
     JOIN pg_catalog.pg_class published ON published.oid = member.prrelid
     JOIN pg_catalog.pg_namespace schema ON schema.oid = published.relnamespace
     WHERE publication.pubname = ${escapeLiteral(publication)}`,
  )
  return rows.map(([sourceSchemaName, sourceTable, isRestricted]) => ({
    sourceSchemaName: sourceSchemaName ?? '',
    sourceTable: sourceTable ?? '',
    isRestricted: isRestricted === 't',
  }))
}

async function listSchemas(link: PostgresLink, publication: string): Promise<string[]> {
  const rows = await link.query(
    `SELECT schema.nspname FROM pg_catalog.pg_publication_namespace member
     JOIN pg_catalog.pg_publication publication ON publication.oid = member.pnpubid
     JOIN pg_catalog.pg_namespace schema ON schema.oid = member.pnnspid
     WHERE publication.pubname = ${escapeLiteral(publication)}`,
  )
  return rows.map(([name]) => name ?? '')
}

function without<Table extends Named>(tables: Table[], others: Named[]): Table[] {
  const known = new Set(others.map(quotedTable))
  return tables.filter((table) => !known.has(quotedTable(table)))
}

/** With ONLY, inheriting tables are left out. Partitions are published with their table. */
function listTables(tables: Named[]): string {
  return [...new Set(tables.map((table) => `ONLY ${quotedTable(table)}`))].join(', ')
}
