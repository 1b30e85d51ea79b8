// Inputs that forms of pipes have in common: lists of rows, lists of texts, and secrets. Errors of the API stand where its
// pointers lead.
import {
  ActionIcon,
  Autocomplete,
  Button,
  Group,
  Input,
  PasswordInput,
  Select,
  Space,
  Stack,
  Switch,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { memo, type ReactNode, type Ref, type RefObject, useEffect, useId, useRef, useState } from 'react'
import type { PenstockError } from '../../../src/client/error.ts'
import { fieldError } from '../../api/change.ts'
import { PlusIcon, TrashIcon } from '../icons.tsx'

export type FormError = PenstockError | null | undefined
type Path = (string | number)[]

const pointerOf = (path: Path): string => path.join('/')

/** What the API says about one field: `errorOf(error, 'source', 'kafka', 'credentials', 'password')`. */
export function errorOf(error: FormError, ...path: Path): string | undefined {
  return fieldError(error, pointerOf(path))
}

/** What the API says about a field and everything in it; for `shownFields` of `ProblemNotice`. */
export function pointersBelow(error: FormError, ...path: Path): string[] {
  const field = pointerOf(path)
  return (error?.errors ?? [])
    .map(({ pointer }) => pointer.replace(/^#\//, ''))
    .filter((pointer) => pointer === field || pointer.startsWith(`${field}/`))
}

/** All that the API says about a field and what is in it, except about those parts that say it themselves. */
export function otherErrors(error: FormError, path: Path, shownParts: Path[]): string | undefined {
  const shown = new Set(shownParts.map((part) => pointerOf([...path, ...part])))
  const details = pointersBelow(error, ...path)
    .filter((pointer) => !shown.has(pointer))
    .map((pointer) => fieldError(error, pointer))
  return details.length > 0 ? [...new Set(details)].join('. ') : undefined
}

export type Cell = string | boolean

export interface RowColumn {
  name: string
  label: string
  kind: 'text' | 'select' | 'switch'
  placeholder?: string
  /** Of a select: all of them. Of a text: what is suggested. */
  choices?: { value: string; label: string }[]
}

interface RowsEditorProps<Row> {
  label: string
  about?: ReactNode
  /** What it means that there is no row. */
  whenEmpty?: string
  columns: RowColumn[]
  value: Row[]
  onChange: (rows: Row[]) => void
  newRow: Row
  /** What the button that adds a row says. */
  addLabel: string
  /** What one row is called: "column", for "Remove column 2". */
  rowName: string
  error?: FormError
  /** Where the list is in the body: `['destination', 'columns']`. */
  path: Path
  disabled?: boolean
}

/** A list of rows, edited cell by cell. Columns stand side by side where there is room. */
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
  // The rows keep their callbacks, so that typing into one of a thousand does not draw all of them.
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

/** For the eyes: every input has a label of its own for screen readers. */
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
  /** One line for each column. */
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

/** After a row was added, its first input is where the person goes on. */
export function useRowFocus(list: RefObject<HTMLElement | null>, rowCount: number) {
  const addButton = useRef<HTMLButtonElement>(null)
  const isRowExpected = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the number of rows changes.
  useEffect(() => {
    if (isRowExpected.current) {
      const rows = list.current?.querySelectorAll('[data-row]')
      rows?.[rows.length - 1]?.querySelector<HTMLElement>('input, textarea')?.focus()
    }
    isRowExpected.current = false
  }, [rowCount])
  const expectRow = (): void => {
    isRowExpected.current = true
  }
  return { addButton, expectRow }
}

export function ListLabel({ id, label, children }: { id: string; label: string; children?: ReactNode }) {
  return (
    <div>
      <Input.Label labelElement="div" id={id}>
        {label}
      </Input.Label>
      {children && <Input.Description component="div">{children}</Input.Description>}
    </div>
  )
}

export function AddButton({
  ref,
  label,
  disabled,
  onClick,
}: {
  ref: Ref<HTMLButtonElement>
  label: string
  disabled: boolean
  onClick: () => void
}) {
  return (
    <Button
      ref={ref}
      variant="default"
      size="xs"
      leftSection={<PlusIcon size={14} />}
      disabled={disabled}
      onClick={onClick}
    >
      {label}
    </Button>
  )
}

export function RemoveButton({ label, disabled, onClick }: { label: string; disabled: boolean; onClick: () => void }) {
  return (
    <ActionIcon variant="subtle" color="gray" size={36} aria-label={label} disabled={disabled} onClick={onClick}>
      <TrashIcon size={16} />
    </ActionIcon>
  )
}

/** A list of texts: each is ended with Enter or a comma, and can be removed again. */
export function TextListInput({
  label,
  'aria-label': ariaLabel,
  about,
  value,
  onChange,
  error,
  path,
  placeholder,
  disabled = false,
}: {
  label: string
  'aria-label'?: string
  about?: ReactNode
  value: string[]
  onChange: (texts: string[]) => void
  error?: FormError
  /** Where the list is in the body. */
  path: Path
  placeholder?: string
  disabled?: boolean
}) {
  return (
    <TagsInput
      label={label}
      aria-label={ariaLabel}
      description={about}
      value={value}
      onChange={onChange}
      error={otherErrors(error, path, [])}
      placeholder={value.length === 0 ? (placeholder ?? 'Type, then press Enter') : undefined}
      disabled={disabled}
      autoComplete="off"
      spellCheck={false}
    />
  )
}

/** A secret: hidden unless the person asks to see it, and not kept by the browser. */
export function SecretInput({
  label,
  about,
  value,
  onChange,
  error,
  placeholder,
  required,
  disabled = false,
  isMultiline = false,
}: {
  label: string
  about?: ReactNode
  value: string
  onChange: (secret: string) => void
  error?: string | undefined
  placeholder?: string
  required?: boolean
  disabled?: boolean
  /** Such as a private key, whose line breaks matter. */
  isMultiline?: boolean
}) {
  const [isVisible, setVisible] = useState(false)
  const showLabel = `${isVisible ? 'Hide' : 'Show'} ${label.toLowerCase()}`
  const common = { label, description: about, value, error, placeholder, required, disabled, spellCheck: false }
  if (isMultiline) {
    return (
      <Stack gap={4} align="stretch">
        <Textarea
          {...common}
          autosize
          minRows={3}
          maxRows={12}
          autoComplete="off"
          onChange={({ currentTarget: { value } }) => onChange(value)}
          classNames={{ input: isVisible || value === '' ? 'pem-input' : 'pem-input hidden-text' }}
        />
        {value !== '' && (
          <Group>
            <Button
              variant="subtle"
              size="compact-xs"
              onClick={() => setVisible(!isVisible)}
              disabled={disabled}
              aria-pressed={isVisible}
            >
              {showLabel}
            </Button>
          </Group>
        )}
      </Stack>
    )
  }
  return (
    <PasswordInput
      {...common}
      // It is a password of another system: nothing that keeps passwords should offer or take one here.
      autoComplete="off"
      data-1p-ignore
      data-lpignore="true"
      onChange={({ currentTarget: { value } }) => onChange(value)}
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': showLabel, 'aria-hidden': false }}
    />
  )
}

/** Text in several lines that is not secret, such as a certificate. */
export function PemInput({
  label,
  about,
  value,
  onChange,
  error,
  required,
  disabled = false,
}: {
  label: string
  about?: ReactNode
  value: string
  onChange: (text: string) => void
  error?: string | undefined
  required?: boolean
  disabled?: boolean
}) {
  return (
    <Textarea
      label={label}
      description={about}
      value={value}
      onChange={({ currentTarget: { value } }) => onChange(value)}
      error={error}
      required={required}
      disabled={disabled}
      placeholder="-----BEGIN CERTIFICATE-----"
      autosize
      minRows={3}
      maxRows={12}
      autoComplete="off"
      spellCheck={false}
      classNames={{ input: 'pem-input' }}
    />
  )
}
