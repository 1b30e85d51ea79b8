// Table of fields with values or inputs, defaults and explanations.
import { Code, Group, NumberInput, Stack, Switch, Table, Text } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import type { NumberField, SwitchField, Unit } from './pipe-fields.ts'

export type FieldValue = number | boolean
export type Fields = Record<string, NumberField | SwitchField>

export function FieldTable({
  caption,
  fields,
  cell,
  isChanged = () => false,
}: {
  caption: string
  fields: Fields
  cell: (name: string, field: NumberField | SwitchField) => ReactNode
  isChanged?: (name: string) => boolean
}) {
  return (
    <div className="field-table-box">
      <Table verticalSpacing="sm" className="field-table">
        <Table.Caption className="visually-hidden">{caption}</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Name and meaning</Table.Th>
            <Table.Th scope="col" w={250}>
              Value
            </Table.Th>
            <Table.Th scope="col" w={170}>
              Default
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.entries(fields).map(([name, field]) => (
            <Table.Tr key={name} className={isChanged(name) ? 'changed-row' : undefined}>
              <Table.Th scope="row" fw={400}>
                <Text size="sm" fw={600}>
                  {field.label}
                </Text>
                <Text size="sm" c="dimmed">
                  {field.about}
                </Text>
                <Code fz="xs">{name}</Code>
              </Table.Th>
              <Table.Td>{cell(name, field)}</Table.Td>
              <Table.Td>
                <Text size="sm" c="dimmed">
                  <span className="field-table-label">Default: </span>
                  {textOf(field.default, field)}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

export function ShownValue({ value, field }: { value: FieldValue; field: NumberField | SwitchField }) {
  const isDefault = value === field.default
  return (
    <>
      <Text size="sm" fw={isDefault ? 400 : 600}>
        {textOf(value, field)}
      </Text>
      {!isDefault && (
        <Text size="xs" c="dimmed">
          Not the default
        </Text>
      )}
    </>
  )
}

export function EditedValue({
  name,
  field,
  value,
  error,
  onChange,
}: {
  name: string
  field: NumberField | SwitchField
  value: FieldValue | null
  error: string | undefined
  onChange: (value: FieldValue | null) => void
}) {
  const hintId = useId()
  if (!isNumberField(field)) {
    const isOn = value === null ? field.default : value === true
    return (
      <Switch
        checked={isOn}
        label={isOn ? 'On' : 'Off'}
        aria-label={field.label}
        error={error}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    )
  }
  const readable = typeof value === 'number' ? readableSize(value, field) : undefined
  return (
    <Stack gap={2}>
      <Group gap={8} wrap="nowrap" align="start">
        <NumberInput
          name={name}
          aria-label={field.label}
          aria-describedby={hintId}
          value={typeof value === 'number' ? value : ''}
          placeholder={String(field.default)}
          onChange={(typed) => onChange(typed === '' ? null : Number(typed))}
          error={error}
          allowDecimal={field.isFractional === true}
          allowNegative={false}
          step={field.isFractional ? 0.5 : 1}
          hideControls={field.unit === 'bytes'}
          // The API validates the range.
          clampBehavior="none"
          flex={1}
        />
        {field.unit && (
          <Text size="sm" c="dimmed" lh="36px" miw={52}>
            {field.unit}
          </Text>
        )}
      </Group>
      <Text size="xs" c="dimmed" id={hintId}>
        {value === null ? 'Empty: the default. ' : readable ? `${readable}. ` : ''}
        {`${grouped(field.minimum)} to ${grouped(field.maximum)}`}
      </Text>
    </Stack>
  )
}

function isNumberField(field: NumberField | SwitchField): field is NumberField {
  return typeof field.default === 'number'
}

const abbreviations: Unit[] = ['ms', 'GB']

const unitOf = (value: number, unit: Unit): string =>
  value === 1 && !abbreviations.includes(unit) ? unit.slice(0, -1) : unit

const grouped = (value: number): string => value.toLocaleString('en')

function textOf(value: FieldValue, field: NumberField | SwitchField): string {
  if (typeof value === 'boolean') return value ? 'On' : 'Off'
  if (!isNumberField(field)) return String(value)
  const text = field.unit ? `${grouped(value)} ${unitOf(value, field.unit)}` : grouped(value)
  const readable = readableSize(value, field)
  return readable ? `${text} (${readable})` : text
}

/** Large numbers in a readable unit, if exact. */
function readableSize(value: number, { unit }: NumberField): string | undefined {
  const [size, name] = unit === 'bytes' ? (value >= 2 ** 30 ? [2 ** 30, 'GiB'] : [2 ** 20, 'MiB']) : [1000, 's']
  if (unit !== 'bytes' && unit !== 'ms') return undefined
  if (value < size) return undefined
  return `${Number((value / size).toFixed(2)).toLocaleString('en')} ${name}`
}
