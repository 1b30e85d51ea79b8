// A ClickHouse table that is filled from one PostgreSQL table: its columns, key and sink.
import { isDeepStrictEqual } from 'node:util'
import type { EngineColumn, EngineTable, Sink } from '../../engine/engine.ts'
import { EngineError } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import { fullName } from '../../engine/side-tables.ts'
import { addColumnStatement } from '../../engine/table-statements.ts'
import type { StoredColumn, StoredShape, StoredTable } from '../../progress/tables/stored-table.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { FoundColumn } from '../../sources/postgres/postgres-columns.ts'
import { parseLsn } from '../../sources/postgres/postgres-link.ts'
import { isFoundByPrimaryKey, type MappedTable, sortingKeyOf } from '../../sources/postgres/postgres-tables.ts'
import { deletedColumn, versionColumn } from './names.ts'
import type { ColumnValues } from './scalar-values.ts'
import { type SourceShape, sourceShapeOf } from './source-shape.ts'
import { isLogTable } from './table-plan.ts'
import { columnValues } from './values.ts'

export interface TargetColumn extends Pick<FoundColumn, 'name' | 'typeId' | 'modifier'> {
  values: ColumnValues
}

export interface Target {
  stored: StoredTable
  /** Changes committed before this LSN are in the load; 0n until it is known. */
  beginLsn: bigint
  mapping: TableMapping
  table: EngineTable
  columns: TargetColumn[]
  /** The sorting key. */
  keyColumns: string[]
  /**
   * Only for a partitioned table whose changes must have the whole old row: its NOT NULL columns. A partition with another replica
   * identity leaves them out without a sign in the log.
   */
  wholeRowColumns: string[] | undefined
  /** OIDs of the tables that its source is a partition of. */
  ancestors: string[]
  sink: Sink
}

export interface TargetParts {
  engine: ReplicaTables
  database: string
  allowNullableColumns: boolean
  signal: AbortSignal
}

/** Columns and shape that the target needs for the current source. */
export interface DesiredTarget {
  columns: TargetColumn[]
  shape: SourceShape
}

export function desiredTarget(
  { engine, allowNullableColumns }: Pick<TargetParts, 'engine' | 'allowNullableColumns'>,
  described: MappedTable,
  stored: Pick<StoredTable, 'columns'>,
): DesiredTarget {
  const keys = new Set(sortingKeyOf(described))
  const types = new Map(stored.columns.map(({ name, type }) => [name, type]))
  const columns = described.columns.map(({ name, type, isNotNull, typeId, modifier }): TargetColumn => {
    const valuesWith = (mayBeNull: boolean): ColumnValues =>
      columnValues(
        { name, type, isNotNull: !mayBeNull, isKey: keys.has(name) },
        { allowNullableColumns, abilities: engine.abilities },
      )
    // A column that became NOT NULL stays Nullable, for its old values.
    const values = [valuesWith(!isNotNull), valuesWith(true)].find((one) => one.type === types.get(name))
    return { name, typeId, modifier, values: values ?? valuesWith(!isNotNull) }
  })
  const shape = sourceShapeOf(
    described,
    columns.map(({ values }) => values.type),
  )
  return { columns, shape }
}

/** Creates or adapts the table of the engine. Rejects with an EngineError. */
export async function openTarget(parts: TargetParts, described: MappedTable, stored: StoredTable): Promise<Target> {
  const { engine, database, signal } = parts
  const { mapping } = described
  const { columns, shape } = desiredTarget(parts, described, stored)
  const keyColumns = shape.shape.sortingKey
  const ref = { database, table: stored.targetTable, ...(stored.replaces ? { errorsFor: stored.replaces } : {}) }
  const table = engineTable(ref, mapping, columns, keyColumns)
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
  ref: Pick<EngineTable, 'database' | 'table' | 'errorsFor'>,
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
    ...ref,
    columns: [...columns.map(({ name, values }) => ({ name, type: values.type })), ...own],
    definition: {
      engine: { type: tableEngine, ...(isReplacing ? { versionColumnId: versionColumn } : {}) },
      sortingKey: keyColumns,
    },
  }
}

interface ColumnsNow {
  /** In the source. */
  now: StoredColumn[]
  /** In the table of the engine. */
  there: EngineColumn[]
}

/** A renamed column looks like a new one: its values would stay under the old name. */
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

/** A column that was dropped from the engine would be added again without its values. */
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

/** With another sorting key, rows would replace the wrong rows. */
function checkKey(table: EngineTable, mapping: TableMapping, before: StoredShape | null, now: StoredShape): void {
  const isSame = before === null || isDeepStrictEqual(before.sortingKey, now.sortingKey)
  if (isSame || mapping.tableEngine !== 'ReplacingMergeTree') return
  throw new EngineError(
    'user',
    `the table ${fullName(table)} is sorted by (${before.sortingKey.join(', ')}), and the key of the source is now ` +
      `(${now.sortingKey.join(', ')}); replace the mapping by one with another targetTable`,
  )
}
