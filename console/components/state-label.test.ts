import assert from 'node:assert/strict'
import { it } from 'node:test'
import { shownPipeStates } from './pipe-state.ts'
import { type ShownState, stateColor, stateLabel } from './state-label.ts'

const serviceStates: ShownState[] = ['provisioning', 'running', 'degraded', 'failed', 'stopped']

it('the label of a state is a capitalized phrase', () => {
  assert.deepEqual(serviceStates.map(stateLabel), ['Provisioning', 'Running', 'Degraded', 'Failed', 'Stopped'])
  assert.equal(stateLabel('InternalError'), 'Internal error')
  assert.equal(stateLabel('Resync'), 'Resyncing')
  for (const state of shownPipeStates) assert.match(stateLabel(state), /^[A-Z][a-z]+( [a-z]+)?$/, state)
})

it('states that need attention have a color of their own', () => {
  const colors = Object.fromEntries([...shownPipeStates, ...serviceStates].map((state) => [state, stateColor(state)]))
  const statesOf = (color: string) => Object.keys(colors).filter((state) => colors[state] === color)
  assert.deepEqual(statesOf('green'), ['Running', 'running'])
  assert.deepEqual(statesOf('red'), ['Failed', 'InternalError', 'failed'])
  assert.deepEqual(statesOf('orange'), ['Degraded', 'Waiting', 'degraded'])
  assert.deepEqual(statesOf('gray'), ['Stopped', 'Paused', 'stopped'])
})
