import { Autocomplete, SimpleGrid, TagsInput } from '@mantine/core'
import { useMemo } from 'react'
import type { FieldMapping, TableMappingToAdd } from '../../../src/client/shapes.ts'
import { destinationFields, tableDefinitionFields, tableEngineFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { ColumnsEditor } from './columns-editor.tsx'
import type { DestinationDraft } from './create-draft.ts'
import { FieldMappingsEditor } from './field-mappings-editor.tsx'
import { ChoiceField, More, type PartProps, SwitchField, TextField } from './fields.tsx'
import { errorOf, type FormError, otherErrors, pointersBelow } from './inputs.tsx'
import { TableMappingsEditor } from './table-mappings-editor.tsx'

const path = ['destination']
const definitionPath = [...path, 'tableDefinition']

type EngineType = DestinationDraft['engineType']

const engineMeanings: Record<EngineType, string> = {
  MergeTree: 'Keeps every row.',
  ReplacingMergeTree: 'Keeps the newest row of each sorting key.',
  SummingMergeTree: 'Adds up the rows of each sorting key.',
  Null: 'Keeps nothing; feeds materialized views.',
}
const engineNames = Object.fromEntries(Object.keys(engineMeanings).map((name) => [name, name])) as Record<
  EngineType,
  string
>

/** The one table of a pipe from Kafka, Kinesis or object storage. */
export function DestinationCreate({
  value,
  onChange,
  fieldMappings,
  onFieldMappings,
  error,
}: PartProps<DestinationDraft> & {
  fieldMappings: FieldMapping[]
  onFieldMappings: (mappings: FieldMapping[]) => void
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
        <ColumnsEditor value={value.columns} onChange={(columns) => onChange({ columns })} error={error} />
        <FieldMappingsEditor value={fieldMappings} onChange={onFieldMappings} columnNames={columnNames} error={error} />
      </Section>
      {value.managedTable && (
        <TableDefinitionCreate value={value} onChange={onChange} error={error} columnNames={columnNames} />
      )}
    </>
  )
}

function TableDefinitionCreate({
  value,
  onChange,
  error,
  columnNames,
}: PartProps<DestinationDraft> & { columnNames: string[] }) {
  const errorAt = (...names: string[]) => errorOf(error, ...definitionPath, ...names)
  return (
    <Section title={destinationFields.tableDefinition.label} about="How Penstock creates the table.">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <ChoiceField
          field={{ ...tableEngineFields.type, about: engineMeanings[value.engineType] }}
          value={value.engineType}
          onChange={(engineType) => onChange({ engineType })}
          error={errorAt('engine', 'type') ?? errorAt('engine') ?? errorAt()}
          choices={engineNames}
        />
        {value.engineType === 'ReplacingMergeTree' && (
          <Autocomplete
            label={tableEngineFields.versionColumnId.label}
            description="The column that tells which row is the newest."
            data={columnNames}
            value={value.versionColumnId}
            onChange={(versionColumnId) => onChange({ versionColumnId })}
            error={errorAt('engine', 'versionColumnId')}
            autoComplete="off"
            spellCheck={false}
          />
        )}
      </SimpleGrid>
      {value.engineType === 'SummingMergeTree' && (
        <ColumnNamesInput
          label={tableEngineFields.columnIds.label}
          about="Left empty: all columns of numbers that are not in the sorting key."
          columnNames={columnNames}
          value={value.columnIds}
          onChange={(columnIds) => onChange({ columnIds })}
          error={otherErrors(error, [...definitionPath, 'engine', 'columnIds'], [])}
        />
      )}
      <ColumnNamesInput
        label={tableDefinitionFields.sortingKey.label}
        about={`${tableDefinitionFields.sortingKey.about} Their order matters.`}
        columnNames={columnNames}
        value={value.sortingKey}
        onChange={(sortingKey) => onChange({ sortingKey })}
        error={otherErrors(error, [...definitionPath, 'sortingKey'], [])}
      />
      <More
        label="More about the table"
        hasError={['partitionBy', 'primaryKey'].some(
          (name) => pointersBelow(error, ...definitionPath, name).length > 0,
        )}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextField
            field={tableDefinitionFields.partitionBy}
            value={value.partitionBy}
            onChange={(partitionBy) => onChange({ partitionBy })}
            error={errorAt('partitionBy')}
            placeholder="toYYYYMM(ordered_at)"
          />
          <TextField
            field={tableDefinitionFields.primaryKey}
            value={value.primaryKey}
            onChange={(primaryKey) => onChange({ primaryKey })}
            error={errorAt('primaryKey')}
            placeholder="order_id"
          />
        </SimpleGrid>
      </More>
    </Section>
  )
}

/** Names of columns, in an order; those of the table are suggested. */
function ColumnNamesInput({
  label,
  about,
  columnNames,
  value,
  onChange,
  error,
}: {
  label: string
  about: string
  columnNames: string[]
  value: string[]
  onChange: (names: string[]) => void
  error: string | undefined
}) {
  return (
    <TagsInput
      label={label}
      description={about}
      data={columnNames}
      value={value}
      onChange={onChange}
      error={error}
      placeholder={value.length === 0 ? 'Choose a column, or type its name and press Enter' : undefined}
      autoComplete="off"
      spellCheck={false}
    />
  )
}

/** A postgres pipe fills one table of the service for each table of the source. */
export function PostgresDestinationCreate({
  value,
  onChange,
  tableMappings,
  onTableMappings,
  error,
}: PartProps<DestinationDraft> & {
  tableMappings: TableMappingToAdd[]
  onTableMappings: (mappings: TableMappingToAdd[]) => void
}) {
  return (
    <>
      <Section title="Database">
        <DatabaseField value={value} onChange={onChange} error={error} />
      </Section>
      <Section title="Tables">
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
