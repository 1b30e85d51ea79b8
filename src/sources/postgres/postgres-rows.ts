// Queries rows and checks their types. The server is not trusted: a user can name any host.
import type { PostgresSession } from './postgres-connection.ts'
import { SessionError } from './postgres-messages.ts'
import type { Parameter } from './postgres-values.ts'

type Check = (value: unknown) => boolean
export type Shape<Row> = Record<keyof Row & string, Check>

export const isText: Check = (value) => typeof value === 'string'
export const isNumber: Check = Number.isSafeInteger
export const isTruth: Check = (value) => typeof value === 'boolean'
export const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)

/** Rejects with a SessionError when a row is not of that shape. */
export async function queryRows<Row extends object>(
  session: PostgresSession,
  shape: Shape<Row>,
  text: string,
  values: Parameter[] = [],
): Promise<Row[]> {
  const rows = await session.query(text, values)
  const isRow = (row: Record<string, unknown>): boolean => {
    return Object.entries<Check>(shape).every(([name, check]) => Object.hasOwn(row, name) && check(row[name]))
  }
  if (!rows.every(isRow)) throw new SessionError('not postgres')
  return rows as Row[]
}
