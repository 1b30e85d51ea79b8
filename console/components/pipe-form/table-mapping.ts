// Mappings of PostgreSQL tables.
import type { SchemaDiscovery, TableMapping, TableMappingToAdd } from '../../../src/client/shapes.ts'
import { addedTables, isSameTable, type PipeDraft, removedTables, type TableName } from './pipe-draft.ts'

export type AvailableTable = SchemaDiscovery['availableTables'][number]

export const tableTitle = ({ sourceSchemaName, sourceTable }: TableName): string => `${sourceSchemaName}.${sourceTable}`

export function isCompleteMapping({ sourceSchemaName, sourceTable, targetTable }: TableMappingToAdd): boolean {
  return sourceSchemaName !== '' && sourceTable !== '' && targetTable !== ''
}

/** Adds a table, replacing an empty row. It goes to a table of the same name, prefixed with the schema if that is taken. */
export function withTable(
  added: TableMappingToAdd[],
  { sourceSchemaName, sourceTable }: TableName,
  mapped: { targetTable: string }[] = added,
): TableMappingToAdd[] {
  const started = added.filter((one) => one.sourceTable !== '' || one.targetTable !== '')
  const isTaken = mapped.some(({ targetTable }) => targetTable === sourceTable)
  const targetTable = isTaken ? `${sourceSchemaName}_${sourceTable}` : sourceTable
  return [...started, { sourceSchemaName, sourceTable, targetTable }]
}

/** Tables whose name contains the text, with or without its schema. */
export function tablesNamed<Table extends TableName>(tables: Table[], text: string): Table[] {
  const lowerCased = text.trim().toLowerCase()
  return tables.filter((table) => tableTitle(table).toLowerCase().includes(lowerCased))
}

/** The tables of a postgres pipe after the removals and additions of the form. */
export function mappedTables(draft: PipeDraft): (TableMapping | TableMappingToAdd)[] {
  const present = draft.pipe?.source.postgres?.tableMappings ?? []
  const removed = removedTables(draft)
  return [...present.filter((one) => !removed.some((name) => isSameTable(name, one))), ...addedTables(draft)]
}
