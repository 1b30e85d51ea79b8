// Reads values of single rows by their keys, as they are now.
import pg from 'pg'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { PostgresLink } from './postgres-link.ts'
import { quotedTable } from './postgres-words.ts'

export interface RowsToFind {
  keyColumns: string[]
  /** As PostgreSQL prints them. All are in one statement. */
  keys: (string | null)[][]
  columns: string[]
}

/** Of those rows that are there, the key and the columns, as COPY writes them; pieces end where lines end. */
export function lookUp(
  link: PostgresLink,
  mapping: TableMapping,
  { keyColumns, keys, columns }: RowsToFind,
): AsyncIterable<Buffer> {
  const names = keyColumns.map((name) => pg.escapeIdentifier(name)).join(', ')
  const selected = [...keyColumns, ...columns].map((name) => pg.escapeIdentifier(name)).join(', ')
  const wanted = keys.map((key) => `(${key.map(literal).join(', ')})`).join(', ')
  // Values are large: an answer to a query would have to be in memory as a whole.
  return link.copyOut(
    `COPY (SELECT ${selected} FROM ${quotedTable(mapping)} WHERE (${names}) IN (${wanted})) TO STDOUT`,
  )
}

function literal(value: string | null): string {
  return value === null ? 'NULL' : pg.escapeLiteral(value)
}
