// What is written down as safe is checked again, an eighth with every commit: all of it takes two and a half minutes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeCommitPart } from '../commit-part.ts'
import { findExpressions, readSafe, spell, vulnerabilityOf } from '../regular-expressions.ts'

it('S13 what is written down as safe is safe', { timeout: 600_000 }, async () => {
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
