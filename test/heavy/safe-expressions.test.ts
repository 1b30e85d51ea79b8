// Checks an eighth of the expressions recorded as safe with every commit: checking all takes two and a half minutes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findExpressions, readSafe, spell, vulnerabilityOf } from '../checks/regular-expressions.ts'
import { makeCommitPart } from '../run/commit-part.ts'

it('S13 expressions recorded as safe are safe', { timeout: 600_000 }, async () => {
  const isInPart = makeCommitPart()
  const safe = readSafe()
  const found = new Map(findExpressions().map((expression) => [spell(expression), expression]))
  const unsafe: string[] = []
  let checked = 0
  for (const [spelt, expression] of found) {
    if (!safe.has(spelt) || !isInPart(spelt)) continue
    const vulnerability = await vulnerabilityOf(expression)
    if (vulnerability !== undefined) unsafe.push(`${expression.where}: ${spelt} is ${vulnerability}`)
    checked++
  }
  assert.ok(checked > 20, `${checked} were checked`)
  assert.deepEqual(unsafe, [])
})
