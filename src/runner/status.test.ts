import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countOf } from '../lib/count-text.ts'
import { makeStatus, shownText, timeOf } from './status.ts'
import type { WorkerStatus } from './worker.ts'

describe('what a worker tells', () => {
  it('is told at once when its state changes, and otherwise once a second, the last at the end', (context) => {
    let nowMs = 10_000
    context.mock.method(performance, 'now', () => nowMs)
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const told: WorkerStatus[] = []
    const status = makeStatus((one) => told.push(one))
    status.doing('one')
    status.doing('two')
    status.doing('three')
    assert.deepEqual(
      told.map(({ doing }) => doing),
      ['one'],
    )
    nowMs += 1_000
    context.mock.timers.tick(1_000)
    assert.deepEqual(
      told.map(({ doing }) => doing),
      ['one', 'three'],
    )
    status.well()
    status.lag(5)
    status.degrade('the engine is away')
    assert.deepEqual(told.slice(2), [
      { state: 'running', doing: 'three' },
      { state: 'degraded', doing: 'three', lag: 5, reason: 'the engine is away' },
    ])
    status.well()
    assert.equal('reason' in told.at(-1)!, false)
    status.close()
    status.doing('nothing more')
    context.mock.timers.tick(5_000)
    assert.equal(told.length, 5)
  })

  it('takes no moment back up to which the source is delivered, and none that is yet to come', () => {
    const told: WorkerStatus[] = []
    const status = makeStatus((one) => told.push(one))
    const untilMs = (at: number): number | undefined => {
      status.delivered(at)
      status.degrade(`look ${told.length}`)
      return told.at(-1)?.deliveredUntilMs
    }
    assert.equal(untilMs(2_000), 2_000)
    assert.equal(untilMs(1_000), 2_000)
    assert.ok(untilMs(Date.now() + 3_600_000)! <= Date.now())
  })

  it('tells at once of another phase, which stays whatever its state', () => {
    const told: WorkerStatus[] = []
    const status = makeStatus((one) => told.push(one))
    status.phase('setup')
    status.phase('snapshot')
    status.phase('snapshot')
    status.degrade('the source is away')
    status.retained(4096)
    status.well()
    status.phase(undefined)
    assert.deepEqual(
      told.map(({ state, phase, retainedBytes }) => [state, phase, retainedBytes]),
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

  it('holds nothing that cannot be stored or shown, whatever a key is', () => {
    const told: WorkerStatus[] = []
    const status = makeStatus((one) => told.push(one))
    status.degrade('a\0b\nc\ud800d\u202ee')
    assert.equal(told.at(-1)?.reason, 'a\ufffdb\ufffdc\ufffdd\ufffde')
    status.close()
    for (const shift of ['', '-']) {
      const shown = shownText(`Loading ${shift}${'😀'.repeat(10_000)}`)
      assert.ok(shown.length <= 1_000 && shown.isWellFormed(), shown)
      assert.match(shown, /^Loading -?(😀)+…$/u)
    }
    assert.equal(shownText('Käse 😀'), 'Käse 😀')
  })

  it('counts and times in words', () => {
    assert.deepEqual([countOf(1, 'row'), countOf(120_000, 'row')], ['1 row', '120,000 rows'])
    assert.deepEqual([timeOf(300), timeOf(8_400)], ['under a second', '8 s'])
  })
})
