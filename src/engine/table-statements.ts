// The statements that make and extend tables. Every name is quoted, and every type and expression is parsed and written anew.
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
  /** Whether the table is to keep tokens. */
  hasTokenWindow: boolean
}

export function addColumnStatement(
  place: TableRef,
  column: EngineColumn,
  { mayBeThere }: { mayBeThere: boolean },
): string {
  return `ALTER TABLE ${fullName(place)} ADD COLUMN ${mayBeThere ? 'IF NOT EXISTS ' : ''}${columnText(column)}`
}

/** For the user to run. */
export function modifyColumnStatement(place: TableRef, column: EngineColumn): string {
  return `ALTER TABLE ${fullName(place)} MODIFY COLUMN ${columnText(column)}`
}

/** For the user to run: the old values stay, and the column, or the whole table, is made again with its new type. */
export function setAsideStatement(
  place: TableRef,
  column: string,
  { canRenameColumn }: Pick<Capabilities, 'canRenameColumn'>,
): string {
  if (!canRenameColumn)
    return `RENAME TABLE ${fullName(place)} TO ${fullName({ ...place, table: `${place.table}_before` })}`
  return `ALTER TABLE ${fullName(place)} RENAME COLUMN ${quoteName(column)} TO ${quoteName(`${column}_before`)}`
}

export function keepTokensStatement(place: TableRef): string {
  return `ALTER TABLE ${fullName(place)} MODIFY SETTING non_replicated_deduplication_window = ${tokenWindow}`
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
    // The two are the same unless they are told apart.
    primary === undefined || sortingKey.length === 0 ? '' : ` PRIMARY KEY ${primary}`,
    ` ORDER BY ${sorting}`,
    hasTokenWindow ? ` SETTINGS non_replicated_deduplication_window = ${tokenWindow}` : '',
  ].join('')
}

/** Types that engines of some years take only on request. */
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
