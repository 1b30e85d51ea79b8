// Shared parts of list editors: label, add and remove buttons, and focus handling.
import { ActionIcon, Button, Input } from '@mantine/core'
import { type ReactNode, type Ref, type RefObject, useEffect, useRef } from 'react'
import { PlusIcon, TrashIcon } from '../icons.tsx'

/** Moves the focus to the first input of an added row. */
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
