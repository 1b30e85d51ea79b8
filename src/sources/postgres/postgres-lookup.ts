// Reads current values of single rows by key.
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { PostgresLink } from './postgres-link.ts'
import { escapeIdentifier, escapeLiteral, quotedTable } from './postgres-names.ts'

export interface RowsToFind {
  keyColumns: string[]
  /** In PostgreSQL's text format. All are in one statement. */
  keys: (string | null)[][]
  columns: string[]
}

/** Key and columns of the rows that exist, in COPY format; pieces end at line ends. */
export function lookUp(
  link: PostgresLink,
  mapping: TableMapping,
  { keyColumns, keys, columns }: RowsToFind,
): AsyncIterable<Buffer> {
  const names = keyColumns.map((name) => escapeIdentifier(name)).join(', ')
  const selected = [...keyColumns, ...columns].map((name) => escapeIdentifier(name)).join(', ')
  const tuples = keys.map((key) => `(${key.map(literal).join(', ')})`).join(', ')
  // COPY, because values are large and a query result would be in memory as a whole.
  return link.copyOut(
    `COPY (SELECT ${selected} FROM ${quotedTable(mapping)} WHERE (${names}) IN (${tuples})) TO STDOUT`,
  )
}

function literal(value: string | null): string {
  return value === null ? 'NULL' : escapeLiteral(value)
}
