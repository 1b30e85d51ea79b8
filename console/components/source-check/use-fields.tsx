import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Column, SourceField } from '../../../src/client/shapes.ts'
import { Dialog } from '../dialog.tsx'
import { areColumnsOf, columnsOfFields, hasEnteredColumns } from './found-fields.ts'

/** Copies the found fields to the destination columns; asks before replacing entered ones. */
export function UseFields({
  fields,
  columns,
  onColumns,
}: {
  fields: SourceField[]
  columns: Column[]
  onColumns: (columns: Column[]) => void
}) {
  const [isAsking, setAsking] = useState(false)
  if (fields.length === 0) return null
  const areUsed = areColumnsOf(fields, columns)
  const use = (): void => {
    onColumns(columnsOfFields(fields))
    setAsking(false)
  }
  return (
    <Group gap="sm">
      <Button
        variant="default"
        // Keeps the focus when there is nothing more to do.
        {...(areUsed
          ? { 'data-disabled': true, 'aria-disabled': true }
          : { onClick: hasEnteredColumns(columns) ? () => setAsking(true) : use })}
      >
        Use these fields as columns
      </Button>
      <Text size="sm" c="dimmed" role="status">
        {areUsed ? 'The columns of the destination are these fields.' : ''}
      </Text>
      <Dialog opened={isAsking} onClose={() => setAsking(false)} title="Replace the columns?" centered>
        <Stack>
          <Text size="sm">
            The {columns.length === 1 ? 'column' : `${columns.length} columns`} of the destination will be replaced by
            the {fields.length === 1 ? 'field that was' : `${fields.length} fields that were`} found. Field mappings
            stay as they are.
          </Text>
          <Group gap="sm">
            <Button onClick={use}>Replace the columns</Button>
            <Button variant="default" onClick={() => setAsking(false)} data-autofocus>
              Keep them
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </Group>
  )
}
