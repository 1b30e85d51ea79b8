import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** Explains an empty list and how to fill it. */
export function EmptyState({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <Paper withBorder p="xl" className="empty-state">
      <Stack align="center" gap="sm">
        <Title order={2} ta="center">
          {title}
        </Title>
        <Text c="dimmed" ta="center" maw={520} component="div">
          {children}
        </Text>
        {action}
      </Stack>
    </Paper>
  )
}
