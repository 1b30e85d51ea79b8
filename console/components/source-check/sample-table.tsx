// Sample of a source check: fields with types, and the first records.
import { Code, Stack, Text, Title } from '@mantine/core'
import type { SourceField } from '../../../src/client/shapes.ts'
import { ScrollTable } from '../scroll-table.tsx'
import { cutText, namesInSample, sampleCell } from './found-fields.ts'

/** More columns are slow to render. */
const mostColumns = 100

export function FieldsAndSample({
  of,
  fieldsTitle,
  fields,
  rows,
  rowName,
}: {
  /** Distinguishes tables for screen readers: "public.orders". */
  of?: string
  fieldsTitle: string
  fields: SourceField[]
  rows: Record<string, unknown>[]
  /** "record" */
  rowName: string
}) {
  const suffix = of === undefined ? '' : ` of ${of}`
  return (
    <Stack gap="md">
      <Stack gap="xs">
        <Title order={3}>{fieldsTitle}</Title>
        <ScrollTable
          caption={`${fieldsTitle}${suffix}`}
          items={fields}
          keyOf={({ name }) => name}
          minWidth={400}
          columns={[
            { label: 'Name', cell: ({ name }) => <Text size="sm">{name}</Text> },
            { label: 'Type', cell: ({ type }) => <Code>{type}</Code> },
            {
              label: 'Optional',
              cell: ({ isOptional }) => (
                <Text size="sm" c={isOptional ? undefined : 'dimmed'}>
                  {isOptional ? 'yes' : 'no'}
                </Text>
              ),
            },
          ]}
        />
      </Stack>
      <Sample caption={`Sample${suffix}`} fields={fields} rows={rows} rowName={rowName} />
    </Stack>
  )
}

interface IndexedRow {
  row: Record<string, unknown>
  index: number
}

function Sample({
  caption,
  fields,
  rows,
  rowName,
}: {
  caption: string
  fields: SourceField[]
  rows: Record<string, unknown>[]
  rowName: string
}) {
  const names = namesInSample(fields, rows)
  const shown = names.slice(0, mostColumns)
  if (rows.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        There is no {rowName} to show.
      </Text>
    )
  }
  return (
    <Stack gap="xs">
      <Title order={3}>Sample</Title>
      <Text size="xs" c="dimmed">
        {rows.length === 1 ? `One ${rowName}` : `The first ${rows.length} ${rowName}s`}
        {shown.length < names.length && `, and ${shown.length} of ${names.length} fields`}. Long values are cut. Nothing
        of this is stored.
      </Text>
      <ScrollTable
        caption={caption}
        isCompact
        items={rows.map((row, index): IndexedRow => ({ row, index }))}
        keyOf={({ index }) => String(index)}
        columns={shown.map((name) => ({ label: name, cell: ({ row }: IndexedRow) => <Cell row={row} name={name} /> }))}
      />
    </Stack>
  )
}

function Cell({ row, name }: { row: Record<string, unknown>; name: string }) {
  const { text, isRemark } = sampleCell(row, name)
  return (
    <Text
      size="sm"
      className="sample-cell"
      {...(isRemark ? { c: 'dimmed', fs: 'italic' } : { ff: 'monospace', title: text })}
    >
      {isRemark ? text : cutText(text)}
    </Text>
  )
}
