import type { IpAccess, Key } from '../../src/client/shapes.ts'
import { type KeyStatus, keyStatusOf } from './key-status.ts'
import { WordBadge } from './state-badge.tsx'
import type { BadgeColor } from './state-label.ts'
import { Time } from './time.tsx'

const badges: Record<KeyStatus, { label: string; color: BadgeColor }> = {
  enabled: { label: 'Enabled', color: 'green' },
  disabled: { label: 'Disabled', color: 'gray' },
  expired: { label: 'Expired', color: 'red' },
}

export function KeyStateBadge({ apiKey }: { apiKey: Key }) {
  const { label, color } = badges[keyStatusOf(apiKey)]
  return <WordBadge color={color}>{label}</WordBadge>
}

/** An optional timestamp. */
export function TimeOrNever({ at }: { at: string | null }) {
  return at === null ? <span className="dimmed">never</span> : <Time at={at} />
}

export function usableFrom(list: Pick<IpAccess, 'source'>[]): string {
  if (list.length === 0) return 'everywhere'
  if (list.length === 1) return list[0]!.source
  return `${list[0]!.source} and ${list.length - 1} more`
}
