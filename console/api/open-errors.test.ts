import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PenstockError } from '../../src/client/error.ts'
import { openErrors } from './open-errors.ts'

const errorAt = (...pointers: string[]) =>
  new PenstockError('invalid', {
    status: 400,
    code: 'invalid_body',
    errors: pointers.map((pointer) => ({ pointer, detail: `${pointer} is wrong` })),
  })

describe('errors of fields', () => {
  it('stay while the fields have the values that were sent', () => {
    const error = errorAt('#/name', '#/rows/0/source')
    const body = { name: '', rows: [{ source: 'x' }] }
    assert.equal(openErrors(error, body, structuredClone(body)), error)
  })

  it('disappear when the value changes, and the others stay', () => {
    const error = errorAt('#/name', '#/rows/0/source')
    const sent = { name: '', rows: [{ source: 'x' }] }
    const open = openErrors(error, sent, { name: '', rows: [{ source: '10.0.0.0/8' }] })
    assert.deepEqual(
      open?.errors.map(({ pointer }) => pointer),
      ['#/name'],
    )
    assert.equal(open?.message, 'invalid')
  })

  it('disappear with the last field, also for a missing value', () => {
    assert.equal(openErrors(errorAt('#/endpoint/url'), {}, { endpoint: { url: 'http://a' } }), null)
  })

  it('that concern no field stay', () => {
    const error = errorAt()
    assert.equal(openErrors(error, { name: 'a' }, { name: 'b' }), error)
  })
})
