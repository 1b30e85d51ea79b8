import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { type FailureCode, NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { ObjectUnavailable } from '../../sources/object-storage/object-store.ts'
import { findObjectFailure } from './object-failure.ts'

const details = (step: ProbeStep, code: FailureCode) => ({ step, code, reason: 'it is so', remedy: 'fix it' })

describe('a failure of one object', () => {
  it('is that it cannot be decoded, was changed or is archived', () => {
    for (const error of [
      new ProbeFailure(details('decode', 'undecodable')),
      new ProbeFailure(details('read', 'source_failed')),
      new ObjectUnavailable(details('read', 'not_set_up')),
    ]) {
      assert.equal(findObjectFailure(error), 'it is so')
    }
  })

  it('is not one that may concern all objects', () => {
    for (const error of [
      new ProbeFailure(details('read', 'not_set_up')),
      new ProbeFailure(details('read', 'permission_missing')),
      new ProbeFailure(details('describe', 'source_failed')),
      new ProbeFailure(details('describe', 'not_found')),
      new NotConnected(),
      new Error('a defect'),
    ]) {
      assert.equal(findObjectFailure(error), undefined)
    }
  })
})
