import { Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { CheckIcon } from './icons.tsx'

/** Says beside a control that what it does is done. The frame is always there: only then screen readers say what comes into it. */
export function DoneText({
  isShown,
  size = 'sm',
  children,
}: {
  isShown: boolean
  size?: 'xs' | 'sm'
  children: ReactNode
}) {
  return (
    <div role="status">
      {isShown && (
        <Group gap={4} wrap="nowrap">
          <CheckIcon size={size === 'xs' ? 14 : 16} />
          <Text size={size}>{children}</Text>
        </Group>
      )}
    </div>
  )
}
