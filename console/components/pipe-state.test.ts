import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Service } from '../../src/client/shapes.ts'
import { stateMeanings, stateNames } from './pipe-fields.ts'
import { firstStep, isReasonOutdated, shownPipeState, stateMeaning } from './pipe-state.ts'

// A record, so that new service states must be added here.
const isDown: Record<Service['state'], boolean> = {
  provisioning: false,
  running: false,
  degraded: false,
  failed: true,
  stopped: true,
}

describe('the state of a pipe beside that of its service', () => {
  for (const [state, waits] of Object.entries(isDown) as [Service['state'], boolean][]) {
    it(`is ${waits ? 'not ' : ''}Running while the service is ${state}`, () => {
      assert.equal(shownPipeState('Running', { state }), waits ? 'Waiting' : 'Running')
      if (waits) assert.match(stateMeaning('Running', { state }), /^The engine is down\..* waits until/)
      else assert.equal(stateMeaning('Running', { state }), stateMeanings.Running)
      // Other states stay unchanged.
      for (const other of stateNames.filter((name) => name !== 'Running')) {
        assert.equal(shownPipeState(other, { state }), other)
        assert.equal(stateMeaning(other, { state }), stateMeanings[other])
      }
    })
  }
})

it('the reason of a failed pipe is outdated when the pipe has changed since', () => {
  const [before, after] = ['2026-11-18T10:00:00.000Z', '2026-11-18T10:00:01.000Z']
  assert.equal(isReasonOutdated({ state: 'Failed', updatedAt: after }, { lastErrorAt: before }), true)
  assert.equal(isReasonOutdated({ state: 'InternalError', updatedAt: after }, { lastErrorAt: before }), true)
  assert.equal(isReasonOutdated({ state: 'Failed', updatedAt: before }, { lastErrorAt: after }), false)
  assert.equal(isReasonOutdated({ state: 'Failed', updatedAt: after }, { lastErrorAt: null }), false)
  assert.equal(isReasonOutdated({ state: 'Degraded', updatedAt: after }, { lastErrorAt: before }), false)
})

it('a stopped pipe without moved rows shows how to start it', () => {
  for (const state of stateNames) {
    const isIdle = state === 'Stopped' || state === 'Paused'
    assert.equal(firstStep({ state, rowsRead: 0 }) !== undefined, isIdle, state)
    assert.equal(firstStep({ state, rowsRead: 1 }), undefined)
    // The source of a pipe that was created with startPaused is complete.
    if (isIdle) assert.match(firstStep({ state, rowsRead: 0 })!, /^To start it, choose Start\. If /)
  }
})
