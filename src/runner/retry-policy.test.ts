import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { makeRunnerWorld } from '../../test/runner-world.ts'
import { EngineError } from '../engine/engine.ts'
import { Log } from '../lib/log.ts'
import type { PipeState } from '../pipes/pipe-state.ts'
import { NotConnected } from '../sources/source.ts'
import { makeRetryPolicy, type RetryPolicy } from './retry-policy.ts'

function patienceWithLog(state?: PipeState): { patience: RetryPolicy; logged: string[] } {
  const logged: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk))
      done()
    },
  })
  const { pipe } = makeRunnerWorld({
    kind: 'kafka',
    options: {},
    makeSource: () => {
      throw new Error('nothing is read here')
    },
  }).parts
  const times = { backOff: { firstMs: 1, longestMs: 1 }, patienceMs: 1 }
  return {
    patience: makeRetryPolicy({ ...pipe, ...(state ? { state } : {}) }, times, new Log('warn', destination)),
    logged,
  }
}

describe('patience', () => {
  it('is had with a pipe that has worked before, in this process or in another', () => {
    const trouble = new EngineError('user', 'the password is refused')
    for (const state of ['Running', 'Modifying', 'Degraded', 'Snapshot', 'Resync'] as const) {
      assert.ok('waitMs' in patienceWithLog(state).patience.after(trouble, false), state)
    }
    for (const state of ['Provisioning', 'Setup'] as const) {
      assert.ok('end' in patienceWithLog(state).patience.after(trouble, false), state)
    }
  })

  it('logs a defect that shows while the worker is being stopped', () => {
    const { patience, logged } = patienceWithLog()
    assert.deepEqual(patience.after(new TypeError('a defect'), true), { end: 'stopped' })
    assert.equal(logged.length, 1)
    assert.match(logged[0] ?? '', /while it was being stopped/)
    assert.match(logged[0] ?? '', /TypeError/)
  })

  it('logs nothing of what is expected of a worker that is being stopped', () => {
    const { patience, logged } = patienceWithLog()
    const aborted = AbortSignal.abort().reason as unknown
    for (const error of [new NotConnected(), new EngineError('passing', 'away'), aborted]) {
      assert.deepEqual(patience.after(error, true), { end: 'stopped' })
    }
    assert.deepEqual(logged, [])
  })

  it('throws a defect that shows while the worker runs', () => {
    const { patience } = patienceWithLog()
    assert.throws(() => patience.after(new TypeError('a defect'), false), TypeError)
  })
})
