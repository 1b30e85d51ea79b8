// Before and after of a change, field by field.
import { Code, Table, Text } from '@mantine/core'
import type { FieldChange } from './field-changes.ts'

export function DiffTable({ changes }: { changes: FieldChange[] }) {
  if (changes.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No field differs.
      </Text>
    )
  }
  return (
    <Table className="diff-table" verticalSpacing="xs">
      <Table.Caption className="visually-hidden">Fields before and after the change</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col" w="26%">
            Field
          </Table.Th>
          <Table.Th scope="col">Before</Table.Th>
          <Table.Th scope="col">After</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {changes.map((change) => (
          <Table.Tr key={change.field}>
            <Table.Th scope="row">
              <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
                {change.field}
              </Text>
            </Table.Th>
            <Table.Td data-label="Before">
              <Value value={change.from} isThere={'from' in change} className="diff-before" />
            </Table.Td>
            <Table.Td data-label="After">
              <Value value={change.to} isThere={'to' in change} className="diff-after" />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Value({ value, isThere, className }: { value: unknown; isThere: boolean; className: string }) {
  if (!isThere) {
    return (
      <Text size="sm" c="dimmed">
        not set
      </Text>
    )
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    <Code block={text.includes('\n')} className={className}>
      {text === '' ? '(empty)' : text}
    </Code>
  )
}
