import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ObjectUnavailable } from '../../sources/object-storage/object-store.ts'
import { type FailureCode, NotConnected, ProbeFailure, type ProbeStep } from '../../sources/source.ts'
import { findTrouble } from './object-trouble.ts'

const details = (step: ProbeStep, code: FailureCode) => ({ step, code, reason: 'it is so', remedy: 'mend it' })

describe('what is wrong with one object', () => {
  it('is that it cannot be decoded, was changed, or is archived', () => {
    for (const error of [
      new ProbeFailure(details('decode', 'undecodable')),
      new ProbeFailure(details('read', 'source_failed')),
      new ObjectUnavailable(details('read', 'not_set_up')),
    ]) {
      assert.equal(findTrouble(error), 'it is so')
    }
  })

  it('is nothing that may be wrong with all of them', () => {
    for (const error of [
      new ProbeFailure(details('read', 'not_set_up')),
      new ProbeFailure(details('read', 'permission_missing')),
      new ProbeFailure(details('describe', 'source_failed')),
      new ProbeFailure(details('describe', 'not_found')),
      new NotConnected(),
      new Error('a defect'),
    ]) {
      assert.equal(findTrouble(error), undefined)
    }
  })
})
