import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Undecodable } from '../undecodable.ts'
import { inferFields } from './infer-fields.ts'
import { decodeJsonLines, decodeJsonRecords as decodeRecords } from './json-rows.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const recordsOf = (...texts: string[]): Uint8Array[] => texts.map(bytesOf)
const decodeJsonRecords = (records: Uint8Array[], maxRows = 100) => decodeRecords(records, maxRows)
const linesOf = (text: string, { isWhole = true, maxRows = 100 } = {}) =>
  decodeJsonLines({ bytes: bytesOf(text), isWhole }, maxRows)

/** The result of plain JSON.parse. */
const asJson = (rows: unknown): unknown =>
  JSON.parse(JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)))

function reasonOf(decode: () => unknown): string {
  try {
    decode()
  } catch (error) {
    assert.ok(error instanceof Undecodable, String(error))
    return error.reason
  }
  return assert.fail('nothing was refused')
}

describe('JSON records', () => {
  it('are one object each, or several lines of objects, or a list of objects', () => {
    const { rows } = decodeJsonRecords(
      recordsOf(
        '{"a":1}',
        '{"a":2}\n{"a":3}\n',
        '[{"a":4},{"a":5}]',
        '{"a":6}{"a":7}',
        '{\n "a": [\n  {"b":"}"}\n ]\n}',
        ' ',
      ),
    )
    assert.deepEqual(
      rows.map(({ a }) => a),
      [1, 2, 3, 4, 5, 6, 7, [{ b: '}' }]],
    )
  })

  it('keep every digit of an integer', () => {
    const { rows } = decodeJsonRecords(
      recordsOf(
        '{"a":9007199254740993,"b":-9223372036854775808,"c":[18446744073709551615],"d":{"e":90071992547409931}}',
      ),
    )
    assert.deepEqual(rows, [
      { a: 9007199254740993n, b: -9223372036854775808n, c: [18446744073709551615n], d: { e: 90071992547409931n } },
    ])
    assert.deepEqual(
      inferFields(rows).map(({ type }) => type),
      ['Int64', 'Int64', 'Array(UInt64)', 'String'],
    )
  })

  it('return huge numbers as text, in little time', () => {
    const digits = '9'.repeat(500_000)
    const startedAtMs = performance.now()
    const { rows } = decodeJsonRecords(recordsOf(`{"a":${digits},"b":1e999}`))
    assert.deepEqual(rows, [{ a: digits, b: Number.POSITIVE_INFINITY }])
    assert.ok(performance.now() - startedAtMs < 2000)
  })

  it('treat a number with a fraction of zero as a number with a fraction', () => {
    const { rows } = decodeJsonRecords(
      recordsOf('{"a":1.0,"b":1,"c":null,"d":{"b":1.0}}', '{"a":2,"b":2,"c":1e2,"d":{}}'),
    )
    assert.deepEqual(
      inferFields(rows).map(({ type }) => type),
      ['Float64', 'Int64', 'Nullable(Float64)', 'String'],
    )
  })

  it('accept a key __proto__', () => {
    const { rows } = decodeJsonRecords(recordsOf('{"__proto__":{"isAdmin":true}}'))
    assert.deepEqual(Object.keys(rows[0]!), ['__proto__'])
    assert.equal((rows[0] as { isAdmin?: boolean }).isAdmin, undefined)
    assert.equal(inferFields(rows)[0]?.name, '__proto__')
  })

  it('that are not JSON objects are rejected with their number and start', () => {
    const good = '{"a":1}'
    for (const [record, reason] of [
      ['<xml version="1.0">', 'record 2 is not a JSON object: it begins with "<xml version=\\"1.0\\">"'],
      ['<xml', 'record 2 is not a JSON object: it begins with "<xml"'],
      ['17', 'record 2 is not a JSON object: it begins with "17"'],
      ['null', 'record 2 is not a JSON object: it begins with "null"'],
      ['[1,2]', 'record 2 is not a JSON object: it begins with "1,2]"'],
      ['{"a":1}]', 'record 2 is valid'],
      ['{"a":tru}', 'record 2 is not valid JSON: it begins with "{\\"a\\":tru}"'],
      ['{"a":1', 'record 2 is a JSON object without its end: it begins with "{\\"a\\":1"'],
      [
        '\u0000\u0000\u0000\u0000\u0001abc',
        'record 2 is not a JSON object: it begins with "\\u{0}\\u{0}\\u{0}\\u{0}\\u{1}abc"',
      ],
      [
        '\u202eabcdefghijklmnopqrstuvwxyz',
        'record 2 is not a JSON object: it begins with "\\u{202e}abcdefghijklmnopqrs…"',
      ],
    ] as const) {
      if (reason.endsWith('is valid')) assert.equal(decodeJsonRecords(recordsOf(good, record)).rows.length, 2)
      else
        assert.equal(
          reasonOf(() => decodeJsonRecords(recordsOf(good, record))),
          reason,
        )
    }
  })

  it('that are not UTF-8 are rejected', () => {
    assert.equal(
      reasonOf(() => decodeJsonRecords([Uint8Array.of(0x7b, 0xff, 0x7d)])),
      'record 1 is not UTF-8 text',
    )
  })

  it('that are nested too deeply are rejected, and do not crash the process', () => {
    const deep = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    assert.equal(decodeJsonRecords(recordsOf(deep(999))).rows.length, 1)
    assert.equal(
      reasonOf(() => decodeJsonRecords(recordsOf(deep(500_000)))),
      'record 1 is nested deeper than 1000 levels',
    )
  })
})

