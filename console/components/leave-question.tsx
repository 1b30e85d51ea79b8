import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/**
 * Asks before unsaved input is lost by a link, a tab of the page or the browser's buttons. Navigation after saving or deleting
 * uses `ignoreBlocker`.
 */
export function LeaveQuestion({
  isAsked,
  title = 'Leave without saving?',
  label = 'Leave without saving',
  children = 'What you entered here has not been saved, and is lost when you leave.',
}: {
  isAsked: () => boolean
  title?: string
  /** Label of the button that leaves. */
  label?: string
  children?: ReactNode
}) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isAsked,
    enableBeforeUnload: isAsked,
    withResolver: true,
  })
  return (
    <Modal opened={status === 'blocked'} onClose={() => reset?.()} title={title} centered>
      <Stack>
        <Text size="sm">{children}</Text>
        <Group gap="sm">
          <Button color="red" onClick={() => proceed?.()}>
            {label}
          </Button>
          <Button variant="default" onClick={() => reset?.()} data-autofocus>
            Stay here
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
