import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'

/** Asks before what was entered is lost. */
export function LeaveQuestion({ isAsked }: { isAsked: () => boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isAsked,
    enableBeforeUnload: isAsked,
    withResolver: true,
  })
  return (
    <Modal opened={status === 'blocked'} onClose={() => reset?.()} title="Leave without creating the pipe?">
      <Stack>
        <Text size="sm">What you entered here, with its secrets, is kept nowhere else and will be lost.</Text>
        <Group gap="sm">
          <Button color="red" onClick={() => proceed?.()}>
            Leave
          </Button>
          <Button variant="default" onClick={() => reset?.()} data-autofocus>
            Stay here
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
