// Statements of an insert through a view. Unlike an insert, a view fills only the columns that it names, converts nothing, and resolves
// names to selected aliases before fields. Where this matters, there is no view plan.
import { type EngineColumn, EngineError } from './engine.ts'
import { definitionsOf, type Shape } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, type TableRef } from './side-tables.ts'
import { selectedBy, stagedType } from './staging-text.ts'
import { markerColumn } from './table-delivery.ts'
import { checkType } from './types.ts'

/** A column as it is in the table now. */
export interface TableColumn extends EngineColumn {
  default_kind: string
}

export interface ViewPlan {
  /** Columns of the Null table that the rows are sent into. */
  columns: EngineColumn[]
  /** Expressions for all columns of the user's table, each with its alias. */
  selected: string
  where: string[]
}

export interface ViewPlanOptions {
  /** Marker of the batch, if the rows are marked. */
  marker: string | undefined
  /**
   * Whether fields are read as Nullable. Otherwise they are read with the types of their columns, which is cheaper but rejects nulls
   * that cannot be converted.
   */
  mayHaveNulls: boolean
}

/** Undefined when rows of this shape cannot go through a view into these columns. */
export function planView(shape: Shape, columns: TableColumn[], options: ViewPlanOptions): ViewPlan | undefined {
  const { marker, mayHaveNulls } = options
  if (!isUnmistakable(shape, columns)) return undefined
  const fieldOf = new Map(shape.columns.map(({ column, field }) => [column, field]))
  const staged = new Map(shape.fields.map((field) => [field.name, stagedType(shape.format, field)]))
  const [selected, guarded]: [string[], string[]] = [[], []]
  for (const column of columns) {
    const name = quoteName(column.name)
    const type = findType(column)
    const field = shape.fields.find((each) => each.name === fieldOf.get(column.name))
    if (type === undefined || column.default_kind !== '') return undefined
    if (marker !== undefined && column.name === markerColumn) {
      if (field) return undefined
      selected.push(`${quoteText(marker)} AS ${name}`)
    } else if (!field) {
      // Not sent, so it gets the default of its type.
      staged.set(column.name, type)
      selected.push(name)
    } else if (!mayHaveNulls && shape.format === 'JSONEachRow' && checkType(field.type, field.name) === type) {
      staged.set(field.name, type)
      if (type.startsWith('Float')) guarded.push(`isNaN(${quoteName(field.name)})`)
      selected.push(`${quoteName(field.name)} AS ${name}`)
    } else
      selected.push(`${convertedTo(type, selectedBy(shape.format, field, type), staged.get(field.name))} AS ${name}`)
  }
  return {
    columns: [...staged].map(([name, type]) => ({ name, type })),
    selected: selected.join(', '),
    // A null is read as NaN, which cannot be distinguished from a sent NaN.
    where: guarded.length === 0 ? [] : [`throwIf(${guarded.join(' OR ')}) = 0`],
  }
}

/** Whether each name is unambiguous: the same as a field and as a column, or only one of them. */
function isUnmistakable({ fields, columns }: Shape, there: TableColumn[]): boolean {
  const isOnce = (names: string[]): boolean => new Set(names).size === names.length
  const fieldOf = new Map(columns.map(({ column, field }) => [column, field]))
  const fieldNames = new Set(fields.map(({ name }) => name))
  const columnNames = new Set(there.map(({ name }) => name))
  return (
    isOnce(columns.map(({ column }) => column)) &&
    isOnce(columns.map(({ field }) => field)) &&
    columns.every(({ column, field }) => columnNames.has(column) && fieldNames.has(field)) &&
    there.every(({ name }) => fieldOf.get(name) === name || !fieldNames.has(name))
  )
}

/** Undefined for types that the grammar does not have, or that ClickHouse older than 23.3 allows only with a setting. */
function findType({ type }: TableColumn): string | undefined {
  try {
    return type.includes('LowCardinality') ? undefined : checkType(type)
  } catch (error) {
    if (error instanceof EngineError) return undefined
    throw error
  }
}

function convertedTo(type: string, selected: string, staged: string | undefined): string {
  const isOfType = selected.startsWith('`')
    ? staged === type
    : selected.startsWith('assumeNotNull(') && staged === `Nullable(${type})`
  return isOfType ? selected : `CAST(${selected} AS ${type})`
}

export function nullTableText(name: string, { columns }: ViewPlan): string {
  return `CREATE TABLE ${name} (${definitionsOf(columns)}) ENGINE = Null`
}

export function viewText(name: string, { from, to, plan }: { from: TableRef; to: TableRef; plan: ViewPlan }): string {
  const where = plan.where.length === 0 ? '' : ` WHERE ${plan.where.join(' AND ')}`
  return `CREATE MATERIALIZED VIEW ${name} TO ${fullName(to)} AS SELECT ${plan.selected} FROM ${fullName(from)}${where}`
}
