// List of the database columns sealed with a master key, with their seal contexts. Values in a column missing here are lost when
// their key is removed.
import { type Sql, type SqlValues, type Statement, statement } from '../../database/sql.ts'
import { answerContext } from '../../idempotency/store.ts'
import type { SealContext } from '../../lib/vault.ts'
import { secretsContext } from '../../pipes/store.ts'
import { passwordContext } from '../../services/service.ts'
import { keyCheckContext } from '../key-check.ts'

/** Primary key columns by name. */
type RowKey = Record<string, string | number>
type SealedRow = RowKey & { sealed: string }

export interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly contextOf: (row: RowKey) => SealContext
  readonly firstKey: RowKey
  readonly list: Statement<SqlValues, SealedRow>
  readonly replace: Statement<SqlValues, never>
  readonly count: Statement<{ prefix: string }, { count: number }>
  readonly countAll: Statement<Record<string, never>, { count: number }>
}

export const sealedColumns: readonly SealedColumn[] = [
  sealedColumn('installation', 'key_check', { id: 0 }, [], () => keyCheckContext),
  sealedColumn('services', 'endpoint_password', { id: '' }, ['organization_id'], (row) =>
    passwordContext({ id: String(row.id), organizationId: String(row.organization_id) }),
  ),
  sealedColumn('pipes', 'secrets', { id: '' }, ['organization_id'], (row) =>
    secretsContext({ id: String(row.id), organizationId: String(row.organization_id) }),
  ),
  sealedColumn('source_leftovers', 'secrets', { pipe_id: '' }, ['organization_id'], (row) =>
    secretsContext({ id: String(row.pipe_id), organizationId: String(row.organization_id) }),
  ),
  sealedColumn(
    'idempotency_records',
    'answer',
    { organization_id: '', caller_id: '', idempotency_key: '' },
    [],
    (row) =>
      answerContext({
        organizationId: String(row.organization_id),
        callerId: String(row.caller_id),
        idempotencyKey: String(row.idempotency_key),
      }),
  ),
]

function sealedColumn(
  table: string,
  column: string,
  firstKey: RowKey,
  more: string[],
  contextOf: SealedColumn['contextOf'],
): SealedColumn {
  const keys = Object.keys(firstKey)
  const marks = keys.map((key) => `:${valueName(key)}`)
  const isWith = (relation: '=' | '<>') =>
    `substr(${column}, 1, length(CAST(:prefix AS text))) ${relation} CAST(:prefix AS text)`
  return {
    table,
    column,
    contextOf,
    firstKey,
    list: statement(
      `SELECT ${[...keys, ...more].join(', ')}, ${column} AS sealed FROM ${table}
       WHERE (${keys.join(', ')}) > (${marks.join(', ')}) AND ${column} IS NOT NULL AND ${isWith('<>')}
       ORDER BY ${keys.join(', ')} LIMIT :limit`,
    ),
    // A concurrent change has sealed another value.
    replace: statement(
      `UPDATE ${table} SET ${column} = :sealed
       WHERE ${keys.map((key, at) => `${key} = ${marks[at]}`).join(' AND ')} AND ${column} = :before`,
    ),
    count: statement(`SELECT count(*) AS count FROM ${table} WHERE ${isWith('=')}`),
    countAll: statement(`SELECT count(*) AS count FROM ${table} WHERE ${column} IS NOT NULL`),
  }
}

/** Values after a row, by primary key, that are not sealed with the given key. */
export async function listSealedOtherwise(
  sql: Sql,
  column: SealedColumn,
  { after, keyId, limit }: { after: RowKey; keyId: string; limit: number },
): Promise<{ key: RowKey; sealed: string; context: SealContext }[]> {
  const rows = await sql.all(column.list, { ...valuesOf(after), prefix: `${keyId}.`, limit })
  return rows.map((row) => {
    const key = Object.fromEntries(Object.keys(column.firstKey).map((name) => [name, row[name]!]))
    return { key, sealed: row.sealed, context: column.contextOf(row) }
  })
}

/** False when the value has changed. */
export async function replaceSealed(
  sql: Sql,
  column: SealedColumn,
  { key, before, sealed }: { key: RowKey; before: string; sealed: string },
): Promise<boolean> {
  return (await sql.run(column.replace, { ...valuesOf(key), before, sealed })) > 0
}

/** Number of values sealed with each of the keys, and with other keys. */
export async function countSealed(
  sql: Sql,
  keyIds: string[],
): Promise<{ byKey: Map<string, number>; byOthers: number }> {
  const byKey = new Map<string, number>(keyIds.map((id) => [id, 0]))
  let byOthers = 0
  for (const column of sealedColumns) {
    byOthers += (await sql.first(column.countAll, {}))!.count
    for (const id of keyIds) {
      const { count } = (await sql.first(column.count, { prefix: `${id}.` }))!
      byKey.set(id, byKey.get(id)! + count)
      byOthers -= count
    }
  }
  return { byKey, byOthers }
}

function valuesOf(key: RowKey): RowKey {
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [valueName(name), value]))
}

/** Parameter names have no underscores. */
function valueName(column: string): string {
  return column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
