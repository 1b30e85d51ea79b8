import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'

/** Whoever leaves with changes that are not saved is asked first. */
export function LeavingQuestion({ isAsked }: { isAsked: () => boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isAsked,
    enableBeforeUnload: isAsked,
    withResolver: true,
  })
  return (
    <Modal opened={status === 'blocked'} onClose={() => reset?.()} title="Leave without saving?" centered>
      <Stack>
        <Text size="sm">What you changed here has not been saved, and is lost when you leave.</Text>
        <Group gap="sm">
          <Button color="red" onClick={() => proceed?.()}>
            Leave without saving
          </Button>
          <Button variant="default" onClick={() => reset?.()} data-autofocus>
            Stay here
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
