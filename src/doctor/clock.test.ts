import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { firstIdAt } from '../lib/id.ts'
import { checkClock, watchClock } from './clock.ts'

const nowMs = Date.parse('2026-11-15T12:00:00.000Z')
const quiet = { aheadMs: 0, newestActivityId: undefined, setByMs: 0, nowMs }

describe('the clock', () => {
  it('is compared with that of PostgreSQL', () => {
    const cases: [number | undefined, string, RegExp][] = [
      [undefined, 'ok', /not behind anything recorded$/],
      [0, 'ok', /agrees with that of PostgreSQL$/],
      [-900, 'ok', /agrees/],
      [3_000, 'warning', /^3\.0 s behind the clock of PostgreSQL$/],
      [-3_000, 'warning', /^3\.0 s ahead of the clock of PostgreSQL$/],
      [60_000, 'problem', /^60\.0 s behind/],
    ]
    for (const [aheadMs, verdict, found] of cases) {
      const finding = checkClock({ ...quiet, aheadMs })
      assert.equal(finding.verdict, verdict, String(aheadMs))
      assert.match(finding.found, found)
      assert.equal(finding.remedy?.includes('NTP') ?? false, verdict !== 'ok')
    }
  })

  it('must not be behind recorded activities', () => {
    const newest = (ms: number) => checkClock({ ...quiet, newestActivityId: firstIdAt(nowMs + ms) })
    assert.equal(newest(-3_600_000).verdict, 'ok')
    assert.equal(newest(2_000).verdict, 'ok')
    assert.equal(newest(120_000).verdict, 'problem')
    assert.match(newest(120_000).found, /^120\.0 s behind the newest activity, .*2026-11-15T12:02:00\.000Z$/)
  })

  it('reports a clock that is set while it is watched', (test) => {
    assert.equal(checkClock({ ...quiet, setByMs: 20 }).verdict, 'ok')
    const setBy = watchClock()
    assert.ok(Math.abs(setBy()) < 100)
    test.mock.timers.enable({ apis: ['Date'], now: Date.now() - 60_000 })
    const finding = checkClock({ ...quiet, setByMs: setBy() })
    assert.equal(finding.verdict, 'warning')
    assert.match(finding.found, /^was set back by (?:59|60)\.\d s just now$/)
  })
})
