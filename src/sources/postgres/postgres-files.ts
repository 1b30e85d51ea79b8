// File numbers (relfilenode) of tables. A rewrite of a table (TRUNCATE, VACUUM FULL, some ALTER TABLE) gives it a new file with other
// row positions, in which older snapshots see no rows.
import { SourceChanged } from '../source.ts'
import type { PostgresLink } from './postgres-link.ts'
import { escapeLiteral, quotedTable, tableName } from './postgres-names.ts'
import type { MappedTable } from './postgres-tables.ts'

/** A table or a leaf partition. */
export interface TableFile {
  tableId: string
  /** Null when the rows are not in a file of the server. */
  fileNumber: string | null
}

/** By table OID. */
export type TableFiles = ReadonlyMap<string, TableFile[]>

/**
 * Locks the tables against rewrites until the transaction ends. Undefined when a table was rewritten or replaced since the snapshot of
 * the transaction. Rejects with SourceChanged when columns were changed.
 */
export async function lockFiles(link: PostgresLink, tables: MappedTable[]): Promise<TableFiles | undefined> {
  const byId = new Map(tables.map((table) => [table.found.id, table]))
  // Locking a partitioned table locks its partitions too. Inheriting tables are left out with ONLY.
  const names = [...byId.values()].map(
    ({ mapping, found }) => `${found.kind === 'p' ? '' : 'ONLY '}${quotedTable(mapping)}`,
  )
  await link.query(`LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`)
  const roots = [...byId].map(
    ([id, { mapping }]) => `(${Number(id)}::pg_catalog.oid, ${escapeLiteral(quotedTable(mapping))})`,
  )
  const rows = await link.query(filesText(roots))
  if (rows.some(([, , , isOther]) => isOther === 't')) return undefined
  await checkColumns(link, byId)
  const files = new Map([...byId.keys()].map((id): [string, TableFile[]] => [id, []]))
  for (const [rootId, tableId, fileNumber = null] of rows) {
    if (tableId) files.get(rootId ?? '')?.push({ tableId, fileNumber })
  }
  return files
}

/** Rows are encoded by the described column types, so these must not have changed. */
async function checkColumns(link: PostgresLink, byId: ReadonlyMap<string, MappedTable>): Promise<void> {
  const rows = await link.query(
    `SELECT attrelid, attname, attnum, atttypid, atttypmod FROM pg_catalog.pg_attribute
     WHERE attrelid IN (${[...byId.keys()].map(Number).join(', ')}) AND attnum > 0 AND NOT attisdropped`,
  )
  const present = new Set(rows.map((row) => JSON.stringify(row)))
  for (const [id, { mapping, columns }] of byId) {
    const isThere = ({ name, number, typeId, modifier }: MappedTable['columns'][number]): boolean =>
      present.has(JSON.stringify([id, name, number, typeId, modifier].map(String)))
    if (!columns.every(isThere)) throw new SourceChanged(`the columns of ${tableName(mapping)} were changed`)
  }
}

/** Catalog rows are as of the snapshot; results of functions are current. */
function filesText(roots: string[]): string {
  return `
    SELECT root.id, leaf.id, file.number,
      pg_catalog.to_regclass(root.name)::pg_catalog.oid IS DISTINCT FROM root.id
      OR leaf.id IS NOT NULL AND (
        seen.oid IS NULL
        OR nullif(seen.relfilenode, 0) IS DISTINCT FROM file.number
        OR leaf.id <> root.id AND NOT seen.relispartition)
    FROM (VALUES ${roots.join(', ')}) root (id, name)
    LEFT JOIN LATERAL (
      SELECT root.id
      WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_partitioned_table partitioned WHERE partitioned.partrelid = root.id)
      UNION ALL
      SELECT relid::pg_catalog.oid FROM pg_catalog.pg_partition_tree(root.id::pg_catalog.regclass)
      WHERE isleaf AND relid::pg_catalog.oid <> root.id
    ) leaf (id) ON true
    LEFT JOIN pg_catalog.pg_class seen ON seen.oid = leaf.id
    CROSS JOIN LATERAL (SELECT pg_catalog.pg_relation_filenode(leaf.id::pg_catalog.regclass)) file (number)`
}
