// Text of an INSERT: its columns, and how fields of the body become columns. All names are quoted and all types are checked here.
import type { EngineColumn, Insert } from './engine.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, type TableRef } from './side-tables.ts'
import { checkType } from './types.ts'

export type Shape = Pick<Insert, 'format' | 'fields' | 'columns'>

/** For ClickHouse with the table function `input`, or for a body that does not need it. */
export function insertText(table: TableRef, shape: Shape): string {
  const direct = directColumns(shape)
  if (direct) return `INSERT INTO ${fullName(table)} (${listOf(direct)}) FORMAT ${shape.format}`
  const fields = shape.fields.map(asNullable)
  const selected = shape.columns.map(({ field }) => quoteName(field)).join(', ')
  return (
    `INSERT INTO ${fullName(table)} (${listOf(shape.columns.map(({ column }) => column))}) ` +
    `SELECT ${selected} FROM input(${quoteText(definitionsOf(fields))}) FORMAT ${shape.format}`
  )
}

/** Undefined unless the columns are the fields of the body: by name, or by position in formats without names. */
function directColumns({ format, fields, columns }: Shape): string[] | undefined {
  if (!isDelimited(format)) {
    return columns.every(({ column, field }) => column === field) ? columns.map(({ column }) => column) : undefined
  }
  const filled = fields.map(({ name }) => columns.filter(({ field }) => field === name))
  if (filled.some((list) => list.length !== 1)) return undefined
  return filled.flatMap((list) => list.map(({ column }) => column))
}

export function isDelimited(format: Insert['format']): boolean {
  return format === 'CSV' || format === 'TabSeparated'
}

/** Null and missing fields are read as NULL, for which ClickHouse inserts the default of the column. */
export function asNullable({ name, type }: EngineColumn): EngineColumn {
  const checked = checkType(type, name)
  return { name, type: canBeNullable(checked) ? `Nullable(${checked})` : checked }
}

/** Types that can be Nullable here. Not Enum: its NULL is stored as 0, which may not be a value of it. */
const plainTypes =
  /^(?:U?Int(?:8|16|32|64|128|256)|Float(?:32|64)|BFloat16|Bool|String|FixedString|UUID|IPv[46]|Date(?:32)?|DateTime(?:32|64)?|Decimal(?:32|64|128|256)?)(?:\(|$)/

export function canBeNullable(type: string): boolean {
  return plainTypes.test(type)
}

export function isNullable(type: string): boolean {
  return /^(?:LowCardinality\()?Nullable\(/.test(type)
}

export function definitionsOf(fields: EngineColumn[]): string {
  return fields.map(({ name, type }) => `${quoteName(name)} ${type}`).join(', ')
}

export function listOf(names: string[]): string {
  return names.map(quoteName).join(', ')
}
