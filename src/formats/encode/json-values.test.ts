import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteOutput, OutputFull } from './byte-output.ts'
import { delimitedValue } from './delimited-value.ts'
import { type DateMeaning, makeColumnWriter } from './json-values.ts'

function written(type: string, value: unknown, dates: DateMeaning = 'day'): string {
  const out = new ByteOutput()
  makeColumnWriter(type, dates).write(value, out)
  return out.take().toString('latin1')
}

const date = new Date(Date.UTC(2026, 0, 31, 12, 30, 5, 250))
const bytes = Buffer.from([0x61, 0xff, 0x22, 0x5c, 0x00])

describe('values for columns', () => {
  for (const [type, value, expected] of [
    ['String', 'a"\u2028', '"a\\"\xe2\x80\xa8"'],
    ['LowCardinality(Nullable(String))', 12n, '"12"'],
    ['String', true, '"true"'],
    ['String', [1n, { a: null }], '"[1,{\\"a\\":null}]"'],
    ['String', bytes, '"a\xff\\"\\\\\\u0000"'],
    ['Int64', 9007199254740993n, '9007199254740993'],
    ['Int64', true, '1'],
    ['Int32', new Date(86_400_000), '1'],
    ['Decimal(38, 2)', '12345678901234567890.12', '12345678901234567890.12'],
    ['Float64', Number.NaN, '"nan"'],
    ['Float64', Number.NEGATIVE_INFINITY, '"-inf"'],
    ['Float64', '1e5', '"1e5"'],
    ['Bool', 'Yes', 'true'],
    ['Bool', false, 'false'],
    ['Date', date, '"2026-01-31"'],
    ['Date', '2026-01-31T12:00:00.000Z', '"2026-01-31"'],
    ['DateTime', '2026-01-31T12:00:00.123456Z', '"2026-01-31T12:00:00Z"'],
    ['DateTime64(9)', '2026-01-31T12:00:00.123456789Z', '"2026-01-31T12:00:00.123456789Z"'],
    ['UUID', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'],
    ['Array(Int64)', [1, null, 2n], '[1,0,2]'],
    ['Array(Nullable(Int64))', [null], '[null]'],
    ['Array(Array(String))', [[], ['a']], '[[],["a"]]'],
    ['Map(String, Array(String))', { a: ['b', 1], c: null }, '{"a":["b","1"],"c":[]}'],
    ['Tuple(a Int64, `b c` String)', { a: true, 'b c': 5 }, '{"a":1,"b c":"5"}'],
    ['Tuple(Int64, String)', [1, 2], '[1,"2"]'],
    ["Enum8('a' = 1, 'b,)' = 2)", 'b,)', '"b,)"'],
    ['JSON', { a: 1n, b: Number.NaN, c: [bytes.subarray(0, 1)] }, '{"a":1,"b":null,"c":["a"]}'],
    ['SimpleAggregateFunction(sum, Int64)', true, '1'],
  ] as const) {
    it(`are ${expected} for ${type}`, () => assert.equal(written(type, value), expected))
  }

  it('are timestamps in the form of the type', () => {
    const expected: Record<string, string> = {
      DateTime: '1769862605',
      "DateTime64(3, 'Europe/Berlin')": '"2026-01-31T12:30:05.250Z"',
      Int64: '1769862605250',
      UInt32: '1769862605',
      'Nullable(String)': '"2026-01-31 12:30:05.250"',
      Date32: '"2026-01-31"',
    }
    for (const [type, text] of Object.entries(expected)) assert.equal(written(type, date, 'timestamp'), text, type)
  })

  it('are quoted or escaped in delimited text', () => {
    assert.equal(delimitedValue('a "b"\n', 'String', 'CSV'), '"a ""b""\n"')
    assert.equal(delimitedValue('a\tb\\', 'String', 'TabSeparated'), 'a\\tb\\\\')
    assert.equal(delimitedValue(null, 'String', 'CSV'), '\\N')
    assert.equal(delimitedValue(date, 'DateTime64(3)', 'TabSeparated'), '2026-01-31T12:30:05.250Z')
    assert.equal(delimitedValue(date, 'Nullable(DateTime)', 'TabSeparated'), '2026-01-31T12:30:05Z')
    assert.equal(delimitedValue(date, 'Int64', 'CSV'), '"1769862605250"')
  })
})

describe('ByteOutput', () => {
  it('keeps texts and bytes in order, however long they are', () => {
    const out = new ByteOutput({ expectedBytes: 4 })
    const parts = ['a', 'ä'.repeat(10), 'x'.repeat(100_000), 'ü'.repeat(50_000), '']
    for (const part of parts) {
      out.text(part)
      out.bytes(Buffer.from(part))
      out.byte(0x2c)
    }
    assert.equal(String(out.take()), parts.map((part) => `${part}${part},`).join(''))
    assert.equal(out.sizeBytes, 0)
  })

  it('goes back, and stops at its limit', () => {
    const out = new ByteOutput({ expectedBytes: 10 })
    out.text('abc')
    const { sizeBytes } = out
    out.limit(100)
    assert.throws(() => out.text('x'.repeat(200)), OutputFull)
    out.backTo(sizeBytes)
    assert.equal(String(out.written()), 'abc')
  })

  it('stops at its limit where there is room for more, and not before it', () => {
    const out = new ByteOutput({ expectedBytes: 1_000 })
    out.limit(10)
    out.text('x'.repeat(10))
    for (const more of [() => out.byte(1), () => out.text('x'), () => out.bytes(Buffer.from('x'))]) {
      assert.throws(more, OutputFull)
    }
    assert.throws(() => out.limit(2) ?? out.text('€'), OutputFull)
  })
})
