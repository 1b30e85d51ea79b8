// Editor of table mappings, for new postgres pipes and for added tables.
import { Group, Input, Paper, Select, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useId, useRef } from 'react'
import type { TableMappingToAdd } from '../../../src/client/shapes.ts'
import { tableMappingFields as fields } from '../pipe-fields.ts'
import { errorOf, type FormError, otherErrors } from './form-error.ts'
import { AddButton, ListLabel, RemoveButton, useRowFocus } from './list-parts.tsx'
import { TextListInput } from './text-list-input.tsx'

const newTableMapping: TableMappingToAdd = { sourceSchemaName: 'public', sourceTable: '', targetTable: '' }

const tableEngines = ['ReplacingMergeTree', 'MergeTree', 'Null'] as const
const cellNames = ['sourceSchemaName', 'sourceTable', 'targetTable', 'tableEngine', 'useCustomSortingKey']
const listNames = ['sortingKeys', 'excludedColumns']

export function TableMappingsEditor({
  value,
  onChange,
  error,
  path = ['source', 'postgres', 'tableMappings'],
  label = 'Tables',
  about = 'Each table of PostgreSQL that is replicated, and the table of the service that it goes to.',
  whenEmpty = 'No table yet. The pipe needs at least one.',
  addLabel = 'Add a table',
  disabled = false,
}: {
  value: TableMappingToAdd[]
  onChange: (mappings: TableMappingToAdd[]) => void
  error?: FormError
  /** Path of the list in the body. */
  path?: (string | number)[]
  label?: string
  about?: string
  whenEmpty?: string
  addLabel?: string
  disabled?: boolean
}) {
  const labelId = useId()
  const list = useRef<HTMLDivElement>(null)
  const { addButton, expectRow } = useRowFocus(list, value.length)
  const rowError = (index: number) => errorOf(error, ...path, index)
  const listError = otherErrors(
    error,
    path,
    value.flatMap((mapping, index) => [
      [index],
      ...cellNames.map((name) => [index, name]),
      ...listNames.flatMap((name) => {
        const texts = mapping[name as 'sortingKeys' | 'excludedColumns'] ?? []
        return [[index, name], ...texts.map((_, at) => [index, name, at])]
      }),
    ]),
  )
  return (
    <Stack gap="sm" role="group" aria-labelledby={labelId} ref={list}>
      <ListLabel id={labelId} label={label}>
        {value.length === 0 ? whenEmpty : about}
      </ListLabel>
      {value.map((mapping, index) => (
        <TableMappingInputs
          // biome-ignore lint/suspicious/noArrayIndexKey: a mapping has no other name while it is edited.
          key={index}
          mapping={mapping}
          index={index}
          onChange={(changed) => onChange(value.map((one, at) => (at === index ? changed : one)))}
          onRemove={() => {
            onChange(value.filter((_, at) => at !== index))
            addButton.current?.focus()
          }}
          error={error}
          rowError={rowError(index)}
          path={[...path, index]}
          disabled={disabled}
        />
      ))}
      {listError && <Input.Error role="alert">{listError}</Input.Error>}
      <Group>
        <AddButton
          ref={addButton}
          label={addLabel}
          disabled={disabled}
          onClick={() => {
            expectRow()
            onChange([...value, newTableMapping])
          }}
        />
      </Group>
    </Stack>
  )
}

function TableMappingInputs({
  mapping,
  index,
  onChange,
  onRemove,
  error,
  rowError,
  path,
  disabled,
}: {
  mapping: TableMappingToAdd
  index: number
  onChange: (mapping: TableMappingToAdd) => void
  onRemove: () => void
  error: FormError
  rowError: string | undefined
  path: (string | number)[]
  disabled: boolean
}) {
  const titleId = useId()
  const number = index + 1
  const { useCustomSortingKey = false, sortingKeys = [], excludedColumns = [] } = mapping
  const text = (name: 'sourceSchemaName' | 'sourceTable' | 'targetTable', placeholder: string) => (
    <TextInput
      label={fields[name].label}
      aria-label={`${fields[name].label} ${number}`}
      placeholder={placeholder}
      required
      value={mapping[name]}
      onChange={({ currentTarget: { value } }) => onChange({ ...mapping, [name]: value })}
      error={errorOf(error, ...path, name)}
      disabled={disabled}
      autoComplete="off"
      spellCheck={false}
    />
  )
  return (
    <Paper withBorder p="sm" role="group" aria-labelledby={titleId} data-row>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap">
          <Text size="sm" fw={600} id={titleId} style={{ overflowWrap: 'anywhere' }}>
            {mapping.sourceTable ? `${mapping.sourceSchemaName}.${mapping.sourceTable}` : `Table ${number}`}
          </Text>
          <RemoveButton label={`Remove table ${number}`} disabled={disabled} onClick={onRemove} />
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          {text('sourceSchemaName', 'public')}
          {text('sourceTable', 'orders')}
          {text('targetTable', 'orders')}
          <Select
            label={fields.tableEngine.label}
            aria-label={`${fields.tableEngine.label} ${number}`}
            data={[...tableEngines]}
            value={mapping.tableEngine ?? 'ReplacingMergeTree'}
            allowDeselect={false}
            onChange={(engine) => onChange({ ...mapping, tableEngine: engine as (typeof tableEngines)[number] })}
            error={errorOf(error, ...path, 'tableEngine')}
            disabled={disabled}
          />
        </SimpleGrid>
        <TextListInput
          label={fields.excludedColumns.label}
          aria-label={`${fields.excludedColumns.label} ${number}`}
          about={fields.excludedColumns.about}
          value={excludedColumns}
          onChange={(excluded) => onChange({ ...mapping, excludedColumns: excluded })}
          error={error}
          path={[...path, 'excludedColumns']}
          disabled={disabled}
        />
        <Switch
          label={fields.useCustomSortingKey.label}
          aria-label={`${fields.useCustomSortingKey.label} ${number}`}
          description={fields.useCustomSortingKey.about}
          checked={useCustomSortingKey}
          onChange={({ currentTarget: { checked } }) => onChange({ ...mapping, useCustomSortingKey: checked })}
          error={errorOf(error, ...path, 'useCustomSortingKey')}
          disabled={disabled}
        />
        {(useCustomSortingKey || sortingKeys.length > 0) && (
          <TextListInput
            label={fields.sortingKeys.label}
            aria-label={`${fields.sortingKeys.label} ${number}`}
            about={fields.sortingKeys.about}
            value={sortingKeys}
            onChange={(keys) => onChange({ ...mapping, sortingKeys: keys })}
            error={error}
            path={[...path, 'sortingKeys']}
            disabled={disabled}
          />
        )}
        {rowError && <Input.Error role="alert">{rowError}</Input.Error>}
      </Stack>
    </Paper>
  )
}
