// S13: every regular expression of the product takes linear time.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findExpressions, readSafe, spell, vulnerabilityOf } from './regular-expressions.ts'

/** Exceptions, each with the reason why its input is bounded. */
const bounded: Record<string, string> = {
  '/^\\s*--.*$/gm': 'reads the migrations of this package',
  '/\\/\\* sqlite: (.*?) \\*\\//g': 'reads the migrations of this package',
  '/\\/\\* postgres: (.*?) \\*\\//g': 'reads the migrations of this package',
  '/(?:pass|pwd|secret|token|key|sig)\\w{0,32}\\s{0,8}=/i': 'gets at most 64 characters',
  "/^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i":
    'gets at most 254 characters',
  '/^(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(?:\\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$/u':
    'gets at most 253 characters',
  ...Object.fromEntries(
    [
      '/<th[^>]*><\\/th>/g',
      '/ <a class="anchor".*?<\\/a>/g',
      '/<\\/?(?:a|code|em|strong|del)\\b[^>]*>/g',
      '/<[^>]*>/g',
      '/\\[([^\\]]*)\\]\\([^)]*\\)/g',
    ].map((spelt) => [spelt, 'reads the guides of this package']),
  ),
}

it('S13 every regular expression is safe, or its input is bounded', { timeout: 300_000 }, async () => {
  const expressions = findExpressions()
  assert.ok(expressions.length > 300, `${expressions.length} were found`)
  const spellings = new Set(expressions.map(spell))
  assert.deepEqual(
    Object.keys(bounded).filter((spelt) => !spellings.has(spelt)),
    [],
    'no longer there',
  )
  const safe = readSafe()
  assert.deepEqual(
    [...safe].filter((spelt) => !spellings.has(spelt)),
    [],
    'no longer there; run node bin/node24.js test/checks/regular-expressions.ts',
  )
  const unsafe: string[] = []
  for (const expression of expressions) {
    const spelt = spell(expression)
    if (safe.has(spelt) || spelt in bounded) continue
    const vulnerability = await vulnerabilityOf(expression)
    if (vulnerability === undefined) safe.add(spelt)
    else unsafe.push(`${expression.where}: ${spelt} is ${vulnerability}`)
  }
  assert.deepEqual(unsafe, [])
})

it('S13 an unsafe expression is found', async () => {
  for (const source of ['^([!#\\w-]+):[ \\t]*([^\\r\\n\\0]*?)[ \\t]*$', '(a+)+$', '/+$']) {
    assert.notEqual(await vulnerabilityOf({ source, flags: '', where: 'here' }), undefined, source)
  }
})
