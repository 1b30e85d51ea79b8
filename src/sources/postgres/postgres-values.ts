// Parameters and typed values of catalog queries in PostgreSQL's text format. The server is not trusted: a value may not match the type
// that it declares.
import { columnsIn, SessionError } from './postgres-messages.ts'
import type { Answer } from './postgres-query.ts'

export type Parameter = string | number | boolean | readonly string[]

export function parameter(value: Parameter): string {
  if (typeof value !== 'object') return String(value)
  return `{${value.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** By OID in pg_type; other types are text. */
const parsers: Record<number, (text: string) => unknown> = {
  16: (text) => text === 't',
  23: (text) => Number.parseInt(text, 10),
  114: JSON.parse,
  1009: textsIn,
  3802: JSON.parse,
}

export function recordsIn({ description, rows }: Answer): Record<string, unknown>[] {
  if (rows.length === 0) return []
  const columns = columnsIn(description)
  const parse = (text: string | null, typeId: number): unknown =>
    text === null ? null : (parsers[typeId] ?? String)(text)
  try {
    return rows.map((row) =>
      Object.fromEntries(columns.map(({ name, typeId }, index) => [name, parse(row[index]!, typeId)])),
    )
  } catch {
    throw new SessionError('not postgres')
  }
}

/** Items of a one-dimensional array. */
function textsIn(array: string): (string | null)[] {
  const items: (string | null)[] = []
  if (array === '{}') return items
  const item = /(?:"((?:[^"\\]|\\.)*)"|([^",\\{}]+))([,}])/sy
  for (item.lastIndex = 1; ; ) {
    const [, quoted, plain = '', end] = item.exec(array) ?? []
    if (end === undefined) throw new SessionError('not postgres')
    items.push(quoted === undefined ? (plain === 'NULL' ? null : plain) : quoted.replace(/\\(.)/gs, '$1'))
    if (end === '}' && item.lastIndex === array.length) return items
  }
}
