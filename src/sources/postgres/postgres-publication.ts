// The publication of a pipe: created when it is missing, and repaired when somebody has changed it.
import pg from 'pg'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { DescribedSource } from './postgres-describe.ts'
import type { PostgresLink } from './postgres-link.ts'
import { quotedTable } from './postgres-words.ts'

type Named = Pick<TableMapping, 'sourceSchemaName' | 'sourceTable'>

/** Changes of partitions can come in the name of the partitioned table since then. */
const firstViaRoot = 130_000
const firstWithSchemas = 150_000
const allOperations = "publish = 'insert, update, delete, truncate'"

/** Ours publishes exactly the mapped tables, with all rows, columns and operations. One that the user has named is theirs. */
export async function keepPublication(
  link: PostgresLink,
  { settings }: Pick<PostgresSource, 'settings'>,
  { tables, server }: DescribedSource,
  ownName: string,
): Promise<'unchanged' | 'changed' | 'created'> {
  if (settings.publicationName !== undefined) return 'unchanged'
  const name = pg.escapeIdentifier(ownName)
  const options = [allOperations, ...(server.version >= firstViaRoot ? ['publish_via_partition_root = true'] : [])]
  const wanted = tables.map(({ mapping }) => mapping)
  const found = await findOwn(link, ownName)
  if (!found || found.isOfAllTables) {
    const drop = found ? `DROP PUBLICATION ${name}; ` : ''
    await link.query(`${drop}CREATE PUBLICATION ${name} FOR TABLE ${listTables(wanted)} WITH (${options.join(', ')})`)
    return 'created'
  }
  const present = await listMembers(link, ownName)
  const schemas = server.version >= firstWithSchemas ? await listSchemas(link, ownName) : []
  const whole = present.filter(({ isRestricted }) => !isRestricted)
  const added = without(wanted, whole)
  const removed = [...without(present, wanted), ...present.filter(({ isRestricted }) => isRestricted)]
  const isViaRoot = found.isViaRoot || server.version < firstViaRoot
  const statements = [
    found.hasAllOperations && isViaRoot ? [] : `SET (${options.join(', ')})`,
    schemas.length > 0 ? `DROP TABLES IN SCHEMA ${schemas.map((one) => pg.escapeIdentifier(one)).join(', ')}` : [],
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
     FROM pg_catalog.pg_publication publication WHERE pubname = ${pg.escapeLiteral(name)}`,
  )
  if (!found) return undefined
  const [isOfAllTables, hasAllOperations, isViaRoot] = found.map((value) => value === 't')
  return { isOfAllTables: isOfAllTables!, hasAllOperations: hasAllOperations!, isViaRoot: isViaRoot! }
}

/** Through JSON: before PostgreSQL 15 there are no row filters and no column lists. */
async function listMembers(link: PostgresLink, publication: string): Promise<(Named & { isRestricted: boolean })[]> {
  const rows = await link.query(
    `SELECT schema.nspname, published.relname,
       to_jsonb(member) ->> 'prqual' IS NOT NULL OR to_jsonb(member) ->> 'prattrs' IS NOT NULL
     FROM pg_catalog.pg_publication_rel member
     JOIN pg_catalog.pg_publication publication ON publication.oid = member.prpubid
     JOIN pg_catalog.pg_class published ON published.oid = member.prrelid
     JOIN pg_catalog.pg_namespace schema ON schema.oid = published.relnamespace
     WHERE publication.pubname = ${pg.escapeLiteral(publication)}`,
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
     WHERE publication.pubname = ${pg.escapeLiteral(publication)}`,
  )
  return rows.map(([name]) => name ?? '')
}

function without<Table extends Named>(tables: Table[], others: Named[]): Table[] {
  const known = new Set(others.map(quotedTable))
  return tables.filter((table) => !known.has(quotedTable(table)))
}

/** What inherits from a table is another table. Partitions are published with their table. */
function listTables(tables: Named[]): string {
  return [...new Set(tables.map((table) => `ONLY ${quotedTable(table)}`))].join(', ')
}
