import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { inferFields, inferFieldsOfText } from './infer-fields.ts'

/** The type of a field with these values; undefined: a record without the field. */
function typeOf(...values: unknown[]): string {
  const rows = values.map((value) => (value === undefined ? {} : { a: value }))
  return inferFields(rows)[0]!.type
}
const typeOfText = (...values: (string | null)[]): string => inferFieldsOfText(values.map((a) => ({ a })))[0]!.type

describe('the type of a field', () => {
  it('can store all values', () => {
    for (const [values, type] of [
      [[true, false], 'Bool'],
      [[1, -2], 'Int64'],
      [[-(2n ** 63n), 2n ** 63n - 1n], 'Int64'],
      [[1, 2n ** 63n], 'UInt64'],
      [[-1, 2n ** 63n], 'Int128'],
      [[2n ** 64n], 'Int128'],
      [[2n ** 127n], 'UInt128'],
      [[2n ** 128n], 'Int256'],
      [[2n ** 255n], 'UInt256'],
      [[2n ** 256n], 'String'],
      [[1.5, 2], 'Float64'],
      [[1e300], 'Float64'],
      [[2n ** 70n, 0.5], 'Float64'],
      [[Number.NaN, 1], 'Float64'],
      [['text', 'more'], 'String'],
      [['0b8b3c1e-7a0e-4c6e-9b1a-3f1f3f1f3f1f'], 'String'],
      [['123'], 'String'],
      [[{ b: 1 }], 'String'],
      [[Uint8Array.of(1)], 'String'],
      [[1, 'a'], 'String'],
      [[true, 1], 'String'],
      [[[1], 1], 'String'],
    ] as const) {
      assert.equal(typeOf(...values), type, String(values))
    }
  })

  it('is a date or a timestamp when every text is a valid one in the range of the engine', () => {
    for (const [values, type] of [
      [['2024-02-29', '1900-01-01'], 'Date32'],
      [['2023-02-29'], 'String'],
      [['1899-12-31'], 'String'],
      [['9999-12-31'], 'String'],
      [['2024-01-02 03:04:05'], 'DateTime64(3)'],
      [['2024-01-02T03:04:05.123'], 'DateTime64(3)'],
      [['2024-01-02T03:04:05.1234'], 'DateTime64(6)'],
      [['2024-01-02T03:04:05Z', '2024-01-02T03:04:05.123456+02:00'], "DateTime64(6, 'UTC')"],
      [['2024-01-02T03:04:05.123456789Z'], "DateTime64(9, 'UTC')"],
      [['2262-04-12T03:04:05.123456789Z'], 'String'],
      [['2024-01-02T24:00:00'], 'String'],
      [['2024-01-02', '2024-01-02 03:04:05'], 'String'],
      [['2024-01-02', 'never'], 'String'],
      [[new Date('2024-01-02T03:04:05Z')], "DateTime64(3, 'UTC')"],
      [[new Date(Number.NaN)], 'String'],
    ] as const) {
      assert.equal(typeOf(...values), type, String(values))
    }
  })

  it('is a list of the common type of all elements', () => {
    for (const [values, type] of [
      [[[1, 2], [3.5]], 'Array(Float64)'],
      [[[]], 'Array(String)'],
      [[[], [1]], 'Array(Int64)'],
      [[[1, null]], 'Array(Nullable(Int64))'],
      [[[null]], 'Array(Nullable(String))'],
      [[[1, 'a']], 'Array(String)'],
      [[[[1]], [[2.5], []]], 'Array(Array(Float64))'],
      [[[{ b: 1 }]], 'Array(String)'],
      [[[1], null], 'Array(Int64)'],
    ] as const) {
      assert.equal(typeOf(...values), type, JSON.stringify(values))
    }
    const deep = JSON.parse(`${'['.repeat(900)}${']'.repeat(900)}`)
    assert.ok(typeOf(deep).length < 200)
  })

  it('is nullable when a record is without it', () => {
    assert.deepEqual(inferFields([{ a: 1, b: null, c: [1] }, { a: null }, { d: 'x', a: undefined }]), [
      { name: 'a', type: 'Nullable(Int64)', isOptional: true },
      { name: 'b', type: 'Nullable(String)', isOptional: true },
      { name: 'c', type: 'Array(Int64)', isOptional: true },
      { name: 'd', type: 'Nullable(String)', isOptional: true },
    ])
    assert.deepEqual(inferFields([]), [])
  })

  it('is recognized in text', () => {
    for (const [values, type] of [
      [['1', '-2', '+3'], 'Int64'],
      [['1', ''], 'Nullable(Int64)'],
      [['1', null], 'Nullable(Int64)'],
      [['9223372036854775808'], 'UInt64'],
      [['1', '2.50', '1e3', '.5', 'nan', '-inf'], 'Float64'],
      [['01', '2'], 'String'],
      [['true', 'FALSE'], 'Bool'],
      [['2024-01-02', ''], 'Nullable(Date32)'],
      [['2024-01-02 03:04:05.5'], 'DateTime64(3)'],
      [['a', ''], 'String'],
      [['', ''], 'String'],
      [['a', null], 'Nullable(String)'],
      [['1', 'a', ''], 'String'],
      [['9'.repeat(100_000)], 'String'],
      [['1e9999'], 'String'],
      [[' 1'], 'String'],
    ] as const) {
      assert.equal(typeOfText(...values), type, String(values).slice(0, 50))
    }
  })

  it('does not depend on the order of the records', () => {
    const value = fc.oneof(
      fc.integer(),
      fc.double(),
      fc.bigInt(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('2024-01-02', '2024-01-02T03:04:05Z', 'text', ''),
      fc.array(fc.oneof(fc.integer(), fc.constant(null), fc.string())),
    )
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), (values) => {
        assert.equal(typeOf(...values), typeOf(...values.toReversed()))
      }),
    )
  })

  it('of integers can store each of them', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }), { minLength: 1 }), (values) => {
        const [, unsigned, bits] = /^(U?)Int(\d+)$/.exec(typeOf(...values)) ?? assert.fail(typeOf(...values))
        const wrap = unsigned === 'U' ? BigInt.asUintN : BigInt.asIntN
        for (const value of values) assert.equal(wrap(Number(bits), value), value)
        assert.equal(typeOfText(...values.map(String)), typeOf(...values))
      }),
    )
  })

  it('is found in a few milliseconds', () => {
    const rows = Array.from({ length: 100 }, (_, index) =>
      Object.fromEntries(
        Array.from({ length: 200 }, (__, field) => [
          `field${field}`,
          [index, index / 3, 'some text', '2024-01-02T03:04:05Z', [1, 2], null][field % 6],
        ]),
      ),
    )
    // CPU time, because tests may share the processor; the shortest run, without compilation.
    let leastMs = Infinity
    for (let run = 0; run < 20 && leastMs >= 50; run++) {
      const before = process.cpuUsage()
      assert.equal(inferFields(rows).length, 200)
      leastMs = Math.min(leastMs, process.cpuUsage(before).user / 1000)
    }
    assert.ok(leastMs < 50, `${leastMs} ms`)
  })
})
