import { Badge, Text } from '@mantine/core'
import type { IpAccess, Key } from '../../src/client/shapes.ts'
import { Time } from './time.tsx'

export type KeyStanding = 'enabled' | 'disabled' | 'expired'

const colors: Record<KeyStanding, string> = { enabled: 'green', disabled: 'gray', expired: 'red' }

/** Whether the key is let in now: one that is enabled may have expired. */
export function standingOf({ state, expireAt }: Pick<Key, 'state' | 'expireAt'>, now = Date.now()): KeyStanding {
  if (state === 'disabled') return 'disabled'
  return expireAt !== null && Date.parse(expireAt) <= now ? 'expired' : 'enabled'
}

export function KeyStateBadge({ apiKey }: { apiKey: Key }) {
  const standing = standingOf(apiKey)
  return (
    <Badge color={colors[standing]} variant="light" size="sm" className={`state-badge state-${colors[standing]}`}>
      {standing}
    </Badge>
  )
}

/** A moment that may not be there. */
export function MomentOrNever({ at }: { at: string | null }) {
  return at === null ? (
    <Text span size="sm" c="dimmed">
      never
    </Text>
  ) : (
    <Text span size="sm">
      <Time at={at} />
    </Text>
  )
}

export function usableFrom(list: Pick<IpAccess, 'source'>[]): string {
  if (list.length === 0) return 'everywhere'
  if (list.length === 1) return list[0]!.source
  return `${list[0]!.source} and ${list.length - 1} more`
}
