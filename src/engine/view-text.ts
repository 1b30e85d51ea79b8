// The text of an insert through a view. A view does not do what an insert does by itself: it fills no column that it does not
// name, converts nothing, and takes a name for what was selected under it, not for the field. Where that would matter, there is
// no such text.
import { type EngineColumn, EngineError } from './engine.ts'
import { definitionsOf, type Shape } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, type TableRef } from './side-tables.ts'
import { selectedBy, stagedType } from './staging-text.ts'
import { markerColumn } from './table-delivery.ts'
import { checkType } from './types.ts'

/** As the engine has it at the moment. */
export interface TableColumn extends EngineColumn {
  default_kind: string
}

export interface Passage {
  /** Of the table that the rows are sent into. */
  columns: EngineColumn[]
  /** Everything that the table of the user has, each under its name. */
  selected: string
  where: string[]
}

export interface PassageOptions {
  /** Of a batch whose rows are marked with it. */
  marker: string | undefined
  /**
   * Whether fields are read as what can be NULL. Otherwise they are read as their columns are, which is cheaper: a null is refused
   * then, unless it becomes what it should.
   */
  mayHaveNulls: boolean
}

/** Undefined: rows of this shape do not come into a table with these columns in this way. */
export function findPassage(shape: Shape, columns: TableColumn[], options: PassageOptions): Passage | undefined {
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
      // It is not sent, so it comes as the default of its type.
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
    // A null is read as NaN: whether it was one cannot be told any more.
    where: guarded.length === 0 ? [] : [`throwIf(${guarded.join(' OR ')}) = 0`],
  }
}

/** Whether every name means the same thing among the fields and among the columns, or only one of them has it. */
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

/** Undefined of one that is not put into a statement: it is not understood here, or engines of before have it only on request. */
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

export function passageText(name: string, { columns }: Passage): string {
  return `CREATE TABLE ${name} (${definitionsOf(columns)}) ENGINE = Null`
}

export function viewText(
  name: string,
  { from, to, passage }: { from: TableRef; to: TableRef; passage: Passage },
): string {
  const where = passage.where.length === 0 ? '' : ` WHERE ${passage.where.join(' AND ')}`
  return `CREATE MATERIALIZED VIEW ${name} TO ${fullName(to)} AS SELECT ${passage.selected} FROM ${fullName(from)}${where}`
}
