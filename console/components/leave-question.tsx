import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/**
 * Asks before something is lost, whichever way the person leaves: by a link, another tab of the page, the browser's buttons.
 * What goes on by itself after it was saved or deleted navigates with `ignoreBlocker`.
 */
export function LeaveQuestion({
  isAsked,
  title = 'Leave without saving?',
  label = 'Leave without saving',
  children = 'What you entered here has not been saved, and is lost when you leave.',
}: {
  isAsked: () => boolean
  title?: string
  /** What the button says that leaves. */
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
