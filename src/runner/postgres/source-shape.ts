// What the copy of a table depends on at the source beside its rows, and what of it has changed. PostgreSQL logs none of these changes,
// and some of them change values of rows that are not in the log either: then only another load makes the copy match.
import { isDeepStrictEqual } from 'node:util'
import type { EngineColumn } from '../../engine/engine.ts'
import { type MappedTable, sortingKeyOf } from '../../sources/postgres/postgres-tables.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import type { StoredColumn, StoredShape, StoredTable } from './table-store.ts'

/** As the catalogue has it now. */
export interface SourceShape extends Required<Pick<StoredTable, 'shape'>> {
  columns: Required<StoredColumn>[]
  shape: StoredShape
}

/** `types` are the engine's, of each column. */
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
 * Why a copy must be loaded again, as a sentence; undefined where it need not be. `there` are the columns that the copy has in the
 * engine, where they are known.
 */
export function findReloadReason(
  stored: Pick<StoredTable, 'columns' | 'shape'>,
  described: MappedTable,
  now: SourceShape,
  there?: readonly EngineColumn[],
): string | undefined {
  // It is not made yet.
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

/** Whether a table of the engine that was made for the one can be filled with the other. */
export function isSameEngineType(stored: Pick<StoredTable, 'columns' | 'shape'>, now: SourceShape): boolean {
  const types = new Map(now.columns.map(({ name, type }) => [name, type]))
  const isSameKey = isDeepStrictEqual(stored.shape?.sortingKey, now.shape.sortingKey)
  return isSameKey && stored.columns.every(({ name, type }) => (types.get(name) ?? type) === type)
}

interface Circumstances {
  /** The rows of the table are in other files. */
  isRewritten: boolean
  /** Rows that are older than the column have its default. */
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
    // The user has yet to rename it in the engine.
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
  // Changed in place, values print as before, such as those of a varchar(20) that was a varchar(10).
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
