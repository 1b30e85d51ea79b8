// Everything in the database that is sealed with a master key: where it is, and where it may be opened. What is not in this list
// is lost when its key is removed.
import { type Sql, type SqlValues, type Statement, statement } from '../../database/sql.ts'
import { answerContext } from '../../idempotency/store.ts'
import type { SealContext } from '../../lib/vault.ts'
import { secretsContext } from '../../pipes/store.ts'
import { passwordContext } from '../../services/service.ts'
import { keyCheckContext } from '../installation.ts'

/** Its key columns, as they are named below. */
type RowKey = Record<string, string | number>
type SealedRow = RowKey & { sealed: string }

export interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly placeOf: (row: RowKey) => SealContext
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
  placeOf: SealedColumn['placeOf'],
): SealedColumn {
  const keys = Object.keys(firstKey)
  const marks = keys.map((key) => `:${valueName(key)}`)
  const isWith = (relation: '=' | '<>') =>
    `substr(${column}, 1, length(CAST(:prefix AS text))) ${relation} CAST(:prefix AS text)`
  return {
    table,
    column,
    placeOf,
    firstKey,
    list: statement(
      `SELECT ${[...keys, ...more].join(', ')}, ${column} AS sealed FROM ${table}
       WHERE (${keys.join(', ')}) > (${marks.join(', ')}) AND ${column} IS NOT NULL AND ${isWith('<>')}
       ORDER BY ${keys.join(', ')} LIMIT :limit`,
    ),
    // Whoever has changed it meanwhile has sealed something else.
    replace: statement(
      `UPDATE ${table} SET ${column} = :sealed
       WHERE ${keys.map((key, at) => `${key} = ${marks[at]}`).join(' AND ')} AND ${column} = :before`,
    ),
    count: statement(`SELECT count(*) AS count FROM ${table} WHERE ${isWith('=')}`),
    countAll: statement(`SELECT count(*) AS count FROM ${table} WHERE ${column} IS NOT NULL`),
  }
}

/** Those after a row, in the order of their keys, that are not sealed with a key. */
export async function listSealedOtherwise(
  sql: Sql,
  column: SealedColumn,
  { after, keyId, limit }: { after: RowKey; keyId: string; limit: number },
): Promise<{ key: RowKey; sealed: string; place: SealContext }[]> {
  const rows = await sql.all(column.list, { ...valuesOf(after), prefix: `${keyId}.`, limit })
  return rows.map((row) => {
    const key = Object.fromEntries(Object.keys(column.firstKey).map((name) => [name, row[name]!]))
    return { key, sealed: row.sealed, place: column.placeOf(row) }
  })
}

/** False when it is not there any more as it was. */
export async function replaceSealed(
  sql: Sql,
  column: SealedColumn,
  { key, before, sealed }: { key: RowKey; before: string; sealed: string },
): Promise<boolean> {
  return (await sql.run(column.replace, { ...valuesOf(key), before, sealed })) > 0
}

/** How many values are sealed with each of the keys, and how many with none of them. */
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

/** Names of values have no underscores. */
function valueName(column: string): string {
  return column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
