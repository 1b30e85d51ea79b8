// Detects changes of a source table that are not in the WAL: columns, types, keys and rewrites. Some of them change values of existing
// rows without logging them. Then only a reload makes the copy match.
import { isDeepStrictEqual } from 'node:util'
import type { EngineColumn } from '../../engine/engine.ts'
import type { StoredColumn, StoredShape, StoredTable } from '../../progress/tables/stored-table.ts'
import { tableName } from '../../sources/postgres/postgres-names.ts'
import { type MappedTable, sortingKeyOf } from '../../sources/postgres/postgres-tables.ts'

/** From the current catalog. */
export interface SourceShape extends Required<Pick<StoredTable, 'shape'>> {
  columns: Required<StoredColumn>[]
  shape: StoredShape
}

/** `types`: the ClickHouse type of each column. */
export function sourceShapeOf(described: MappedTable, types: readonly string[]): SourceShape {
  const { files, lastColumnNumber } = described.found
  return {
    columns: described.columns.map(({ name, number, typeId, modifier, revision, labels }, index) => {
      return { name, number, type: types[index]!, source: { typeId, modifier, revision, labels } }
    }),
    shape: { files, lastColumnNumber, sortingKey: sortingKeyOf(described) },
  }
}

/**
 * The reason for a reload, as a sentence; undefined when none is needed. `there`: the columns of the copy in the engine, when known.
 */
export function findReloadReason(
  stored: Pick<StoredTable, 'columns' | 'shape'>,
  described: MappedTable,
  now: SourceShape,
  there?: readonly EngineColumn[],
): string | undefined {
  // The copy does not exist yet.
  if (stored.columns.length === 0) return undefined
  const { mapping } = described
  if (stored.shape && !isDeepStrictEqual(stored.shape.sortingKey, now.shape.sortingKey)) {
    const [before, after] = [stored.shape.sortingKey, now.shape.sortingKey].map((key) => key.join(', '))
    return `the key of ${tableName(mapping)} is (${after}) and was (${before})`
  }
  const isRewritten = stored.shape !== null && stored.shape.files !== now.shape.files
  for (const column of now.columns) {
    const hasDefault = described.columns.find(({ name }) => name === column.name)?.hasStoredDefault ?? false
    const what = findDifference(stored, column, { isRewritten, hasDefault, there })
    if (what !== undefined) return `the column ${JSON.stringify(column.name)} of ${tableName(mapping)} ${what}`
  }
  return undefined
}

/** Whether a table created for `stored` can hold the rows of `now`. */
export function isSameEngineType(stored: Pick<StoredTable, 'columns' | 'shape'>, now: SourceShape): boolean {
  const types = new Map(now.columns.map(({ name, type }) => [name, type]))
  const isSameKey = isDeepStrictEqual(stored.shape?.sortingKey, now.shape.sortingKey)
  return isSameKey && stored.columns.every(({ name, type }) => (types.get(name) ?? type) === type)
}

interface Circumstances {
  /** The table has other files than before. */
  isRewritten: boolean
  /** Rows older than the column have its default. */
  hasDefault: boolean
  there: readonly EngineColumn[] | undefined
}

function findDifference(
  stored: Pick<StoredTable, 'columns' | 'shape'>,
  now: SourceShape['columns'][number],
  { isRewritten, hasDefault, there }: Circumstances,
): string | undefined {
  const has = (name: string): boolean => there === undefined || there.some((column) => column.name === name)
  const known = stored.columns.find(({ number }) => number === now.number)
  if (!known) {
    if (stored.columns.some(({ name }) => name === now.name)) return 'was dropped and added again'
    if (stored.shape && now.number <= stored.shape.lastColumnNumber) return 'was not replicated before'
    return hasDefault || isRewritten ? 'was added with values for the rows that were there' : undefined
  }
  if (known.name !== now.name) {
    // The user has not yet renamed it in the engine.
    if (!there || !has(now.name)) return undefined
    if (has(known.name)) return 'has the name of another column'
  }
  if (known.type !== now.type) return `has another type: ${now.type} in the engine, and before ${known.type}`
  if (!has(now.name)) return 'was dropped from the copy'
  return known.source && differenceOfSource(known.source, now.source, isRewritten)
}

function differenceOfSource(
  known: NonNullable<StoredColumn['source']>,
  now: NonNullable<StoredColumn['source']>,
  isRewritten: boolean,
): string | undefined {
  const isOther = known.typeId !== now.typeId || known.modifier !== now.modifier || known.revision !== now.revision
  // Without a rewrite, values print as before: for example varchar(10) changed to varchar(20).
  if (isOther && isRewritten) return 'was changed, and the table rewritten'
  const labels = new Map(now.labels.map((label) => [idOf(label), label]))
  const isRenamed = known.labels.some((label) => (labels.get(idOf(label)) ?? label) !== label)
  return isRenamed
    ? 'is of a type that was changed: values of an enum renamed, or attributes added or dropped'
    : undefined
}

function idOf(label: string): string {
  return label.slice(0, label.indexOf(':'))
}
