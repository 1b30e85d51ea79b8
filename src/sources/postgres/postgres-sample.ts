// Samples of the first rows of mapped tables, of bounded size: long values are truncated, long arrays are left empty.
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { Row, Sample } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { FoundColumn } from './postgres-columns.ts'
import type { PostgresSession } from './postgres-connection.ts'
import { SessionError } from './postgres-messages.ts'
import { escapeIdentifier, plainName, quotedTable, tableName } from './postgres-names.ts'
import type { MappedTable } from './postgres-tables.ts'
import { destinationType, hasDimensions, parseValue } from './postgres-types.ts'

/** Rows are read from the first tables only; columns are listed for all. */
const mostSampledTables = 20
/** Limit of one table, and of all tables. */
const mostCharacters = 1_000_000
const mostCharactersOfAll = 4_000_000
/** Longer than any number, date or UUID with a type of its own in the engine, so that these are never truncated. */
const leastValueLength = 100

type PrintedRows = (string | null)[][]

/** Rows of each table, in PostgreSQL's text format. */
export async function readRows(
  session: PostgresSession,
  tables: MappedTable[],
  maxRows: number,
): Promise<PrintedRows[]> {
  const printed: PrintedRows[] = []
  const sampled = tables.slice(0, mostSampledTables)
  const characters = Math.min(mostCharacters, Math.floor(mostCharactersOfAll / sampled.length))
  for (const table of sampled) printed.push(await session.queryTexts(rowsQuery(table, maxRows, characters)))
  return printed
}

function rowsQuery({ mapping, columns }: MappedTable, maxRows: number, characters: number): string {
  const values = Math.floor(characters / columns.length)
  const rows = Math.min(maxRows, Math.floor(values / leastValueLength))
  const maxLength = Math.floor(values / Math.max(rows, 1))
  const expressions = columns.map((column) => valueExpression(column, maxLength)).join(', ')
  return `SELECT ${expressions} FROM ${quotedTable(mapping)} LIMIT ${rows}`
}

function valueExpression({ name, type }: FoundColumn, maxLength: number): string {
  const column = escapeIdentifier(name)
  if (type.elements) {
    const list = `to_json(${column}::text[])::text`
    return `CASE WHEN ${column} IS NULL THEN NULL WHEN length(${list}) > ${maxLength} THEN '[]' ELSE ${list} END`
  }
  // For these types, PostgreSQL reads only the part that it returns. A byte is printed as two digits.
  if (type.isBuiltIn && type.name === 'bytea') return `substring(${column}, 1, ${Math.floor(maxLength / 2) - 1})`
  if (type.isBuiltIn && ['text', 'varchar'].includes(type.name)) return `left(${column}, ${maxLength})`
  // `concat`, because a cast would remove trailing blanks of a char(n). Not IS NOT NULL, which is false for a composite value with
  // a NULL attribute.
  return `CASE WHEN ${column} IS DISTINCT FROM NULL THEN left(concat(${column}), ${maxLength}) END`
}

/** Rejects with a ProbeFailure. */
export function toSample(table: MappedTable, printed: PrintedRows, settings: PostgresSource['settings']): Sample {
  const { mapping, found, columns } = table
  const { sourceSchemaName, sourceTable, useCustomSortingKey, sortingKeys } = mapping
  const { primaryKey } = found
  const keys = new Set(useCustomSortingKey ? [...primaryKey, ...sortingKeys] : primaryKey)
  const fields = columns.map((column) => {
    const { name, isNotNull } = column
    return {
      name,
      type: destinationType({ ...column, isKey: keys.has(name) }, settings),
      isOptional: !isNotNull,
    }
  })
  const rows = printed.map((values): Row => {
    return Object.fromEntries(
      columns.map((column, index) => [column.name, decode(table, column, values[index] ?? null)]),
    )
  })
  return { fields, rows, table: { sourceSchemaName, sourceTable, primaryKey } }
}

/** PostgreSQL does not print values that cannot be parsed. */
function parse(type: FoundColumn['type'], printed: string | null): unknown {
  try {
    return parseValue(type, type.elements && printed !== null ? JSON.parse(printed) : printed)
  } catch {
    throw new SessionError('not postgres')
  }
}

function decode({ index, mapping }: MappedTable, { name, type }: FoundColumn, printed: string | null): unknown {
  const value = parse(type, printed)
  if (!hasDimensions(value)) return value
  throw new ProbeFailure({
    step: 'decode',
    code: 'undecodable',
    reason: `the column ${tableName(mapping)}.${plainName(name)} has arrays of more than one dimension`,
    remedy: 'exclude the column, or keep such values as json',
    field: `tableMappings[${index}].excludedColumns`,
  })
}
