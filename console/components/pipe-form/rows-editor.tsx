import { Autocomplete, Group, Input, Select, Space, Stack, Switch, Text, TextInput } from '@mantine/core'
import { memo, type ReactNode, useId, useRef } from 'react'
import { errorOf, type FormError, otherErrors, type Path } from './form-error.ts'
import { AddButton, ListLabel, RemoveButton, useRowFocus } from './list-parts.tsx'

type Cell = string | boolean

export interface RowColumn {
  name: string
  label: string
  kind: 'text' | 'select' | 'switch'
  placeholder?: string
  /** All choices of a select, or suggestions for a text. */
  choices?: { value: string; label: string }[]
}

interface RowsEditorProps<Row> {
  label: string
  about?: ReactNode
  /** Explanation of an empty list. */
  whenEmpty?: string
  columns: RowColumn[]
  value: Row[]
  onChange: (rows: Row[]) => void
  newRow: Row
  /** Label of the add button. */
  addLabel: string
  /** Name of one row: "column", for "Remove column 2". */
  rowName: string
  error?: FormError
  /** Path of the list in the body: `['destination', 'columns']`. */
  path: Path
  disabled?: boolean
}

/** Editor of a list of rows, cell by cell. */
export function RowsEditor<Row extends object>({
  label,
  about,
  whenEmpty,
  columns,
  value,
  onChange,
  newRow,
  addLabel,
  rowName,
  error,
  path,
  disabled = false,
}: RowsEditorProps<Row>) {
  const labelId = useId()
  const list = useRef<HTMLDivElement>(null)
  const { addButton, expectRow } = useRowFocus(list, value.length)
  // Stable callbacks, so that typing into one row does not render all rows.
  const latest = useRef({ value, onChange })
  latest.current = { value, onChange }
  const callbacks = useRef({
    change: (index: number, name: string, cell: Cell) =>
      latest.current.onChange(
        latest.current.value.map((row, at) => (at === index ? { ...row, [name]: cell } : row)) as Row[],
      ),
    remove: (index: number) => {
      latest.current.onChange(latest.current.value.filter((_, at) => at !== index))
      addButton.current?.focus()
    },
  })
  const cellPaths = value.flatMap((_, index) => columns.map(({ name }) => [index, name]))
  const listError = otherErrors(error, path, cellPaths)
  return (
    <Stack gap="xs" role="group" aria-labelledby={labelId} ref={list}>
      <ListLabel id={labelId} label={label}>
        {value.length === 0 && whenEmpty ? whenEmpty : about}
      </ListLabel>
      {value.length > 0 && <ColumnLabels columns={columns} />}
      {value.map((row, index) => (
        <RowCells
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name while it is edited.
          key={index}
          row={row as Record<string, unknown>}
          index={index}
          columns={columns}
          rowName={rowName}
          errors={columns.map(({ name }) => errorOf(error, ...path, index, name) ?? '').join('\n')}
          disabled={disabled}
          onChange={callbacks.current.change}
          onRemove={callbacks.current.remove}
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
            onChange([...value, newRow])
          }}
        />
      </Group>
    </Stack>
  )
}

/** Visual labels only: every input has its own label for screen readers. */
function ColumnLabels({ columns }: { columns: RowColumn[] }) {
  return (
    <Group gap="xs" wrap="nowrap" aria-hidden="true" mb={-6}>
      <Group gap="xs" flex={1} className="row-cells">
        {columns.map(({ name, label }) => (
          <Text key={name} size="xs" c="dimmed">
            {label}
          </Text>
        ))}
      </Group>
      <Space w={36} />
    </Group>
  )
}

const RowCells = memo(function RowCells({
  row,
  index,
  columns,
  rowName,
  errors,
  disabled,
  onChange,
  onRemove,
}: {
  row: Record<string, unknown>
  index: number
  columns: RowColumn[]
  rowName: string
  /** One line per column. */
  errors: string
  disabled: boolean
  onChange: (index: number, name: string, cell: Cell) => void
  onRemove: (index: number) => void
}) {
  const errorLines = errors.split('\n')
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap" data-row>
      <Group gap="xs" align="flex-start" flex={1} className="row-cells">
        {columns.map((column, at) => (
          <CellInput
            key={column.name}
            column={column}
            label={`${column.label} ${index + 1}`}
            value={row[column.name]}
            error={errorLines[at] || undefined}
            disabled={disabled}
            onChange={(cell) => onChange(index, column.name, cell)}
          />
        ))}
      </Group>
      <RemoveButton label={`Remove ${rowName} ${index + 1}`} disabled={disabled} onClick={() => onRemove(index)} />
    </Group>
  )
})

function CellInput({
  column: { kind, placeholder, choices, label: columnLabel },
  label,
  value,
  error,
  disabled,
  onChange,
}: {
  column: RowColumn
  label: string
  value: unknown
  error: string | undefined
  disabled: boolean
  onChange: (cell: Cell) => void
}) {
  if (kind === 'switch') {
    return (
      <Switch
        label={columnLabel}
        aria-label={label}
        checked={value === true}
        onChange={({ currentTarget: { checked } }) => onChange(checked)}
        error={error}
        disabled={disabled}
        mt={8}
      />
    )
  }
  const text = typeof value === 'string' ? value : ''
  const common = { 'aria-label': label, placeholder, error, disabled }
  if (kind === 'select') {
    return (
      <Select
        {...common}
        data={choices}
        value={text}
        allowDeselect={false}
        onChange={(chosen) => onChange(chosen ?? text)}
      />
    )
  }
  if (choices) {
    return (
      <Autocomplete
        {...common}
        data={choices.map((choice) => choice.value)}
        value={text}
        onChange={onChange}
        autoComplete="off"
        spellCheck={false}
      />
    )
  }
  return (
    <TextInput
      {...common}
      value={text}
      onChange={({ currentTarget: { value } }) => onChange(value)}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
