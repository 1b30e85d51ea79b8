// The metrics and labels of docs/how-to/monitor-and-alert.md are those that Penstock serves.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

const root = new URL('../..', import.meta.url)
const page = readFileSync(new URL('docs/how-to/monitor-and-alert.md', root), 'utf8')
const sources = ['src/http/metrics.ts', 'src/prometheus/prometheus.ts', 'src/prometheus/get-organization-prometheus.ts']

describe('the alert rules', () => {
  const text = sources.map((file) => readFileSync(new URL(file, root), 'utf8')).join('\n')
  const served = new Set([...text.matchAll(/'((?:penstock|process)_[a-z_]+)'/g)].map(([, name]) => name))

  it('name metrics that exist', () => {
    const named = new Set([...page.matchAll(/\b(?:penstock|process)_[a-z_]*[a-z]\b/g)].map(([name]) => name))
    assert.ok(named.size > 8)
    assert.deepEqual(
      [...named].filter((name) => !served.has(name)),
      [],
    )
  })

  it('name states of pipes that exist', () => {
    const states = readFileSync(new URL('src/progress/pipe-state.ts', root), 'utf8')
    for (const [, list] of page.matchAll(/\bstate=~?"([A-Za-z|]+)"/g)) {
      for (const state of list!.split('|')) assert.ok(states.includes(`'${state}'`), state)
    }
  })
})
