// Mappings of PostgreSQL tables.
import type { SchemaDiscovery, TableMappingToAdd } from '../../../src/client/shapes.ts'
import { isSameTable, type TableName } from './pipe-draft.ts'

export type AvailableTable = SchemaDiscovery['availableTables'][number]

export const tableTitle = ({ sourceSchemaName, sourceTable }: TableName): string => `${sourceSchemaName}.${sourceTable}`

export function isCompleteMapping({ sourceSchemaName, sourceTable, targetTable }: TableMappingToAdd): boolean {
  return sourceSchemaName !== '' && sourceTable !== '' && targetTable !== ''
}

/** Maps to a table of the same name, prefixed with the schema if another mapping uses that name. */
export function mappingFor(table: TableName, present: { targetTable: string }[]): TableMappingToAdd {
  const { sourceSchemaName, sourceTable } = table
  const isTaken = present.some(({ targetTable }) => targetTable === sourceTable)
  return { sourceSchemaName, sourceTable, targetTable: isTaken ? `${sourceSchemaName}_${sourceTable}` : sourceTable }
}

/** Adds a table, replacing an empty row. */
export function withTable(mappings: TableMappingToAdd[], table: TableName): TableMappingToAdd[] {
  const started = mappings.filter(({ sourceTable, targetTable }) => sourceTable !== '' || targetTable !== '')
  return [...started, mappingFor(table, started)]
}

/** Tables whose name contains the text, with or without its schema. */
export function tablesNamed<Table extends TableName>(tables: Table[], text: string): Table[] {
  const lowerCased = text.trim().toLowerCase()
  return tables.filter((table) => tableTitle(table).toLowerCase().includes(lowerCased))
}

/** The tables of a postgres pipe after the removals and additions. */
export function mappedTables<Mapping extends TableName>(
  present: Mapping[],
  { removedTables = [], addedTables = [] }: { removedTables?: TableName[]; addedTables?: TableMappingToAdd[] },
): (Mapping | TableMappingToAdd)[] {
  return [...present.filter((one) => !removedTables.some((removed) => isSameTable(removed, one))), ...addedTables]
}
