import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EgressError } from '../lib/egress.ts'
import { EngineError } from './engine.ts'
import { connectionFailure, engineFailure, errorCodeOf, findLateException } from './engine-failure.ts'

const address = { protocol: 'http', host: 'engine.example', port: 8123 } as const
const failure = (code: number, more: { text?: string; hasRows?: boolean; status?: number } = {}): EngineError =>
  engineFailure(address, { code, status: 500, text: '', hasRows: true, ...more })

describe('engineFailure', () => {
  it('classifies passing errors, errors for the user, and all others as errors of the rows', () => {
    for (const code of [159, 202, 209, 210, 225, 241, 242, 243, 252, 285, 319, 354, 394, 999, 1000, 1002, 2000]) {
      for (const hasRows of [true, false]) assert.equal(failure(code, { hasRows }).kind, 'passing', String(code))
    }
    for (const code of [16, 47, 50, 60, 62, 73, 81, 115, 164, 192, 193, 194, 291, 497, 516]) {
      for (const hasRows of [true, false]) assert.equal(failure(code, { hasRows }).kind, 'user', String(code))
    }
    for (const code of [6, 26, 27, 33, 36, 38, 41, 48, 49, 53, 69, 70, 72, 117, 131, 349, 376, 395, 469, 691]) {
      assert.equal(failure(code).kind, 'data', String(code))
      assert.equal(failure(code, { hasRows: false }).kind, 'user', String(code))
    }
  })

  it('distinguishes too many parts, which pass, from too many partitions in one insert, which do not', () => {
    assert.equal(failure(252, { text: 'Code: 252. DB::Exception: Too many parts (300) in table' }).kind, 'passing')
    const many = failure(252, {
      text: 'Code: 252. DB::Exception: Too many partitions for single INSERT block (more than 100)',
    })
    assert.equal(many.kind, 'user')
    assert.match(many.message, /max_partitions_per_insert_block/)
  })

  it('says what to do about what the user can change, with its own words and the code', () => {
    const { message, detail } = failure(60, { text: 'Code: 60. DB::Exception: canary' })
    assert.equal(
      message,
      'the engine at engine.example:8123 has no such table; create it, or let Penstock manage it (its error 60)',
    )
    assert.equal(detail, 'Code: 60. DB::Exception: canary')
  })

  it('reports that the engine may not write to its data folder, not that it is no engine', () => {
    const text = 'std::exception. Code: 1001, e.what() = filesystem error: in create_directories: Permission denied'
    const { kind, message } = failure(errorCodeOf(undefined, text), { text })
    assert.equal(kind, 'user')
    assert.match(message, /^the engine at engine\.example:8123 may not write to its own data folder; /)
    // The words may come from a row.
    assert.equal(failure(27, { text: 'Code: 27. Cannot parse "Permission denied"' }).kind, 'data')
  })

  it('classifies an answer without a code by its status', () => {
    assert.equal(failure(0, { status: 403 }).kind, 'user')
    assert.equal(failure(0, { status: 503 }).kind, 'passing')
  })
})

describe('errorCodeOf', () => {
  it('reads the header first, then the beginning of the text in both formats', () => {
    assert.equal(errorCodeOf('241', 'Code: 27. DB::Exception'), 241)
    assert.equal(errorCodeOf(undefined, 'Code: 27. DB::Exception: no'), 27)
    assert.equal(errorCodeOf(undefined, 'Code: 27, e.displayText() = DB::Exception: no'), 27)
    assert.equal(errorCodeOf(undefined, 'std::exception. Code: 1001, type: filesystem_error'), 1001)
    assert.equal(errorCodeOf(undefined, 'Poco::Exception. Code: 1000, e.code() = 13'), 1000)
    assert.equal(errorCodeOf(undefined, '<html>27</html>'), 0)
    assert.equal(errorCodeOf(undefined, ''), 0)
  })
})

describe('findLateException', () => {
  it('finds an exception at the end of an answer, and none in the middle of a line', () => {
    assert.equal(findLateException('1\n2\n'), undefined)
    assert.equal(findLateException('a\tCode: 1. DB::Exception: x\n'), undefined)
    assert.equal(findLateException('1\nCode: 1. DB::Exception: x'), 'Code: 1. DB::Exception: x')
  })
})

describe('connectionFailure', () => {
  it('classifies connection failures as passing, unless the connection is forbidden', () => {
    for (const kind of ['refused', 'unreachable', 'timed out', 'unresolved', 'tls', 'broken'] as const) {
      const cause = new EgressError(kind)
      const { kind: classified, message } = connectionFailure(address, new Error('foreign words', { cause }))
      assert.equal(classified, 'passing')
      assert.ok(message.includes('engine.example') && !message.includes('foreign'), message)
    }
    assert.equal(connectionFailure(address, new EgressError('denied', { denial: 'address' })).kind, 'user')
    const known = new EngineError('data', 'known')
    assert.equal(connectionFailure(address, known), known)
  })
})
