// Whether a key and its previous secret are valid now.
import type { Key } from '../../src/client/shapes.ts'
import { exactTime } from './exact-time.ts'

export type KeyStatus = 'enabled' | 'disabled' | 'expired'

/** An enabled key may have expired. */
export function keyStatusOf({ state, expireAt }: Pick<Key, 'state' | 'expireAt'>, now = Date.now()): KeyStatus {
  if (state === 'disabled') return 'disabled'
  return expireAt !== null && Date.parse(expireAt) <= now ? 'expired' : 'enabled'
}

/** Continues the sentence "The previous secret …". */
export function previousSecretText(
  key: Pick<Key, 'state' | 'expireAt' | 'previousSecretValidUntil'>,
  now = Date.now(),
): string {
  const { state, expireAt, previousSecretValidUntil: until } = key
  if (until === null) return 'no longer works'
  if (keyStatusOf({ state: 'enabled', expireAt }, now) === 'expired') return 'does not work: the key has expired'
  if (Date.parse(until) <= now) return `no longer works since ${exactTime(until)}`
  const expiresFirst = expireAt !== null && Date.parse(expireAt) < Date.parse(until)
  const end = expiresFirst ? `${exactTime(expireAt)}, when the key expires` : exactTime(until)
  return state === 'disabled'
    ? `does not work while the key is disabled; if it is enabled again, it works until ${end}`
    : `works until ${end}`
}
