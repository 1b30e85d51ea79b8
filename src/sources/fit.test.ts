import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inferFields } from '../formats/decode/infer-fields.ts'
import { newBudget } from '../formats/decode/sample-budget.ts'
import { makeValueCheck } from '../formats/decode/value-fit.ts'
import type { Row } from '../source-shapes/probe.ts'
import { fitProblems, virtualColumns } from './fit.ts'

const sampleOf = (...rows: Row[]) => ({ rows, fields: inferFields(rows) })
const column = (name: string, type = 'String') => ({ name, type })
const mapping = (sourceField: string, destinationField: string) => ({ sourceField, destinationField })

describe('the fit of a sample', () => {
  it('has no problems when mappings and names fill the columns, and other columns have their defaults', () => {
    const sample = sampleOf({ id: 1, amount: '12.50', extra: {} }, { id: 2, amount: 3 })
    const columns = [column('id', 'UInt64'), column('amount_eur', 'Decimal(10, 2)'), column('loaded_at', 'DateTime')]
    assert.deepEqual(fitProblems(sample, columns, [mapping('amount', 'amount_eur')]), [])
  })

  it('reports a mapped field that no record has', () => {
    assert.deepEqual(
      fitProblems(sampleOf({ id: 1 }), [column('id'), column('amount_eur')], [mapping('amount', 'amount_eur')]),
      ['no record has the field "amount" that fieldMappings maps to the column "amount_eur"'],
    )
  })

  it('reports when no column is filled', () => {
    const sample = sampleOf({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 })
    assert.deepEqual(fitProblems(sample, [column('x'), column('y')], []), [
      'no column has the name of a field of the records, which have "a", "b", "c", "d", "e" and 2 more',
    ])
    assert.deepEqual(fitProblems(sample, [], []), [])
  })

  it('resolves dotted paths, and prefers a field with dots in its name', () => {
    const columns = [column('x', 'Int32')]
    assert.deepEqual(fitProblems(sampleOf({ a: { b: { c: 1 } } }), columns, [mapping('a.b.c', 'x')]), [])
    assert.deepEqual(fitProblems(sampleOf({ a: { 'b.c': 1 } }), columns, [mapping('a.b.c', 'x')]), [])
    assert.equal(fitProblems(sampleOf({ a: { b: 'text' }, 'a.b': 1 }), columns, [mapping('a.b', 'x')]).length, 0)
    assert.equal(fitProblems(sampleOf({ a: { b: 1 } }), columns, [mapping('a.c', 'x')]).length, 1)
    assert.equal(fitProblems(sampleOf({ a: 'text' }), columns, [mapping('a.length', 'x')]).length, 1)
    assert.equal(fitProblems(sampleOf({ a: {} }), columns, [mapping('a.constructor', 'x')]).length, 1)
    assert.deepEqual(fitProblems(sampleOf({ a: null }), columns, [mapping('a.b', 'x')]), [])
  })

  it('is not checked without records and declared fields', () => {
    assert.deepEqual(fitProblems({ rows: [], fields: [] }, [column('x')], [mapping('a', 'x')]), [])
    const declared = { rows: [], fields: [{ name: 'b', type: 'Int64', isOptional: false }] }
    assert.equal(fitProblems(declared, [column('x')], [mapping('a', 'x')]).length, 1)
  })

  it('accepts metadata of the transport', () => {
    const columns = virtualColumns.map((name) => column(`from${name}`))
    const mappings = virtualColumns.map((name) => mapping(name, `from${name}`))
    assert.deepEqual(fitProblems(sampleOf({ a: 1 }), columns, mappings), [])
    assert.equal(fitProblems(sampleOf({ a: 1 }), [column('x')], [mapping('_unknown', 'x')]).length, 1)
  })

  it('of files that the engine decodes is checked against what it can read', () => {
    const sample = {
      rows: [{ n: 5, to: { city: 'Ulm' } }],
      fields: [
        { name: 'n', type: 'Int64', isOptional: false },
        { name: 'to', type: 'Tuple(city String)', isOptional: false },
      ],
    }
    const columns = [column('_path'), column('a', 'Int64'), column('b', 'Int32'), column('city')]
    const mappings = [mapping('n', 'a'), mapping('n', 'b'), mapping('to.city', 'city')]
    assert.deepEqual(fitProblems(sample, columns, mappings), [])
    assert.deepEqual(fitProblems(sample, columns, mappings, 'Parquet'), [
      'the column "_path" takes from "_path", which cannot be put into Parquet',
      'the column "b" takes from "n", as one of another type does, and Parquet can give a field only one type',
    ])
    assert.equal(fitProblems(sample, columns, mappings, 'Avro').length, 3)
    assert.deepEqual(fitProblems(sample, [column('to')], []), [])
    assert.deepEqual(fitProblems(sample, [column('to')], [], 'Avro'), [
      'the column "to" of type "String" takes from the field "to", which the engine reads from Avro files only as Tuple(city String)',
    ])
  })

  it('reports row, value, field, column and type, once per column', () => {
    const sample = sampleOf({ age: 1 }, { age: 'a text that is too long to be shown' }, { age: 'x' })
    assert.deepEqual(fitProblems(sample, [column('years', 'Nullable(UInt8)')], [mapping('age', 'years')]), [
      'row 2 has "a text that is too l…" in the field "age", which is not a number, as it should be for the column "years" of type "Nullable(UInt8)"',
    ])
  })

  it('reports at most 20 problems', () => {
    const names = Array.from({ length: 50 }, (_, index) => `field${index}`)
    const sample = sampleOf(Object.fromEntries(names.map((name) => [name, 'text'])))
    assert.equal(
      fitProblems(
        sample,
        names.map((name) => column(name, 'Int8')),
        [],
      ).length,
      20,
    )
    assert.equal(
      fitProblems(
        sample,
        [column('x')],
        names.map((name) => mapping(`no-${name}`, 'x')),
      ).length,
      20,
    )
  })
})

