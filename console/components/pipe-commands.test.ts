import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateAfter } from '../../src/progress/pipe-state.ts'
import { type PipeCommand, whyNot } from './pipe-commands.ts'
import { kindNames, stateNames } from './pipe-fields.ts'

test('a command is offered exactly when the API would accept it and change the state', () => {
  const differences = []
  for (const kind of kindNames) {
    for (const state of stateNames) {
      for (const command of ['start', 'stop', 'resync'] satisfies PipeCommand[]) {
        const isOffered = whyNot(command, kind, state) === undefined
        if (isOffered !== changesState(kind, state, command)) differences.push({ kind, state, command, isOffered })
      }
    }
  }
  assert.deepEqual(differences, [])
})

function changesState(
  kind: (typeof kindNames)[number],
  state: (typeof stateNames)[number],
  command: PipeCommand,
): boolean {
  try {
    return stateAfter(kind, state, command) !== state
  } catch {
    return false
  }
}
