import { Autocomplete, SimpleGrid, TagsInput } from '@mantine/core'
import { destinationFields, tableDefinitionFields, tableEngineFields } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import type { DestinationDraft } from './create-draft.ts'
import { ChoiceField, More, type PartProps, TextField } from './fields.tsx'
import { errorOf, otherErrors, pointersBelow } from './form-error.ts'

const definitionPath = ['destination', 'tableDefinition']

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

/** Table definition, with which Penstock creates the table. */
export function TableDefinitionCreate({
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
            description="The column that identifies the newest row."
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

/** Ordered column names; those of the table are suggested. */
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
