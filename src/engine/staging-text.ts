// The text of an insert by way of a table that holds the fields of a body as they come, for engines of before: what they cannot
// read as they should is read as text, and made of it afterwards.
import type { EngineColumn } from './engine.ts'
import { asNullable, canBeNullable, definitionsOf, isDelimited, isNullable, listOf, type Shape } from './insert-text.ts'
import { quoteName } from './names.ts'
import { fullName, type TableRef } from './side-tables.ts'

export function stagingText(name: string, { format, fields }: Shape): string {
  const staged = fields.map((field) => ({ name: field.name, type: stagedType(format, field) }))
  const witness = { name: witnessColumn(fields), type: 'UInt8' }
  return `CREATE TABLE ${name} (${definitionsOf([...staged, witness])}) ENGINE = Memory`
}

/**
 * Of the one row that is in such a table before the others: an engine that is started anew still has the table, and has forgotten
 * all that was in it. While the witness is there, so is every row that was staged after it.
 */
export function witnessColumn(fields: EngineColumn[]): string {
  let name = '_penstock_witness'
  while (fields.some((field) => field.name === name)) name += '_'
  return name
}

export function witnessText(staging: TableRef, { fields }: Shape): string {
  return `INSERT INTO ${fullName(staging)} (${quoteName(witnessColumn(fields))}) SELECT 1`
}

export function fillText(staging: TableRef, { format, fields }: Shape, comment = ''): string {
  const into = comment === '' ? fullName(staging) : `${fullName(staging)} ${comment}`
  return `INSERT INTO ${into} (${listOf(fields.map(({ name }) => name))}) FORMAT ${format}`
}

/** What is selected from such a table for the columns, in their order. `types` are those of the columns of the table. */
export function selectedOf({ format, fields, columns }: Shape, types: ReadonlyMap<string, string>): string {
  const byName = new Map(fields.map((field) => [field.name, field]))
  return columns
    .map(({ column, field: name }) => {
      const field = byName.get(name)
      return field ? selectedBy(format, field, types.get(column) ?? '') : quoteName(name)
    })
    .join(', ')
}

/** What is selected of one field for a column of this type. */
export function selectedBy(format: Shape['format'], field: EngineColumn, type: string): string {
  const [name, mayBeNull] = [quoteName(field.name), isNullable(type)]
  const moment = findMoment(format, field)
  if (moment) return momentOf(name, moment, mayBeNull)
  // Beneath a NULL that was read is the default of the type.
  return isNullable(stagedType(format, field)) && !mayBeNull ? `assumeNotNull(${name})` : name
}

export function stagedType(format: Shape['format'], field: EngineColumn): string {
  return findMoment(format, field) ? 'Nullable(String)' : plainType(field)
}

/** Engines of before have dictionary-encoded types only on request; the rows are the same without. */
function plainType(field: EngineColumn): string {
  const { type } = asNullable(field)
  const inner = /^LowCardinality\((.*)\)$/s.exec(type)?.[1]
  if (inner === undefined) return type
  return canBeNullable(inner) ? `Nullable(${inner})` : inner
}

interface Moment {
  read: string
  /** What is read as zero. */
  zero: string
  /** With a comma before it, or empty. */
  zone: string
}

/** In delimited formats an empty text stands for the default, and these engines take it for the year 2000, or refuse it. */
function findMoment(format: Shape['format'], field: EngineColumn): Moment | undefined {
  if (!isDelimited(format)) return undefined
  const [, name, zone] = /^Nullable\((Date|DateTime)(?:\(('.*')\))?\)$/s.exec(plainType(field)) ?? []
  if (name === 'Date') return { read: 'toDate', zero: "'0000-00-00'", zone: '' }
  if (name !== 'DateTime') return undefined
  return {
    read: 'parseDateTimeBestEffort',
    zero: "'1970-01-01T00:00:00Z'",
    zone: zone === undefined ? '' : `, ${zone}`,
  }
}

function momentOf(name: string, { read, zero, zone }: Moment, mayBeNull: boolean): string {
  const isEmpty = `assumeNotNull(${name}) = ''`
  // Both sides of a condition are computed.
  const moment = `${read}(if(${isEmpty}, ${zero}, assumeNotNull(${name}))${zone})`
  return mayBeNull ? `if(${isEmpty}, NULL, ${moment})` : moment
}
