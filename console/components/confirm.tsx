import { Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import { useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { ChangeBar } from './change-bar.tsx'
import { Dialog, useHoldOpen } from './dialog.tsx'
import { ProblemNotice } from './problem-notice.tsx'

export interface Confirmation<Result> {
  organizationId: string
  /** Question with the name of the object: "Remove Amara Okafor?" */
  title: string
  /** Consequences of the action. */
  children: ReactNode
  /** Button label: "Remove member". */
  label: string
  call: ApiCall<Result>
  /** Success message: "Pipe orders deleted". Undefined where the page itself shows the result. */
  doneText: string | undefined
  /** The name to type when the action cannot be undone. */
  typeToConfirm?: string
  danger?: boolean
  opened: boolean
  onClose: () => void
  onDone?: (answer: Answer<Result>) => void | Promise<void>
}

export function Confirm<Result>(props: Confirmation<Result>) {
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title={props.title} size={540} centered>
      <Content {...props} />
    </Dialog>
  )
}

function Content<Result>({
  organizationId,
  children,
  label,
  call,
  doneText,
  typeToConfirm,
  danger = true,
  onClose,
  onDone,
}: Confirmation<Result>) {
  const [typed, setTyped] = useState('')
  const change = useChange<Result>({
    organizationId,
    doneText,
    onDone: async (answer) => {
      onClose()
      await onDone?.(answer)
    },
  })
  useHoldOpen(change.isSending)
  return (
    <Stack>
      <Text component="div" size="sm">
        {children}
      </Text>
      {typeToConfirm !== undefined && (
        <TextInput
          label={`Type ${typeToConfirm} to go on`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
        />
      )}
      <ProblemNotice error={change.error} />
      <ChangeBar
        call={call}
        label={label}
        isSending={change.isSending}
        onSend={() => void change.send(call)}
        onCancel={onClose}
        disabled={typeToConfirm !== undefined && typed !== typeToConfirm}
        danger={danger}
      />
    </Stack>
  )
}
