import { Text } from '@mantine/core'
import type { ReactNode } from 'react'

export interface Fact {
  label: string
  /** Explanation below the label. */
  about?: string | undefined
  value: ReactNode
}

/** Names and values side by side, or stacked on narrow screens. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(({ label, about, value }) => (
        <div key={label}>
          <dt>
            {label}
            {about && (
              <Text size="xs" c="dimmed" fw={400}>
                {about}
              </Text>
            )}
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Placeholder of a missing value. */
export function NotSet({ children = 'Not set' }: { children?: ReactNode }) {
  return (
    <Text c="dimmed" size="sm" component="span">
      {children}
    </Text>
  )
}
