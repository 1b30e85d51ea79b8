// Editor of a list, cell by cell: rows of short cells, or cards.
import {
  ActionIcon,
  Autocomplete,
  Button,
  Group,
  Input,
  Paper,
  Select,
  SimpleGrid,
  Space,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core'
import { memo, useEffect, useId, useRef } from 'react'
import { PlusIcon, TrashIcon } from '../icons.tsx'
import { LabelledGroup } from './field-section.tsx'
import { errorOf, type FormError, otherErrors, type Path } from './form-error.ts'

type Cell = string | boolean | string[]

export interface RowColumn {
  name: string
  label: string
  about?: string | undefined
  placeholder?: string
  /** By default a text. */
  input?: 'select' | 'switch' | 'texts'
  /** All choices of a select, the first being the default; or suggestions for a text. */
  choices?: readonly string[]
  isRequired?: boolean
  isShown?: (row: Record<string, unknown>) => boolean
}

interface RowsEditorProps<Row> {
  label: string
  about: string
  /** Explanation of an empty list. */
  whenEmpty: string
  columns: RowColumn[]
  value: Row[]
  onChange: (rows: Row[]) => void
  newRow: Row
  /** Name of one row: "column", for "Add a column" and "Remove column 2". */
  rowName: string
  error: FormError
  /** Path of the list in the body. */
  path: string
  /** Makes cards with this title instead of lines. */
  titleOf?: (row: Row, index: number) => string
}

export function RowsEditor<Row extends object>(props: RowsEditorProps<Row>) {
  const { label, about, whenEmpty, columns, value, onChange, newRow, rowName, error, path, titleOf } = props
  const list = useRef<HTMLDivElement>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  const isRowExpected = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: moves the focus to the first input of an added row.
  useEffect(() => {
    if (isRowExpected.current) {
      const rows = list.current?.querySelectorAll('[data-row]')
      rows?.[rows.length - 1]?.querySelector<HTMLElement>('input, textarea')?.focus()
    }
    isRowExpected.current = false
  }, [value.length])
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
  const errorAt = (index: number, { name, input }: RowColumn): string =>
    (input === 'texts' ? otherErrors(error, [path, index, name], []) : errorOf(error, path, index, name)) ?? ''
  return (
    <LabelledGroup label={label} about={value.length === 0 ? whenEmpty : about}>
      <Stack gap={titleOf ? 'sm' : 'xs'} ref={list}>
        {value.length > 0 && !titleOf && <ColumnLabels columns={columns} />}
        {value.map((row, index) => (
          <RowCells
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name while it is edited.
            key={index}
            row={row as Record<string, unknown>}
            index={index}
            columns={columns}
            rowName={rowName}
            title={titleOf?.(row, index)}
            errors={columns.map((column) => errorAt(index, column)).join('\n')}
            rowError={titleOf && errorOf(error, path, index)}
            onChange={callbacks.current.change}
            onRemove={callbacks.current.remove}
          />
        ))}
      </Stack>
      <ListError {...props} />
      <Group>
        <Button
          ref={addButton}
          variant="default"
          size="xs"
          leftSection={<PlusIcon size={14} />}
          onClick={() => {
            isRowExpected.current = true
            onChange([...value, newRow])
          }}
        >
          Add a {rowName}
        </Button>
      </Group>
    </LabelledGroup>
  )
}

/** Errors of the list that no row shows. */
function ListError<Row>({ columns, value, error, path, titleOf }: RowsEditorProps<Row>) {
  const shown = value.flatMap((row, index): Path[] => [
    ...(titleOf ? [[index]] : []),
    ...columns.flatMap(({ name, input }): Path[] => {
      const items = input === 'texts' ? ((row as Record<string, string[] | undefined>)[name] ?? []) : []
      return [[index, name], ...items.map((_, at) => [index, name, at])]
    }),
  ])
  const text = otherErrors(error, [path], shown)
  return text && <Input.Error role="alert">{text}</Input.Error>
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
  title,
  errors,
  rowError,
  onChange,
  onRemove,
}: {
  row: Record<string, unknown>
  index: number
  columns: RowColumn[]
  rowName: string
  title: string | undefined
  /** One line per column. */
  errors: string
  rowError: string | undefined
  onChange: (index: number, name: string, cell: Cell) => void
  onRemove: (index: number) => void
}) {
  const titleId = useId()
  const errorLines = errors.split('\n')
  const cells = (isHere: (column: RowColumn) => boolean) =>
    columns.map((column, at) =>
      isHere(column) && (column.isShown?.(row) ?? true) ? (
        <CellInput
          key={column.name}
          column={column}
          number={index + 1}
          isLabelled={title !== undefined}
          value={row[column.name]}
          error={errorLines[at] || undefined}
          onChange={(cell) => onChange(index, column.name, cell)}
        />
      ) : null,
    )
  const removeLabel = `Remove ${rowName} ${index + 1}`
  const removeButton = (
    <ActionIcon variant="subtle" color="gray" size={36} aria-label={removeLabel} onClick={() => onRemove(index)}>
      <TrashIcon size={16} />
    </ActionIcon>
  )
  if (title === undefined) {
    return (
      <Group gap="xs" align="flex-start" wrap="nowrap" data-row>
        <Group gap="xs" align="flex-start" flex={1} className="row-cells">
          {cells(() => true)}
        </Group>
        {removeButton}
      </Group>
    )
  }
  const isNarrow = ({ input }: RowColumn): boolean => input === undefined || input === 'select'
  return (
    <Paper withBorder p="sm" role="group" aria-labelledby={titleId} data-row>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap">
          <Text size="sm" fw={600} id={titleId} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Text>
          {removeButton}
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          {cells(isNarrow)}
        </SimpleGrid>
        {cells((column) => !isNarrow(column))}
        {rowError && <Input.Error role="alert">{rowError}</Input.Error>}
      </Stack>
    </Paper>
  )
})

function CellInput({
  column: { label, about, placeholder, input, choices, isRequired = false },
  number,
  isLabelled,
  value,
  error,
  onChange,
}: {
  column: RowColumn
  number: number
  isLabelled: boolean
  value: unknown
  error: string | undefined
  onChange: (cell: Cell) => void
}) {
  const common = {
    ...(isLabelled ? { label, description: about } : {}),
    'aria-label': `${label} ${number}`,
    placeholder,
    error,
    required: isRequired,
  }
  const unhelped = { autoComplete: 'off', spellCheck: false } as const
  const text = typeof value === 'string' ? value : ''
  if (input === 'switch') {
    return (
      <Switch {...common} checked={value === true} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
    )
  }
  if (input === 'texts') {
    const texts = Array.isArray(value) ? (value as string[]) : []
    const hint = texts.length === 0 ? 'Type, then press Enter' : undefined
    return <TagsInput {...common} {...unhelped} value={texts} onChange={onChange} placeholder={hint} />
  }
  if (input === 'select') {
    return (
      <Select
        {...common}
        data={[...choices!]}
        value={text || choices![0]!}
        allowDeselect={false}
        onChange={(chosen) => onChange(chosen ?? text)}
      />
    )
  }
  if (choices) return <Autocomplete {...common} {...unhelped} data={[...choices]} value={text} onChange={onChange} />
  return (
    <TextInput {...common} {...unhelped} value={text} onChange={({ currentTarget: { value } }) => onChange(value)} />
  )
}
