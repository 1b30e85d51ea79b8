import { Group, List, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Maximum number of items per kind; the last line has the number of further ones. */
export const mostShown = 5

/** One item with badge, text and details. */
export function Item({ badge, children, about }: { badge: ReactNode; children: ReactNode; about?: ReactNode }) {
  return (
    <List.Item>
      <Group gap="xs" align="flex-start" className="attention-item">
        <div className="attention-badge">{badge}</div>
        <Stack gap={2} flex={1} miw={0}>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {children}
          </Text>
          {about && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {about}
            </Text>
          )}
        </Stack>
      </Group>
    </List.Item>
  )
}

/** `1 more key`, `2 more keys`. */
export function moreOf(count: number, noun: string): string {
  return `${count.toLocaleString('en')} more ${count === 1 ? noun : `${noun}s`}`
}
