import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SentSearches } from './sent-searches.ts'

describe('a search in the URL', () => {
  it('keeps the typed text while earlier texts arrive late', () => {
    const sent = new SentSearches()
    sent.add('am')
    sent.add('amara')
    assert.equal(sent.comesBack('am'), true)
    assert.equal(sent.comesBack('amara'), true)
    sent.add('no')
    sent.add('noor')
    assert.equal(sent.comesBack('noor'), true, 'the first one was skipped')
  })

  it('takes texts set by links, even if they were typed before', () => {
    const sent = new SentSearches()
    assert.equal(sent.comesBack(''), false)
    sent.add('am')
    assert.equal(sent.comesBack('am'), true)
    assert.equal(sent.comesBack(''), false)
    assert.equal(sent.comesBack('am'), false)
  })
})
