// Statements of an insert through a staging table, for ClickHouse older than 23.3. Types that it cannot read reliably are staged as text
// and converted afterwards.
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
 * Marks the first row of a staging table. A restarted ClickHouse still has the table, but without rows. While the witness row is
 * there, so are all rows staged after it.
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

/** Expressions selected from a staging table for the columns, in order. `types`: types of the destination columns. */
export function selectedOf({ format, fields, columns }: Shape, types: ReadonlyMap<string, string>): string {
  const byName = new Map(fields.map((field) => [field.name, field]))
  return columns
    .map(({ column, field: name }) => {
      const field = byName.get(name)
      return field ? selectedBy(format, field, types.get(column) ?? '') : quoteName(name)
    })
    .join(', ')
}

/** The expression selected for a field and a column of this type. */
export function selectedBy(format: Shape['format'], field: EngineColumn, type: string): string {
  const [name, mayBeNull] = [quoteName(field.name), isNullable(type)]
  const parsing = findDateParsing(format, field)
  if (parsing) return parsedText(name, parsing, mayBeNull)
  // A NULL has the default value of the type beneath it.
  return isNullable(stagedType(format, field)) && !mayBeNull ? `assumeNotNull(${name})` : name
}

export function stagedType(format: Shape['format'], field: EngineColumn): string {
  return findDateParsing(format, field) ? 'Nullable(String)' : plainType(field)
}

/** ClickHouse older than 23.3 allows LowCardinality only with a setting; the values are the same without it. */
function plainType(field: EngineColumn): string {
  const { type } = asNullable(field)
  const inner = /^LowCardinality\((.*)\)$/s.exec(type)?.[1]
  if (inner === undefined) return type
  return canBeNullable(inner) ? `Nullable(${inner})` : inner
}

interface DateParsing {
  parser: string
  /** Text that is parsed as zero. */
  zero: string
  /** Time zone with a leading comma, or empty. */
  zone: string
}

/** In delimited formats, an empty text stands for the default. These versions read it as the year 2000, or reject it. */
function findDateParsing(format: Shape['format'], field: EngineColumn): DateParsing | undefined {
  if (!isDelimited(format)) return undefined
  const [, name, zone] = /^Nullable\((Date|DateTime)(?:\(('.*')\))?\)$/s.exec(plainType(field)) ?? []
  if (name === 'Date') return { parser: 'toDate', zero: "'0000-00-00'", zone: '' }
  if (name !== 'DateTime') return undefined
  return {
    parser: 'parseDateTimeBestEffort',
    zero: "'1970-01-01T00:00:00Z'",
    zone: zone === undefined ? '' : `, ${zone}`,
  }
}

function parsedText(name: string, { parser, zero, zone }: DateParsing, mayBeNull: boolean): string {
  const isEmpty = `assumeNotNull(${name}) = ''`
  // ClickHouse evaluates both branches of `if`.
  const parsed = `${parser}(if(${isEmpty}, ${zero}, assumeNotNull(${name}))${zone})`
  return mayBeNull ? `if(${isEmpty}, NULL, ${parsed})` : parsed
}
