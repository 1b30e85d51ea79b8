// One table of the engine that is filled from one table of PostgreSQL: what it looks like, and the sink of its rows.
import type { EngineColumn, EngineTable, Sink } from '../../engine/engine.ts'
import { EngineError } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import { parseLsn } from '../../sources/postgres/postgres-link.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { deletedColumn, versionColumn } from './names.ts'
import type { StoredTable } from './table-store.ts'
import { type ColumnValues, columnValues } from './values.ts'

export interface TargetColumn {
  name: string
  values: ColumnValues
}

export interface Target {
  stored: StoredTable
  /** Changes that were committed before are in the load; 0n until that is known. */
  beginLsn: bigint
  mapping: TableMapping
  table: EngineTable
  columns: TargetColumn[]
  /** The sorting key. */
  keyColumns: string[]
  sink: Sink
}

export interface TargetParts {
  engine: ReplicaTables
  database: string
  allowNullableColumns: boolean
  signal: AbortSignal
}

/** Makes the table of the engine ready. Rejects with an EngineError. */
export async function openTarget(parts: TargetParts, described: MappedTable, stored: StoredTable): Promise<Target> {
  const { engine, database, allowNullableColumns, signal } = parts
  const { mapping, found } = described
  const keyColumns = sortingKeyOf(mapping, found.primaryKey)
  const keys = new Set(keyColumns)
  const columns = described.columns.map(({ name, type, isNotNull }) => {
    const column = { name, type, isNotNull, isKey: keys.has(name) }
    return { name, values: columnValues(column, { allowNullableColumns, abilities: engine.abilities }) }
  })
  const place = { database, table: stored.targetTable, ...(stored.replaces ? { errorsFor: stored.replaces } : {}) }
  const table = engineTable(place, mapping, columns, keyColumns)
  const shape = described.columns.map(({ name, number }, index) => ({
    name,
    number,
    type: columns[index]!.values.type,
  }))
  await checkRenamed(parts, table, stored.columns, shape)
  const sink = await engine.openSink(table, signal)
  const beginLsn = stored.beginLsn === null ? 0n : parseLsn(stored.beginLsn)
  return { stored: { ...stored, columns: shape }, beginLsn, mapping, table, columns, keyColumns, sink }
}

/** What is in the key of PostgreSQL stands at its end, so that no two rows are taken for one. */
function sortingKeyOf({ useCustomSortingKey, sortingKeys }: TableMapping, primaryKey: string[]): string[] {
  return useCustomSortingKey ? [...new Set([...sortingKeys, ...primaryKey])] : primaryKey
}

function engineTable(
  place: Pick<EngineTable, 'database' | 'table' | 'errorsFor'>,
  { tableEngine }: TableMapping,
  columns: TargetColumn[],
  keyColumns: string[],
): EngineTable {
  const own: EngineColumn[] = [
    { name: versionColumn, type: 'UInt64' },
    { name: deletedColumn, type: 'UInt8' },
  ]
  const isReplacing = tableEngine === 'ReplacingMergeTree'
  return {
    ...place,
    columns: [...columns.map(({ name, values }) => ({ name, type: values.type })), ...own],
    definition: {
      engine: { type: tableEngine, ...(isReplacing ? { versionColumnId: versionColumn } : {}) },
      sortingKey: keyColumns,
    },
  }
}

/** A column that is called otherwise looks like a new one: what was in it would stay under the old name. */
async function checkRenamed(
  { engine, signal }: TargetParts,
  table: EngineTable,
  before: StoredTable['columns'],
  now: StoredTable['columns'],
): Promise<void> {
  const names = new Map(before.map(({ number, name }) => [number, name]))
  const renamed = now.filter(({ number, name }) => (names.get(number) ?? name) !== name)
  if (renamed.length === 0) return
  const there = new Set((await engine.listColumns(table, signal)).map(({ name }) => name))
  const open = renamed.find(({ name, number }) => !there.has(name) && there.has(names.get(number)!))
  if (open) throw renamedColumn(engine, table, names.get(open.number)!, open)
}

function renamedColumn(engine: ReplicaTables, table: EngineTable, before: string, now: EngineColumn): EngineError {
  const what = `the column ${JSON.stringify(before)} of the source is now called ${JSON.stringify(now.name)}`
  return new EngineError('user', `${what}; run ${engine.renameStatement(table, before, now)}`)
}
