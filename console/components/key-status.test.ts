import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exactTime } from './exact-time.ts'
import { previousSecretText } from './key-status.ts'

const now = Date.UTC(2026, 10, 18, 12)
const inHours = (hours: number): string => new Date(now + hours * 3_600_000).toISOString()

describe('the previous secret of a key', () => {
  const enabled = { state: 'enabled', expireAt: null, previousSecretValidUntil: inHours(1) } as const
  const cases: [what: string, key: Parameters<typeof previousSecretText>[0], text: string][] = [
    ['works as long as it was given', enabled, `works until ${exactTime(inHours(1))}`],
    ['works no longer without a grace', { ...enabled, previousSecretValidUntil: null }, 'no longer works'],
    [
      'has ended',
      { ...enabled, previousSecretValidUntil: inHours(-1) },
      `no longer works since ${exactTime(inHours(-1))}`,
    ],
    [
      'ends with its key',
      { ...enabled, expireAt: inHours(0.5) },
      `works until ${exactTime(inHours(0.5))}, when the key expires`,
    ],
    ['ends before its key', { ...enabled, expireAt: inHours(2) }, `works until ${exactTime(inHours(1))}`],
    ['does not work after its key', { ...enabled, expireAt: inHours(-1) }, 'does not work: the key has expired'],
    [
      'does not work while its key is disabled',
      { ...enabled, state: 'disabled' },
      `does not work while the key is disabled; if it is enabled again, it works until ${exactTime(inHours(1))}`,
    ],
    [
      'has ended, and its key is disabled',
      { ...enabled, state: 'disabled', previousSecretValidUntil: inHours(-1) },
      `no longer works since ${exactTime(inHours(-1))}`,
    ],
  ]
  for (const [what, key, text] of cases) {
    it(what, () => assert.equal(previousSecretText(key, now), text))
  }

  it('of a disabled and expired key does not work', () => {
    assert.match(
      previousSecretText({ ...enabled, state: 'disabled', expireAt: inHours(-1) }, now),
      /^does not work.*expired/,
    )
  })
})
