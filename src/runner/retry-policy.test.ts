import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { makeRunnerWorld } from '../../test/runner-world/runner-world.ts'
import { EngineError } from '../engine/engine.ts'
import { Log } from '../lib/log.ts'
import type { PipeState } from '../progress/pipe-state.ts'
import { NotConnected } from '../source-shapes/source-failure.ts'
import { makeRetryPolicy, type RetryPolicy } from './retry-policy.ts'

function policyWithLog(state?: PipeState): { retryPolicy: RetryPolicy; logged: string[] } {
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
  const times = { backOff: { firstMs: 1, longestMs: 1 }, userErrorRetryMs: 1 }
  return {
    retryPolicy: makeRetryPolicy({ ...pipe, ...(state ? { state } : {}) }, times, new Log('warn', destination)),
    logged,
  }
}

describe('the retry policy', () => {
  it('retries for a pipe that has run before, in this process or in another', () => {
    const failure = new EngineError('user', 'the password is refused')
    for (const state of ['Running', 'Modifying', 'Degraded', 'Snapshot', 'Resync'] as const) {
      assert.ok('waitMs' in policyWithLog(state).retryPolicy.after(failure, false), state)
    }
    for (const state of ['Provisioning', 'Setup'] as const) {
      assert.ok('end' in policyWithLog(state).retryPolicy.after(failure, false), state)
    }
  })

  it('logs a defect that appears while the worker is being stopped', () => {
    const { retryPolicy, logged } = policyWithLog()
    assert.deepEqual(retryPolicy.after(new TypeError('a defect'), true), { end: 'stopped' })
    assert.equal(logged.length, 1)
    assert.match(logged[0] ?? '', /while it was being stopped/)
    assert.match(logged[0] ?? '', /TypeError/)
  })

  it('does not log expected errors of a worker that is being stopped', () => {
    const { retryPolicy, logged } = policyWithLog()
    const aborted = AbortSignal.abort().reason as unknown
    for (const error of [new NotConnected(), new EngineError('passing', 'away'), aborted]) {
      assert.deepEqual(retryPolicy.after(error, true), { end: 'stopped' })
    }
    assert.deepEqual(logged, [])
  })

  it('throws a defect that appears while the worker runs', () => {
    const { retryPolicy } = policyWithLog()
    assert.throws(() => retryPolicy.after(new TypeError('a defect'), false), TypeError)
  })
})
