import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PipeToRun } from '../pipes/store.ts'
import type { ListedWorker } from '../progress/workers/store.ts'
import { makePlan, type ObservedWorker } from './plan.ts'

const now = '2026-11-02T10:00:00.000Z'
const later = '2026-11-02T10:00:01.000Z'

const pipe = (pipeId: string, workerCount: number, more: Partial<PipeToRun> = {}): PipeToRun => ({
  pipeId,
  organizationId: 'o',
  serviceId: 's',
  kind: 'kafka',
  state: 'Running',
  workerCount,
  version: 2,
  serviceVersion: 1,
  replayRequestedAt: null,
  ...more,
})
const worker = (
  pipeId: string,
  workerIndex: number,
  workerCount: number,
  more: Partial<ListedWorker> = {},
): ListedWorker => ({
  pipeId,
  workerIndex,
  workerCount,
  runnerId: 'other',
  epoch: 1,
  expiresAt: later,
  pipeVersion: 2,
  state: 'running',
  ...more,
})
const observed = (
  pipeId: string,
  workerIndex: number,
  workerCount: number,
  more: Partial<ObservedWorker> = {},
): ObservedWorker => ({
  pipeId,
  workerIndex,
  workerCount,
  isEnding: false,
  hasCompleted: false,
  ...more,
})
const plan = (seen: Partial<Parameters<typeof makePlan>[0]>) =>
  makePlan({ now, runners: ['me'], pipes: [], workers: [], held: [], ...seen })
const claims = (seen: Partial<Parameters<typeof makePlan>[0]>) =>
  plan(seen).claim.map(({ pipe: { pipeId }, limit }) => [pipeId, limit])

describe('the plan of a runner', () => {
  it('claims free workers, up to its quota', () => {
    const pipes = [pipe('a', 3), pipe('b', 2)]
    assert.deepEqual(claims({ pipes }), [
      ['a', 3],
      ['b', 2],
    ])
    assert.deepEqual(claims({ pipes, runners: ['me', 'other'] }), [['a', 3]])
    assert.deepEqual(claims({ pipes, runners: ['me', 'other'], workers: [worker('a', 0, 3)] }), [
      ['a', 2],
      ['b', 1],
    ])
    assert.deepEqual(claims({ pipes, workers: [worker('a', 0, 3, { expiresAt: now })] }), [
      ['a', 3],
      ['b', 2],
    ])
  })

  it('starts to claim at the given point, and wraps around', () => {
    const pipes = ['a', 'b', 'c', 'd'].map((pipeId) => pipe(pipeId, 1))
    const runners = ['me', 'other']
    assert.deepEqual(claims({ pipes, runners, claimFrom: 0.3 }), [
      ['b', 1],
      ['c', 1],
    ])
    assert.deepEqual(claims({ pipes, runners, claimFrom: 0.999 }), [
      ['d', 1],
      ['a', 1],
    ])
    const workers = [worker('d', 0, 1)]
    assert.deepEqual(claims({ pipes, runners, workers, claimFrom: 0.999 }), [
      ['c', 1],
      ['a', 1],
    ])
  })

  it('gives back workers above its quota, and keeps the others', () => {
    const held = [observed('a', 0, 3), observed('a', 1, 3), observed('a', 2, 3)]
    const workers = held.map(({ pipeId, workerIndex, workerCount }) => worker(pipeId, workerIndex, workerCount))
    const seen = { pipes: [pipe('a', 3)], held, workers }
    assert.deepEqual(plan({ ...seen, runners: ['me', 'other'] }).giveBack, [held[2]])
    assert.deepEqual(plan(seen).giveBack, [])
    const ending = [observed('a', 0, 3, { isEnding: true }), held[1]!, held[2]!]
    assert.deepEqual(plan({ ...seen, held: ending, runners: ['me', 'other'] }).giveBack, [])
  })

  it('ends the workers of pipes that should not run, and those of another worker count', () => {
    const held = [observed('a', 0, 1), observed('b', 0, 1), observed('c', 0, 1), observed('d', 0, 1)]
    const pipes = [pipe('a', 1), pipe('b', 1, { state: 'Stopping' }), pipe('c', 2)]
    const { stop, rebalance } = plan({ pipes, held })
    assert.deepEqual(stop, [held[1], held[3]])
    assert.deepEqual(rebalance, [held[2]])
  })

  it('settles pipes that no worker holds up', () => {
    const stopping = pipe('a', 1, { state: 'Stopping' })
    assert.deepEqual(plan({ pipes: [stopping] }).settle, [stopping])
    assert.deepEqual(plan({ pipes: [stopping], workers: [worker('a', 0, 1)] }).settle, [])
    assert.deepEqual(plan({ pipes: [stopping], workers: [worker('a', 0, 1, { expiresAt: now })] }).settle, [stopping])
    assert.deepEqual(plan({ pipes: [stopping] }).claim, [])
    const complete = pipe('b', 1)
    const workers = [worker('b', 0, 1, { state: 'completed', expiresAt: now })]
    assert.deepEqual(plan({ pipes: [complete], workers }).settle, [complete])
    assert.deepEqual(plan({ pipes: [complete], workers }).claim, [])
    assert.deepEqual(claims({ pipes: [pipe('b', 1, { version: 3 })], workers }), [['b', 1]])
    const replaying = pipe('b', 1, { replayRequestedAt: now })
    assert.deepEqual(plan({ pipes: [replaying], workers }).settle, [replaying])
    const held = [worker('b', 0, 1, { state: 'completed' })]
    assert.deepEqual(plan({ pipes: [replaying], workers: held }).settle, [])
  })
})