describe('JSON records that hold too much', () => {
  it('are read up to the requested rows', () => {
    const { rows } = decodeJsonRecords(recordsOf('{"a":1}{"a":2}', '{"a":3}'.repeat(1000), '<not json>'), 5)
    assert.deepEqual(
      rows.map(({ a }) => a),
      [1, 2, 3, 3, 3],
    )
  })

  it('are read up to the maximum number of values of a sample', () => {
    const long = `{"a":[${'0,'.repeat(30_000)}0]}`
    assert.equal(decodeJsonRecords(recordsOf(long, long, '<not json>')).rows.length, 1)
    assert.equal(linesOf(`{}\n${long}\n${long}\n`).rows.length, 2)
  })

  it('are rejected when the first row exceeds the budget', () => {
    const longer = `{"a":[${'0,'.repeat(60_000)}0]}`
    const startedAtMs = performance.now()
    assert.equal(
      reasonOf(() => decodeJsonRecords(recordsOf(`{"a":[${'[],'.repeat(4_000_000)}0]}`))),
      'record 1 holds more values than a sample may have',
    )
    assert.ok(performance.now() - startedAtMs < 3000)
    assert.equal(
      reasonOf(() => linesOf(`\n${longer}`)),
      'line 2 holds more values than a sample may have',
    )
  })

  it('are skipped when they are too large for a sample, and the others are read', () => {
    const large = Buffer.alloc(9 * 1024 * 1024, ' ')
    large.write('{"a":"large"}')
    const { rows } = decodeJsonRecords([Buffer.concat([large, large]), ...recordsOf('{"a":1}'), large, large])
    assert.deepEqual(rows, [{ a: 1 }, { a: 'large' }])
  })

  it('may hold any commas and brackets in their texts', () => {
    const text = ',[{'.repeat(300_000)
    assert.deepEqual(decodeJsonRecords(recordsOf(JSON.stringify({ text }))).rows, [{ text }])
  })
})

describe('JSON lines', () => {
  it('are read up to the requested rows', () => {
    assert.deepEqual(linesOf('\ufeff{"a":1}\r\n\r\n{"a":2}\n{"a":3}\n<not json>', { maxRows: 3 }).rows, [
      { a: 1 },
      { a: 2 },
      { a: 3 },
    ])
  })

  it('may be a list', () => {
    assert.deepEqual(linesOf('[\n{"a":1},\n{"a":2}\n]\n').rows, [{ a: 1 }, { a: 2 }])
    assert.deepEqual(linesOf('[{"a":1},{"a":2},{"a"', { isWhole: false }).rows, [{ a: 1 }, { a: 2 }])
  })

  it('lose the last one when the object continues', () => {
    assert.deepEqual(linesOf('{"a":1}\n{"a":"ä', { isWhole: false }).rows, [{ a: 1 }])
    const inCharacter = bytesOf('{"a":1}\n{"a":"ä').slice(0, -1)
    assert.deepEqual(decodeJsonLines({ bytes: inCharacter, isWhole: false }, 10).rows, [{ a: 1 }])
    assert.deepEqual(linesOf('{"a":1}\n{\n"a": [\n{"b":1}\n', { isWhole: false }).rows, [{ a: 1 }])
  })

  it('are rejected with the line number', () => {
    assert.match(
      reasonOf(() => linesOf('{"a":1}\n{"a":2}\nid,name\n')),
      /^line 3 is not a JSON object: it begins with "id,name"$/,
    )
    assert.match(
      reasonOf(() => linesOf('{"a":1}\n{"a":\n{"a":3}\n')),
      /^line 2 is a JSON object without its end/,
    )
    assert.match(
      reasonOf(() => linesOf('{"a":1}\n{"a":2\n{"a":3}\n{"a"', { isWhole: false })),
      /^line 2 is a JSON object without its end/,
    )
    const broken = Buffer.concat([bytesOf('{"a":"\ufffd"}\n'), Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a)])
    assert.equal(
      reasonOf(() => decodeJsonLines({ bytes: broken, isWhole: true }, 10)),
      'line 2 is not UTF-8 text',
    )
  })

  it('are rejected when the first one is incomplete', () => {
    assert.match(
      reasonOf(() => linesOf(`{"a":"${'x'.repeat(1000)}`, { isWhole: false })),
      /first JSON object is longer than the 1006 bytes/,
    )
  })

  it('of an empty object are an empty list', () => {
    assert.deepEqual(linesOf(''), { rows: [] })
    assert.deepEqual(linesOf('[]\n').rows, [])
  })

  it('are decoded as they were encoded, for any truncation', () => {
    const row = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.nat(), (rows, cutAt) => {
        const lines = rows.map((each) => JSON.stringify(each))
        const text = lines.join('\n')
        assert.deepEqual(asJson(linesOf(text).rows), JSON.parse(`[${lines.join()}]`))
        const bytes = bytesOf(text)
        const end = Math.max(bytesOf(lines[0]!).length, cutAt % bytes.length)
        const { rows: found } = decodeJsonLines({ bytes: bytes.subarray(0, end), isWhole: false }, 100)
        assert.ok(found.length >= 1)
        assert.deepEqual(asJson(found), JSON.parse(`[${lines.slice(0, found.length).join()}]`))
      }),
      { numRuns: 200 },
    )
  })
})
