import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'

/** A titled part of a page. */
export function Section({
  title,
  about,
  actions,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  const titleId = useId()
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="section" aria-labelledby={titleId}>
      <Stack gap="md">
        <Stack gap={4}>
          <Group justify="space-between" gap="sm">
            <Title order={2} id={titleId}>
              {title}
            </Title>
            {actions}
          </Group>
          {about && (
            <Text size="sm" c="dimmed" maw={720} component="div">
              {about}
            </Text>
          )}
        </Stack>
        {children}
      </Stack>
    </Paper>
  )
}
