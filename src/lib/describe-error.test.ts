import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeError } from './describe-error.ts'

it('tells where an error was thrown, and nothing of its message', () => {
  const error = new TypeError('Cannot convert 1\n    at words-of-a-foreign-server to a BigInt')
  const told = describeError(Object.assign(error, { code: 'ERR_WORDS' }))
  assert.equal(told.name, 'TypeError')
  assert.equal(told.code, 'ERR_WORDS')
  assert.ok(told.at!.length > 0)
  assert.match(told.at![0]!, /describe-error\.test\.ts/)
  assert.doesNotMatch(JSON.stringify(told), /words-of/)
})

it('knows that anything can be thrown', () => {
  assert.deepEqual(describeError('a secret'), { name: 'string' })
  assert.deepEqual(describeError(Object.assign(new Error('x'), { stack: undefined })), { name: 'Error', at: [] })
})
