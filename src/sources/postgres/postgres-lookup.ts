// Reads values of single rows by their keys, as they are now.
import pg from 'pg'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { PostgresLink } from './postgres-link.ts'
import { quotedTable } from './postgres-words.ts'

type Texts = (string | null)[]

const rowsAtOnce = 500

/** For each key the values of the columns, as PostgreSQL prints them; undefined for a row that is not there. */
export async function lookUp(
  link: PostgresLink,
  mapping: TableMapping,
  { keyColumns, keys, columns }: { keyColumns: string[]; keys: Texts[]; columns: string[] },
): Promise<(Texts | undefined)[]> {
  const names = keyColumns.map((name) => pg.escapeIdentifier(name)).join(', ')
  const selected = [...keyColumns, ...columns].map((name) => pg.escapeIdentifier(name)).join(', ')
  const found = new Map<string, Texts>()
  for (let begin = 0; begin < keys.length; begin += rowsAtOnce) {
    const some = keys.slice(begin, begin + rowsAtOnce).map((key) => `(${key.map(literal).join(', ')})`)
    const rows = await link.query(
      `SELECT ${selected} FROM ${quotedTable(mapping)} WHERE (${names}) IN (${some.join(', ')})`,
    )
    for (const row of rows) found.set(JSON.stringify(row.slice(0, keyColumns.length)), row.slice(keyColumns.length))
  }
  return keys.map((key) => found.get(JSON.stringify(key)))
}

function literal(value: string | null): string {
  return value === null ? 'NULL' : pg.escapeLiteral(value)
}
