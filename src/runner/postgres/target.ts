// One table of the engine that is filled from one table of PostgreSQL: what it looks like, and the sink of its rows.
import { isDeepStrictEqual } from 'node:util'
import type { EngineColumn, EngineTable, Sink } from '../../engine/engine.ts'
import { EngineError } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import { fullName } from '../../engine/side-tables.ts'
import { addColumnStatement } from '../../engine/table-statements.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { FoundColumn } from '../../sources/postgres/postgres-columns.ts'
import { parseLsn } from '../../sources/postgres/postgres-link.ts'
import { isFoundByPrimaryKey, type MappedTable, sortingKeyOf } from '../../sources/postgres/postgres-tables.ts'
import { deletedColumn, versionColumn } from './names.ts'
import { type SourceShape, sourceShapeOf } from './source-shape.ts'
import { isLogTable } from './table-plan.ts'
import type { StoredColumn, StoredShape, StoredTable } from './table-store.ts'
import { type ColumnValues, columnValues } from './values.ts'

export interface TargetColumn extends Pick<FoundColumn, 'name' | 'typeId' | 'modifier'> {
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
  /**
   * Only of a partitioned table whose changes must come with the whole row as it was: columns that are never NULL there. A partition
   * with another replica identity leaves them out, and the log does not say so.
   */
  wholeRowColumns: string[] | undefined
  /** Ids of the tables that its source is a partition of. */
  ancestors: string[]
  sink: Sink
}

export interface TargetParts {
  engine: ReplicaTables
  database: string
  allowNullableColumns: boolean
  signal: AbortSignal
}

/** What the target has to be for the source as it is now. */
export interface WantedTarget {
  columns: TargetColumn[]
  shape: SourceShape
}

export function wantedTarget(
  { engine, allowNullableColumns }: Pick<TargetParts, 'engine' | 'allowNullableColumns'>,
  described: MappedTable,
  stored: Pick<StoredTable, 'columns'>,
): WantedTarget {
  const keys = new Set(sortingKeyOf(described))
  const types = new Map(stored.columns.map(({ name, type }) => [name, type]))
  const columns = described.columns.map(({ name, type, isNotNull, typeId, modifier }): TargetColumn => {
    const valuesWith = (mayBeNull: boolean): ColumnValues =>
      columnValues(
        { name, type, isNotNull: !mayBeNull, isKey: keys.has(name) },
        { allowNullableColumns, abilities: engine.abilities },
      )
    // One that has become NOT NULL stays Nullable: it holds all values, and those of before.
    const values = [valuesWith(!isNotNull), valuesWith(true)].find((one) => one.type === types.get(name))
    return { name, typeId, modifier, values: values ?? valuesWith(!isNotNull) }
  })
  const shape = sourceShapeOf(
    described,
    columns.map(({ values }) => values.type),
  )
  return { columns, shape }
}

/** Makes the table of the engine ready. Rejects with an EngineError. */
export async function openTarget(parts: TargetParts, described: MappedTable, stored: StoredTable): Promise<Target> {
  const { engine, database, signal } = parts
  const { mapping } = described
  const { columns, shape } = wantedTarget(parts, described, stored)
  const keyColumns = shape.shape.sortingKey
  const place = { database, table: stored.targetTable, ...(stored.replaces ? { errorsFor: stored.replaces } : {}) }
  const table = engineTable(place, mapping, columns, keyColumns)
  const there = stored.columns.length === 0 ? [] : await engine.listColumns(table, signal)
  if (there.length > 0) {
    checkRenamed(engine, table, stored.columns, { now: shape.columns, there })
    checkDropped(table, stored.columns, { now: shape.columns, there })
    checkKey(table, mapping, stored.shape, shape.shape)
  }
  const sink = await engine.openSink(table, signal)
  const beginLsn = stored.beginLsn === null ? 0n : parseLsn(stored.beginLsn)
  const wholeRowColumns = wholeRowColumnsOf(described)
  const { ancestors } = described.found
  return {
    ...{ stored: { ...stored, ...shape }, beginLsn, mapping, table, columns, keyColumns, wholeRowColumns, ancestors },
    sink,
  }
}

function wholeRowColumnsOf(described: MappedTable): string[] | undefined {
  const { mapping, found, allColumns } = described
  if (found.kind !== 'p' || !found.hasFullIdentity || isLogTable(mapping) || isFoundByPrimaryKey(described)) {
    return undefined
  }
  return allColumns.flatMap(({ name, isNotNull, isGenerated }) =>
    isNotNull && !isGenerated && !found.primaryKey.includes(name) ? [name] : [],
  )
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

interface ColumnsNow {
  /** Those of the source. */
  now: StoredColumn[]
  /** Those of the table in the engine. */
  there: EngineColumn[]
}

/** A column that is renamed looks like a new one: what was in it would stay under the old name. */
function checkRenamed(
  engine: ReplicaTables,
  table: EngineTable,
  before: StoredColumn[],
  { now, there }: ColumnsNow,
): void {
  const names = new Map(before.map(({ number, name }) => [number, name]))
  const present = new Set(there.map(({ name }) => name))
  const open = now.find(({ name, number }) => {
    const known = names.get(number) ?? name
    return known !== name && !present.has(name) && present.has(known)
  })
  if (!open) return
  const known = names.get(open.number)!
  const what = `the column ${JSON.stringify(known)} of the source is now called ${JSON.stringify(open.name)}`
  throw new EngineError('user', `${what}; run ${engine.renameStatement(table, known, open)}`)
}

/** One that is gone from the engine would be added again, without the values that it had. */
function checkDropped(table: EngineTable, before: StoredColumn[], { now, there }: ColumnsNow): void {
  const present = new Set(there.map(({ name }) => name))
  const dropped = now.find(({ name, number }) => {
    return !present.has(name) && before.some((column) => column.name === name && column.number === number)
  })
  if (!dropped) return
  throw new EngineError(
    'user',
    `the column ${JSON.stringify(dropped.name)} was dropped from the table ${fullName(table)}, with its values; ` +
      `exclude it in excludedColumns, or run ${addColumnStatement(table, dropped, { mayBeThere: false })} to fill it from now on`,
  )
}

/** By another key, rows would replace others than those that they are versions of. */
function checkKey(table: EngineTable, mapping: TableMapping, before: StoredShape | null, now: StoredShape): void {
  const isSame = before === null || isDeepStrictEqual(before.sortingKey, now.sortingKey)
  if (isSame || mapping.tableEngine !== 'ReplacingMergeTree') return
  throw new EngineError(
    'user',
    `the table ${fullName(table)} is sorted by (${before.sortingKey.join(', ')}), and the key of the source is now ` +
      `(${now.sortingKey.join(', ')}); replace the mapping by one with another targetTable`,
  )
}
