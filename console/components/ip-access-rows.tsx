// Editor of an IP access list, which is sent as a whole.
import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type { PenstockError } from '../../src/client/error.ts'
import type { IpAccess } from '../../src/client/shapes.ts'
import { fieldError } from '../api/change.ts'
import { PlusIcon, TrashIcon } from './icons.tsx'

export interface IpAccessRow extends IpAccess {
  /** Identifies a row while it is edited. */
  row: number
}

let lastRow = 0

export function rowsOf(list: IpAccess[]): IpAccessRow[] {
  return list.map((entry) => ({ ...entry, row: ++lastRow }))
}

export function listOf(rows: IpAccessRow[]): IpAccess[] {
  return rows.map(({ source, description }) => ({ source: source.trim(), description: description.trim() }))
}

/** The fields that show their own error, for `ProblemNotice`. */
export function ipAccessFields(rows: IpAccessRow[]): string[] {
  return rows.flatMap((_, index) => [`ipAccessList/${index}/source`, `ipAccessList/${index}/description`])
}

export function IpAccessRows({
  rows,
  onChange,
  error,
  disabled = false,
  whenEmpty,
}: {
  rows: IpAccessRow[]
  onChange: (rows: IpAccessRow[]) => void
  error: PenstockError | null
  disabled?: boolean
  /** Explanation of an empty list. */
  whenEmpty: string
}) {
  const lastInput = useRef<HTMLInputElement>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  const wasAdded = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a row that was just added gets the focus.
  useEffect(() => {
    if (wasAdded.current) lastInput.current?.focus()
    wasAdded.current = false
  }, [rows.length])
  const update = (row: number, change: Partial<IpAccess>) =>
    onChange(rows.map((entry) => (entry.row === row ? { ...entry, ...change } : entry)))
  return (
    <Stack gap="xs" role="group" aria-label="IP access list">
      <div>
        <Input.Label labelElement="div">IP access list</Input.Label>
        <Input.Description>
          {rows.length === 0
            ? whenEmpty
            : 'Only requests from these addresses are let in. A source is an address or a range such as 10.0.0.0/8.'}
        </Input.Description>
      </div>
      {rows.map(({ row, source, description }, index) => (
        <Group key={row} gap="xs" align="flex-start" wrap="nowrap">
          <Group gap="xs" align="flex-start" flex={1} className="ip-access-fields">
            <TextInput
              ref={index === rows.length - 1 ? lastInput : undefined}
              aria-label={`Source ${index + 1}`}
              placeholder="203.0.113.0/24"
              value={source}
              onChange={(event) => update(row, { source: event.currentTarget.value })}
              error={fieldError(error, `ipAccessList/${index}/source`)}
              disabled={disabled}
              autoComplete="off"
              spellCheck={false}
            />
            <TextInput
              aria-label={`Description of source ${index + 1}`}
              placeholder="Build servers"
              value={description}
              onChange={(event) => update(row, { description: event.currentTarget.value })}
              error={fieldError(error, `ipAccessList/${index}/description`)}
              disabled={disabled}
              autoComplete="off"
            />
          </Group>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={`Remove source ${index + 1}`}
            disabled={disabled}
            onClick={() => {
              onChange(rows.filter((entry) => entry.row !== row))
              addButton.current?.focus()
            }}
          >
            <TrashIcon size={16} />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <Button
          ref={addButton}
          variant="default"
          size="xs"
          leftSection={<PlusIcon size={14} />}
          disabled={disabled}
          onClick={() => {
            wasAdded.current = true
            onChange([...rows, { row: ++lastRow, source: '', description: '' }])
          }}
        >
          Add a source
        </Button>
      </Group>
    </Stack>
  )
}
