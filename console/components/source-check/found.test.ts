import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PenstockError } from '../../../src/client/error.ts'
import { areColumnsOf, columnsOfFields, cutText, hasEnteredColumns, namesInSample, sampleCell } from './found-fields.ts'
import { asSentence, fieldMarks, passedSteps, sourceFailureOf } from './source-failure.ts'

const fields = [
  { name: 'id', type: 'Int64', isOptional: false },
  { name: 'note', type: 'Nullable(String)', isOptional: true },
]

function failure(message: string, code = 'source_not_validated'): PenstockError {
  return new PenstockError(message, {
    status: 400,
    code,
    errors: [{ pointer: '#/source/postgres/credentials', detail: message }],
  })
}

const refused =
  'source.postgres.credentials: the step "authenticate" failed: db.example:5432 refuses the user name or the password; check username and password'

describe('fields that were found', () => {
  it('become columns of the same names and types', () => {
    const columns = columnsOfFields(fields)
    assert.deepEqual(columns, [
      { name: 'id', type: 'Int64' },
      { name: 'note', type: 'Nullable(String)' },
    ])
    assert.ok(areColumnsOf(fields, columns))
    assert.ok(!areColumnsOf(fields, columns.slice(1)))
    assert.ok(!areColumnsOf(fields, columns.toReversed()))
  })

  it('replace entered columns only after a question; empty rows do not count', () => {
    assert.ok(!hasEnteredColumns([{ name: '', type: '' }]))
    assert.ok(hasEnteredColumns([{ name: '', type: 'Int64' }]))
  })
})

describe('a sample', () => {
  it('has the fields in order, then additional values of the rows', () => {
    assert.deepEqual(namesInSample(fields, [{ note: 'a', extra: 1 }, { id: 2 }]), ['id', 'note', 'extra'])
  })

  it('distinguishes null, absent and empty values from equal texts', () => {
    const row = { a: null, b: 'null', c: '', d: { e: [1, null] }, f: 0, g: false }
    assert.deepEqual(sampleCell(row, 'a'), { text: 'null', isRemark: true })
    assert.deepEqual(sampleCell(row, 'b'), { text: 'null', isRemark: false })
    assert.deepEqual(sampleCell(row, 'c'), { text: 'empty', isRemark: true })
    assert.deepEqual(sampleCell(row, 'd'), { text: '{"e":[1,null]}', isRemark: false })
    assert.deepEqual(sampleCell(row, 'f'), { text: '0', isRemark: false })
    assert.deepEqual(sampleCell(row, 'g'), { text: 'false', isRemark: false })
    assert.deepEqual(sampleCell(row, 'toString'), { text: 'absent', isRemark: true })
  })

  it('shortens long values without splitting characters', () => {
    assert.equal(cutText('short'), 'short')
    assert.equal(cutText('x'.repeat(500)), `${'x'.repeat(120)}…`)
    assert.equal(cutText(`${'x'.repeat(119)}😀tail`), `${'x'.repeat(119)}…`)
  })
})

describe('a source that failed', () => {
  it('has step, reason and remedy', () => {
    assert.deepEqual(sourceFailureOf(failure(refused)), {
      step: 'authenticate',
      reasons: ['db.example:5432 refuses the user name or the password.'],
      remedy: 'Check username and password.',
    })
  })

  it('may have several reasons, but one remedy', () => {
    const failed = sourceFailureOf(
      failure('source.kafka: the step "fit" failed: no field a; no field b; change the columns'),
    )
    assert.deepEqual(failed?.reasons, ['No field a.', 'No field b.'])
    assert.equal(failed?.remedy, 'Change the columns.')
  })

  it('has sentences with unchanged names', () => {
    assert.equal(asSentence('nothing accepts connections at db:1'), 'Nothing accepts connections at db:1.')
    assert.equal(asSentence('db.example:1 is closed.'), 'db.example:1 is closed.')
  })

  it('has the API message when its format is unknown', () => {
    assert.equal(sourceFailureOf(failure('something new')), undefined)
    assert.equal(sourceFailureOf(failure('a: the step "constructor" failed: b; c')), undefined)
    assert.equal(sourceFailureOf(failure(refused, 'invalid_body')), undefined)
    assert.equal(sourceFailureOf(null), undefined)
  })

  it('marks its field briefly, with other validation errors', () => {
    const invalid = new PenstockError('two', {
      status: 400,
      code: 'invalid_body',
      errors: [{ pointer: '#/name', detail: 'name is too long' }],
    })
    assert.deepEqual(fieldMarks(invalid, failure(refused))?.errors, [
      { pointer: '#/name', detail: 'name is too long' },
      {
        pointer: '#/source/postgres/credentials',
        detail: 'db.example:5432 refuses the user name or the password.',
      },
    ])
    assert.equal(fieldMarks(null, undefined), undefined)
  })
})

describe('the steps that passed', () => {
  it('are listed in one line with their durations', () => {
    const steps = [
      { step: 'connect', durationMs: 1.8 },
      { step: 'tls', durationMs: 0.3 },
      { step: 'authenticate', durationMs: 1_250 },
    ] as const
    assert.equal(passedSteps([...steps]), 'Connected 2 ms, TLS under 1 ms, signed in 1.3 s.')
  })
})
