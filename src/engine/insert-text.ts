// The text of an insert: the columns it fills, and what it makes of the fields of its body. Every name is quoted and every type
// is checked here, whoever gave them.
import type { EngineColumn, Insert } from './engine.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, type TableRef } from './side-tables.ts'
import { checkType } from './types.ts'

export type Shape = Pick<Insert, 'format' | 'fields' | 'columns'>

/** For an engine that reads the fields of a body as a table (`input`), or needs no such thing for this body. */
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

/** Undefined when the columns are not the fields of the body under the same names, or in the same order where it has no names. */
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

/** Null, and a field that is missing, are read as NULL, in whose place the engine puts the default of the column. */
export function asNullable({ name, type }: EngineColumn): EngineColumn {
  const checked = checkType(type, name)
  return { name, type: canBeNullable(checked) ? `Nullable(${checked})` : checked }
}

/** An Enum cannot: beneath its NULL is 0, which need not be one of its values. */
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
