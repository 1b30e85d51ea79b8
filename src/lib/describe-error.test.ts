import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeError } from './describe-error.ts'

it('returns where an error was thrown, but not its message', () => {
  const error = new TypeError('Cannot convert 1\n    at words-of-a-foreign-server to a BigInt')
  const described = describeError(Object.assign(error, { code: 'ERR_WORDS' }))
  assert.equal(described.name, 'TypeError')
  assert.equal(described.code, 'ERR_WORDS')
  assert.ok(described.at!.length > 0)
  assert.match(described.at![0]!, /describe-error\.test\.ts/)
  assert.doesNotMatch(JSON.stringify(described), /words-of/)
})

it('accepts anything that can be thrown', () => {
  assert.deepEqual(describeError('a secret'), { name: 'string' })
  assert.deepEqual(describeError(Object.assign(new Error('x'), { stack: undefined })), { name: 'Error', at: [] })
})
