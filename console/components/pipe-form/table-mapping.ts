// Tables of PostgreSQL, and the mappings that are made of them.
import type { SchemaDiscovery, TableMappingToAdd } from '../../../src/client/shapes.ts'
import { isSameTable, type TableName } from './pipe-draft.ts'

export type AvailableTable = SchemaDiscovery['availableTables'][number]

export const tableTitle = ({ sourceSchemaName, sourceTable }: TableName): string => `${sourceSchemaName}.${sourceTable}`

export function isCompleteMapping({ sourceSchemaName, sourceTable, targetTable }: TableMappingToAdd): boolean {
  return sourceSchemaName !== '' && sourceTable !== '' && targetTable !== ''
}

/** Into a table of the same name; with the schema before it when another mapping fills that one already. */
export function mappingFor(table: TableName, present: { targetTable: string }[]): TableMappingToAdd {
  const { sourceSchemaName, sourceTable } = table
  const isTaken = present.some(({ targetTable }) => targetTable === sourceTable)
  return { sourceSchemaName, sourceTable, targetTable: isTaken ? `${sourceSchemaName}_${sourceTable}` : sourceTable }
}

/** With one more table, in the place of a row that was added and is still empty. */
export function withTable(mappings: TableMappingToAdd[], table: TableName): TableMappingToAdd[] {
  const started = mappings.filter(({ sourceTable, targetTable }) => sourceTable !== '' || targetTable !== '')
  return [...started, mappingFor(table, started)]
}

/** Those whose name has the text in it, with or without its schema. */
export function tablesNamed<Table extends TableName>(tables: Table[], text: string): Table[] {
  const wanted = text.trim().toLowerCase()
  return tables.filter((table) => tableTitle(table).toLowerCase().includes(wanted))
}

/** The tables that a Postgres pipe would have, with what is removed and added. */
export function mappedTables<Mapping extends TableName>(
  present: Mapping[],
  { removedTables = [], addedTables = [] }: { removedTables?: TableName[]; addedTables?: TableMappingToAdd[] },
): (Mapping | TableMappingToAdd)[] {
  return [...present.filter((one) => !removedTables.some((removed) => isSameTable(removed, one))), ...addedTables]
}
