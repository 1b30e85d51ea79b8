import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fieldWords, withFormTerms } from './field-words.ts'

describe('API errors of a field in the terms of the form', () => {
  const cases: [pointer: string, detail: string, words: string][] = [
    ['#/newPassword', 'newPassword must have 12 to 256 characters', 'Use at least 12 characters'],
    ['#/password', 'password must have 12 to 256 characters, not 5', 'Use at least 12 characters'],
    [
      '#/ipAccessList/0/source',
      'ipAccessList[0].source must be an IPv4 or IPv6 address',
      'Enter an address or range, e.g. 10.0.0.0/8',
    ],
    ['#/name', 'name must have 1 to 255 characters, not 0', 'Must have 1 to 255 characters, not 0'],
    ['#/destination/columns/0/type', 'destination.columns[0].type names Int65', 'Names Int65'],
    ['#/name', 'the key is gone', 'the key is gone'],
  ]
  for (const [pointer, detail, words] of cases) {
    it(`${detail}: ${words}`, () => assert.equal(fieldWords(pointer, detail), words))
  }

  it('a remedy names the switch of the form', () => {
    const text = 'add a primary key to the table, or choose columns with useCustomSortingKey and sortingKeys'
    assert.equal(withFormTerms(text), 'add a primary key to the table, or turn on "Custom sorting key"')
  })
})
