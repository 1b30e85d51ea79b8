import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countOf } from '../lib/count-text.ts'
import { makeStatus, shownText, timeOf } from './status.ts'
import type { WorkerStatus } from './worker.ts'

describe('the status of a worker', () => {
  it('is reported at once when the state changes, and otherwise at most once a second', (context) => {
    let nowMs = 10_000
    context.mock.method(performance, 'now', () => nowMs)
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const reports: WorkerStatus[] = []
    const status = makeStatus((one) => reports.push(one))
    status.doing('one')
    status.doing('two')
    status.doing('three')
    assert.deepEqual(
      reports.map(({ doing }) => doing),
      ['one'],
    )
    nowMs += 1_000
    context.mock.timers.tick(1_000)
    assert.deepEqual(
      reports.map(({ doing }) => doing),
      ['one', 'three'],
    )
    status.well()
    status.lag(5)
    status.degrade('the engine is away')
    assert.deepEqual(reports.slice(2), [
      { state: 'running', doing: 'three' },
      { state: 'degraded', doing: 'three', lag: 5, reason: 'the engine is away' },
    ])
    status.well()
    assert.equal('reason' in reports.at(-1)!, false)
    status.close()
    status.doing('nothing more')
    context.mock.timers.tick(5_000)
    assert.equal(reports.length, 5)
  })

  it('has a delivery time that never goes back and is never in the future', () => {
    const reports: WorkerStatus[] = []
    const status = makeStatus((one) => reports.push(one))
    const untilMs = (at: number): number | undefined => {
      status.delivered(at)
      status.degrade(`look ${reports.length}`)
      return reports.at(-1)?.deliveredUntilMs
    }
    assert.equal(untilMs(2_000), 2_000)
    assert.equal(untilMs(1_000), 2_000)
    assert.ok(untilMs(Date.now() + 3_600_000)! <= Date.now())
  })

  it('is reported at once with another phase, which stays when the state changes', () => {
    const reports: WorkerStatus[] = []
    const status = makeStatus((one) => reports.push(one))
    status.phase('setup')
    status.phase('snapshot')
    status.phase('snapshot')
    status.degrade('the source is away')
    status.retained(4096)
    status.well()
    status.phase(undefined)
    assert.deepEqual(
      reports.map(({ state, phase, retainedBytes }) => [state, phase, retainedBytes]),
      [
        ['starting', 'setup', undefined],
        ['starting', 'snapshot', undefined],
        ['degraded', 'snapshot', undefined],
        ['running', 'snapshot', 4096],
        ['running', undefined, 4096],
      ],
    )
    status.close()
  })

  it('contains nothing that cannot be stored or shown, for any object key', () => {
    const reports: WorkerStatus[] = []
    const status = makeStatus((one) => reports.push(one))
    status.degrade('a\0b\nc\ud800d\u202ee')
    assert.equal(reports.at(-1)?.reason, 'a\ufffdb\ufffdc\ufffdd\ufffde')
    status.close()
    for (const shift of ['', '-']) {
      const shown = shownText(`Loading ${shift}${'😀'.repeat(10_000)}`)
      assert.ok(shown.length <= 1_000 && shown.isWellFormed(), shown)
      assert.match(shown, /^Loading -?(😀)+…$/u)
    }
    assert.equal(shownText('Käse 😀'), 'Käse 😀')
  })

  it('has counts and durations as words', () => {
    assert.deepEqual([countOf(1, 'row'), countOf(120_000, 'row')], ['1 row', '120,000 rows'])
    assert.deepEqual([timeOf(300), timeOf(8_400)], ['under a second', '8 s'])
  })
})
