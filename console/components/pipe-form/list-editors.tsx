// Editors of the lists of a pipe: columns, field mappings and tables.
import { useMemo } from 'react'
import type { FieldMapping } from '../../../src/client/shapes.ts'
import { columnFields, destinationFields, fieldMappingFields, rulesOf, tableMappingFields } from '../pipe-fields.ts'
import type { FormProps } from './field-input.tsx'
import { addedTables, addedTablesPointer, columnsOf, listOf } from './pipe-draft.ts'
import { type RowColumn, RowsEditor } from './rows-editor.tsx'
import { tableTitle } from './table-mapping.ts'

const columnColumns: RowColumn[] = [
  { name: 'name', label: columnFields.name.label, placeholder: 'id' },
  { name: 'type', label: columnFields.type.label, placeholder: 'UInt64' },
]

export function ColumnsEditor({ draft, edit, error }: FormProps) {
  return (
    <RowsEditor
      label={destinationFields.columns.label}
      about={`${destinationFields.columns.about} A type is one of the engine, such as UInt64 or Nullable(String).`}
      whenEmpty="No column yet. The table needs at least one."
      columns={columnColumns}
      value={columnsOf(draft)}
      onChange={(columns) => edit({ 'destination/columns': columns })}
      newRow={{ name: '', type: '' }}
      rowName="column"
      error={error}
      path="destination/columns"
    />
  )
}

/** Which source field fills which column. Columns and found fields are suggested. */
export function FieldMappingsEditor({ draft, edit, error, found }: FormProps) {
  const namesOf = (items: { name: string }[]): string => items.map(({ name }) => name).join('\n')
  const columnNames = namesOf(columnsOf(draft))
  const fieldNames = namesOf(found?.fields ?? [])
  const columns = useMemo((): RowColumn[] => {
    const choicesOf = (names: string) => [...new Set(names.split('\n'))].filter((name) => name !== '')
    const { sourceField, destinationField } = fieldMappingFields
    const found = choicesOf(fieldNames)
    return [
      {
        name: 'sourceField',
        label: sourceField.label,
        placeholder: 'customerId',
        ...(found.length > 0 ? { choices: found } : {}),
      },
      {
        name: 'destinationField',
        label: destinationField.label,
        placeholder: 'customer_id',
        choices: choicesOf(columnNames),
      },
    ]
  }, [columnNames, fieldNames])
  return (
    <RowsEditor
      label="Field mappings"
      about="Which field of the source fills which column. Columns that are not listed are filled by name."
      whenEmpty="No mapping: every column is filled by the field of the same name."
      columns={columns}
      value={listOf<FieldMapping>(draft, 'fieldMappings')}
      onChange={(fieldMappings) => edit({ fieldMappings })}
      newRow={{ sourceField: '', destinationField: '' }}
      rowName="field mapping"
      error={error}
      path="fieldMappings"
    />
  )
}

const { enum: engines, default: defaultEngine } = rulesOf('source/postgres/tableMappings/*/tableEngine')
const nameColumn = (name: 'sourceSchemaName' | 'sourceTable' | 'targetTable', placeholder: string): RowColumn => ({
  name,
  label: tableMappingFields[name].label,
  placeholder,
  isRequired: true,
})

const tableColumns: RowColumn[] = [
  nameColumn('sourceSchemaName', 'public'),
  nameColumn('sourceTable', 'orders'),
  nameColumn('targetTable', 'orders'),
  {
    name: 'tableEngine',
    ...tableMappingFields.tableEngine,
    input: 'select',
    choices: [...new Set([String(defaultEngine), ...(engines ?? [])])],
  },
  { name: 'excludedColumns', ...tableMappingFields.excludedColumns, input: 'texts' },
  { name: 'useCustomSortingKey', ...tableMappingFields.useCustomSortingKey, input: 'switch' },
  {
    name: 'sortingKeys',
    ...tableMappingFields.sortingKeys,
    input: 'texts',
    isShown: ({ useCustomSortingKey, sortingKeys }) =>
      useCustomSortingKey === true || (Array.isArray(sortingKeys) && sortingKeys.length > 0),
  },
]

/** The tables of a new pipe, or those to add to an existing one. */
export function TableMappingsEditor({ draft, edit, error }: FormProps) {
  const texts = draft.pipe
    ? { label: 'Tables to add', about: 'Added after the removals.', whenEmpty: 'None.' }
    : {
        label: 'Which tables',
        about: 'Each table of PostgreSQL that is replicated, and the table of the service that it goes to.',
        whenEmpty: 'No table yet. The pipe needs at least one.',
      }
  const pointer = addedTablesPointer(draft)
  return (
    <RowsEditor
      {...texts}
      columns={tableColumns}
      value={addedTables(draft)}
      onChange={(tables) => edit({ [pointer]: tables })}
      newRow={{ sourceSchemaName: 'public', sourceTable: '', targetTable: '' }}
      rowName="table"
      error={error}
      path={pointer}
      titleOf={(table, index) => (table.sourceTable ? tableTitle(table) : `Table ${index + 1}`)}
    />
  )
}
