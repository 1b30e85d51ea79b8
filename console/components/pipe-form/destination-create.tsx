import { SimpleGrid, Stack, Text } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import type { FieldMapping, SourceField, TableMappingToAdd } from '../../../src/client/shapes.ts'
import { destinationFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { UseFields } from '../source-check/use-fields.tsx'
import { ColumnsEditor } from './columns-editor.tsx'
import type { DestinationDraft } from './create-draft.ts'
import { FieldMappingsEditor } from './field-mappings-editor.tsx'
import { type PartProps, SwitchField, TextField } from './fields.tsx'
import { errorOf, type FormError } from './form-error.ts'
import { TableDefinitionCreate } from './table-definition-create.tsx'
import { TableMappingsEditor } from './table-mappings-editor.tsx'

const path = ['destination']

/** The one table of a pipe from Kafka, Kinesis or object storage. */
export function DestinationCreate({
  value,
  onChange,
  fieldMappings,
  onFieldMappings,
  foundFields = [],
  error,
}: PartProps<DestinationDraft> & {
  fieldMappings: FieldMapping[]
  onFieldMappings: (mappings: FieldMapping[]) => void
  /** Fields found by a check of the source, to choose from. */
  foundFields?: SourceField[] | undefined
}) {
  const errorAt = (name: string) => errorOf(error, ...path, name)
  const columnNames = useMemo(
    () => [...new Set(value.columns.map(({ name }) => name))].filter((name) => name !== ''),
    [value.columns],
  )
  return (
    <>
      <Section title="Table">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <DatabaseField value={value} onChange={onChange} error={error} />
          <TextField
            field={destinationFields.table}
            value={value.table}
            onChange={(table) => onChange({ table })}
            error={errorAt('table')}
            required
            placeholder="orders"
          />
        </SimpleGrid>
        <SwitchField
          field={{
            ...destinationFields.managedTable,
            about: value.managedTable
              ? 'Penstock creates and extends the table.'
              : 'The table must be there already; Penstock only fills it.',
          }}
          value={value.managedTable}
          onChange={(managedTable) => onChange({ managedTable })}
          error={errorAt('managedTable')}
        />
      </Section>
      <Section title="Columns">
        {foundFields.length > 0 && (
          <Stack gap="xs">
            <Text size="sm">
              The check of the source has found{' '}
              {foundFields.length === 1 ? 'one field' : `${foundFields.length} fields`}.
            </Text>
            <UseFields fields={foundFields} columns={value.columns} onColumns={(columns) => onChange({ columns })} />
          </Stack>
        )}
        <ColumnsEditor value={value.columns} onChange={(columns) => onChange({ columns })} error={error} />
        <FieldMappingsEditor
          value={fieldMappings}
          onChange={onFieldMappings}
          columnNames={columnNames}
          fieldNames={foundFields.map(({ name }) => name)}
          error={error}
        />
      </Section>
      {value.managedTable && (
        <TableDefinitionCreate value={value} onChange={onChange} error={error} columnNames={columnNames} />
      )}
    </>
  )
}

/** Destination of a postgres pipe: one table of the service for each source table. */
export function PostgresDestinationCreate({
  value,
  onChange,
  tableMappings,
  onTableMappings,
  found,
  error,
}: PartProps<DestinationDraft> & {
  tableMappings: TableMappingToAdd[]
  onTableMappings: (mappings: TableMappingToAdd[]) => void
  /** Tables found by a check of the source. */
  found?: ReactNode
}) {
  return (
    <>
      <Section title="Database">
        <DatabaseField value={value} onChange={onChange} error={error} />
      </Section>
      <Section title="Tables">
        {found}
        <TableMappingsEditor value={tableMappings} onChange={onTableMappings} error={error} label="Which tables" />
      </Section>
    </>
  )
}

function DatabaseField({
  value,
  onChange,
  error,
}: {
  value: DestinationDraft
  onChange: (changed: { database: string }) => void
  error: FormError
}) {
  return (
    <TextField
      field={destinationFields.database}
      value={value.database}
      onChange={(database) => onChange({ database })}
      error={errorOf(error, ...path, 'database')}
      required
      placeholder="analytics"
    />
  )
}
