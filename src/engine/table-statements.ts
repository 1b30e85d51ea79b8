// Statements that create and extend tables. All names are quoted; types and expressions are rebuilt from parsed tokens.
import type { Capabilities } from './capabilities.ts'
import type { EngineSettings } from './client.ts'
import type { EngineColumn, EngineTable } from './engine.ts'
import { checkExpression } from './expressions.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, type TableRef } from './side-tables.ts'
import { markerColumn, tokenWindow } from './table-delivery.ts'
import { checkType } from './types.ts'

type Definition = NonNullable<EngineTable['definition']>

export function describeTableStatement({ database, table }: TableRef): string {
  return (
    'SELECT engine, engine_full, partition_key FROM system.tables ' +
    `WHERE database = ${quoteText(database)} AND name = ${quoteText(table)} FORMAT JSONEachRow`
  )
}

export function listColumnsStatement({ database, table }: TableRef): string {
  return (
    'SELECT name, type, default_kind FROM system.columns ' +
    `WHERE database = ${quoteText(database)} AND table = ${quoteText(table)} FORMAT JSONEachRow`
  )
}

export function createTableStatement(table: EngineTable, definition: Definition, options: TableOptions): string {
  const columns = [...table.columns, ...(options.hasMarker ? [{ name: markerColumn, type: 'String' }] : [])]
  return (
    `CREATE TABLE IF NOT EXISTS ${fullName(table)} (${columns.map(columnText).join(', ')}) ` +
    `ENGINE = ${engineText(definition)}${keysText(definition, options)}`
  )
}

export interface TableOptions {
  hasMarker: boolean
  /** Whether to set a deduplication window. */
  hasTokenWindow: boolean
}

export function addColumnStatement(
  table: TableRef,
  column: EngineColumn,
  { mayBeThere }: { mayBeThere: boolean },
): string {
  return `ALTER TABLE ${fullName(table)} ADD COLUMN ${mayBeThere ? 'IF NOT EXISTS ' : ''}${columnText(column)}`
}

/** For the user to run. */
export function modifyColumnStatement(table: TableRef, column: EngineColumn): string {
  return `ALTER TABLE ${fullName(table)} MODIFY COLUMN ${columnText(column)}`
}

/** Statement for the user: keeps the old values; the column, or the whole table, is recreated with its new type. */
export function setAsideStatement(
  table: TableRef,
  column: string,
  { canRenameColumn }: Pick<Capabilities, 'canRenameColumn'>,
): string {
  if (!canRenameColumn)
    return `RENAME TABLE ${fullName(table)} TO ${fullName({ ...table, table: `${table.table}_before` })}`
  return `ALTER TABLE ${fullName(table)} RENAME COLUMN ${quoteName(column)} TO ${quoteName(`${column}_before`)}`
}

export function keepTokensStatement(table: TableRef): string {
  return `ALTER TABLE ${fullName(table)} MODIFY SETTING non_replicated_deduplication_window = ${tokenWindow}`
}

function columnText({ name, type }: EngineColumn): string {
  return `${quoteName(name)} ${checkType(type, name)}`
}

function engineText({ engine }: Definition): string {
  const { type, columnIds = [], versionColumnId } = engine
  switch (type) {
    case 'ReplacingMergeTree':
      return `ReplacingMergeTree(${versionColumnId === undefined ? '' : quoteName(versionColumnId)})`
    case 'SummingMergeTree':
      return `SummingMergeTree(${columnIds.length === 0 ? '' : tuple(columnIds)})`
    case 'MergeTree':
      return 'MergeTree()'
    case 'Null':
      return 'Null'
  }
}

function tuple(names: string[]): string {
  return names.length === 1 ? quoteName(names[0]!) : `(${names.map(quoteName).join(', ')})`
}

function keysText(
  { engine, partitionBy, primaryKey, sortingKey = [] }: Definition,
  { hasTokenWindow }: TableOptions,
): string {
  if (engine.type === 'Null') return ''
  const primary = primaryKey === undefined ? undefined : checkExpression(primaryKey, 'primaryKey')
  const sorting = sortingKey.length > 0 ? tuple(sortingKey) : (primary ?? 'tuple()')
  return [
    partitionBy === undefined ? '' : ` PARTITION BY ${checkExpression(partitionBy, 'partitionBy')}`,
    // The primary key defaults to the sorting key.
    primary === undefined || sortingKey.length === 0 ? '' : ` PRIMARY KEY ${primary}`,
    ` ORDER BY ${sorting}`,
    hasTokenWindow ? ` SETTINGS non_replicated_deduplication_window = ${tokenWindow}` : '',
  ].join('')
}

/** Types that some versions allow only with a setting. */
const typeSettings = [
  'allow_experimental_low_cardinality_type',
  'allow_suspicious_low_cardinality_types',
  'allow_experimental_bigint_types',
  'allow_experimental_geo_types',
  'allow_experimental_variant_type',
  'allow_experimental_dynamic_type',
  'allow_experimental_json_type',
  'allow_experimental_qbit_type',
  'allow_experimental_time_time64_type',
  'enable_time_time64_type',
]

export function definitionSettings({ hasSetting }: Capabilities): EngineSettings {
  return Object.fromEntries(typeSettings.filter(hasSetting).map((name) => [name, 1]))
}