describe('a value', () => {
  it('is valid for a type that can store it', () => {
    for (const [type, ...values] of [
      ['String', 1, 'a', true, {}, [1], 2n ** 300n],
      ['UInt8', 0, 255, '255', ' 7 ', true, '', '+5', '1e2'],
      ['Int64', -(2n ** 63n), '9223372036854775807'],
      ['Int256', 2n ** 255n - 1n],
      ['Float32', 1.5, '1.5e3', 'nan', '-Inf', 1n, true],
      ['Decimal(4, 2)', 99.99, '-12.345', 0.001, '0012.5'],
      ['Decimal64(2)', 1e10],
      ['Bool', true, 0, '1', 'FALSE', 'yes'],
      ['Date', '2024-01-02', '20240102', 19_000],
      [
        'DateTime',
        '2024-01-02T03:04:05Z',
        '2024-01-02 03:04:05',
        '1700000000',
        1_700_000_000,
        new Date(),
        '02/01/2024 3:04',
      ],
      ["DateTime64(3, 'UTC')", 'Tue, 02 Jan 2024 03:04:05 GMT', '1700000000.123', '1 February 2024'],
      ['UUID', '0B8b3c1e-7a0e-4c6e-9b1a-3f1f3f1f3f1f'],
      ['FixedString(3)', 'abc', 'ä'],
      ['IPv4', '10.0.0.1'],
      ['IPv6', '::1', '10.0.0.1'],
      ['Array(Int8)', [1, null, '3'], '[1,2]', ''],
      ['Map(String, Int8)', {}, '{}'],
      ['LowCardinality(Nullable(Int8))', null, 1],
      ['Nested(a Int8)', 1, 'x'],
      ['JSON', 1],
      ['Dynamic', 'x'],
      ['Variant(Int8, String)', []],
      ['AggregateFunction(sum, Int8)', 'x'],
      ["Enum8('a' = 1)", 'a'],
      ['int', 'x'],
      ['not a type', 'x'],
      ['Int8', undefined, null, Uint8Array.of(1)],
    ] as [string, ...unknown[]][]) {
      for (const value of values)
        assert.equal(makeValueCheck(type, newBudget())(value), undefined, `${String(value)} in ${type}`)
    }
  })

  it('is invalid for a type that cannot store it', () => {
    for (const [type, why, ...values] of [
      ['Int32', /not a number/, 'abc', '1,5', [1], {}, '0x10', '--1'],
      ['Int32', /not a whole number/, 1.5, '1.5', Number.NaN],
      ['UInt64', /negative/, -1, '-1', -1n],
      ['UInt8', /too large/, 256, '1000', '9'.repeat(1000)],
      ['Int64', /too large/, 2n ** 63n, 1e30],
      ['Float64', /not a number/, 'abc', [], {}],
      ['Decimal(4, 2)', /too many digits/, 100, '-100.5', '12345'],
      ['Decimal(4, 2)', /not a number/, 'abc', true, {}],
      ['Bool', /neither true nor false/, 'maybe', 2, []],
      ['Date', /not a date/, 'abc', 'soon 12', '2024-13-01', '2024-02-30', true, {}, 'x'.repeat(100_000)],
      ["DateTime64(3, 'UTC')", /not a date/, 'yesterday', 'at 12:30'],
      ['UUID', /not a UUID/, 'abc', 1, '0b8b3c1e-7a0e-4c6e-9b1a-3f1f3f1f3f1'],
      ['FixedString(3)', /too long/, 'abcd', 'ää'],
      ['IPv4', /not an address/, '::1', 'host'],
      ['IPv6', /not an address/, 'host'],
      ['Array(Int8)', /not a list/, 1, 'a', {}, true],
      ['Array(Int8)', /not a number/, [1, 'x']],
      ['Array(Array(UInt8))', /negative/, [[1], [-1]]],
      ['Array(Array(UInt8))', /not a list/, [1]],
      ['Map(String, Int8)', /neither a list nor an object/, 1, true],
      ['LowCardinality(Nullable(Int8))', /too large/, 128],
    ] as [string, RegExp, ...unknown[]][]) {
      for (const value of values) {
        const problem = makeValueCheck(type, newBudget())(value)
        assert.match(problem?.why ?? 'fits', why, `${String(value).slice(0, 30)} in ${type}`)
        assert.ok(problem!.found.length < 30, problem!.found)
      }
    }
  })

  it('is checked by its start when it is long, in little time', () => {
    const startedAtMs = performance.now()
    const digits = '1'.repeat(200_000)
    for (const [type, ...values] of [
      ['Float64', digits, `${digits}.${digits}`],
      ['Array(Int8)', ' '.repeat(200_000)],
    ] as [string, ...string[]][]) {
      for (const value of values) assert.equal(makeValueCheck(type, newBudget())(value), undefined)
    }
    for (const [type, why, value] of [
      ['Int64', /too large/, `${digits}x`],
      ['Decimal(10, 2)', /too many digits/, `${digits}x`],
      ['Bool', /neither true nor false/, `${' '.repeat(200_000)}x`],
      ['UUID', /not a UUID/, digits],
    ] as [string, RegExp, string][]) {
      assert.match(makeValueCheck(type, newBudget())(value)?.why ?? 'fits', why)
    }
    assert.ok(performance.now() - startedAtMs < 3000)
  })

  it('in a list is checked until the budget of all lists is spent', () => {
    const list = Array.from({ length: 300_000 }, () => 1)
    const sample = sampleOf({ list: [...list, 'x'], number: 'x' })
    const columns = ['a', 'b', 'c', 'd'].map((name) => ({ name, type: name === 'd' ? 'Int8' : 'Array(Int8)' }))
    const mappings = columns.map(({ name }) => mapping(name === 'd' ? 'number' : 'list', name))
    const problems = fitProblems(sample, columns, mappings)
    assert.deepEqual(
      problems.map((problem) => /the column "(.)"/.exec(problem)?.[1]),
      ['a', 'd'],
    )
  })

  it('is not checked in a too deeply nested list type', () => {
    const type = `${'Array('.repeat(600)}Int8${')'.repeat(600)}`
    let value: unknown = 'x'
    for (let depth = 0; depth < 600; depth++) value = [value]
    assert.equal(makeValueCheck(type, newBudget())(value), undefined)
  })
})
