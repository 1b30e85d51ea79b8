// Reads unchanged TOAST values, which an update does not log, from the source table. The current value is either the one at the time
// of the update or one that a later change in the log brings.
import { Buffer } from 'node:buffer'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { lookUp } from '../../sources/postgres/postgres-lookup.ts'
import type { IncompleteRow } from './change-lines.ts'
import { isNullField, newline, tab, unescapeField } from './text-fields.ts'

type Fields = (Buffer | null)[]

const rowsAtOnce = 100
const backslash = 0x5c

/** A row that was deleted since is completed without these values; the log has its deletion. */
export async function completeRows(
  link: PostgresLink,
  mapping: TableMapping,
  keyColumns: string[],
  incomplete: readonly IncompleteRow[],
): Promise<void> {
  const byMissing = Map.groupBy(incomplete, ({ missing }) => JSON.stringify(missing))
  for (const rows of byMissing.values()) {
    const columns = rows[0]!.missing
    for (let begin = 0; begin < rows.length; begin += rowsAtOnce) {
      const some = rows.slice(begin, begin + rowsAtOnce)
      const found = new Map<string, Fields>()
      for await (const piece of lookUp(link, mapping, { keyColumns, keys: some.map(({ key }) => key), columns })) {
        for (const fields of fieldsIn(piece)) {
          const key = fields.slice(0, keyColumns.length).map((field) => field?.toString('utf8') ?? null)
          found.set(JSON.stringify(key), fields.slice(keyColumns.length))
        }
      }
      for (const row of some) row.complete(found.get(JSON.stringify(row.key)))
    }
  }
}

/** The fields of each line. */
function* fieldsIn(lines: Buffer): Generator<Fields, void> {
  const unescaped = new ByteOutput({ expectedBytes: 4096 })
  for (let start = 0; start < lines.length; ) {
    const lineEnd = lines.indexOf(newline, start)
    if (lineEnd < 0) return
    const fields: Fields = []
    while (start <= lineEnd) {
      const nextTab = lines.indexOf(tab, start)
      const end = nextTab >= 0 && nextTab < lineEnd ? nextTab : lineEnd
      fields.push(fieldAt(lines, start, end, unescaped))
      start = end + 1
    }
    yield fields
  }
}

function fieldAt(bytes: Buffer, start: number, end: number, unescaped: ByteOutput): Buffer | null {
  if (isNullField(bytes, start, end)) return null
  const field = bytes.subarray(start, end)
  return field.includes(backslash) ? Buffer.from(unescapeField(bytes, start, end, unescaped)) : field
}
