// Large values that an update did not change are not in the log. They are read from the table: as they are now, which is what they
// were or what a later change of the log will bring.
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { lookUp } from '../../sources/postgres/postgres-lookup.ts'
import type { IncompleteRow } from './change-lines.ts'

/** A row that is gone has lost these values; a later change of the log says so. */
export async function completeRows(
  link: PostgresLink,
  mapping: TableMapping,
  keyColumns: string[],
  incomplete: readonly IncompleteRow[],
): Promise<void> {
  const byMissing = Map.groupBy(incomplete, ({ missing }) => JSON.stringify(missing))
  for (const rows of byMissing.values()) {
    const columns = rows[0]!.missing
    const found = await lookUp(link, mapping, { keyColumns, keys: rows.map(({ key }) => key), columns })
    for (const [index, row] of rows.entries()) {
      row.complete(found[index]?.map((text) => (text === null ? null : Buffer.from(text, 'utf8'))))
    }
  }
}
