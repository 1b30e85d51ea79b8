import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { avroFileProblem, wholeFileProblems } from './whole-file-fit.ts'

describe('columns that are filled from whole files', () => {
  const column = (name: string, type: string, field = name) => ({ name, type, field })

  it('are filled from fields of the file, each with one type', () => {
    const good = [column('a', 'Int64'), column('b', 'String', 'x'), column('c', 'String', 'x')]
    assert.deepEqual(wholeFileProblems(good, 'Parquet'), [])
    assert.deepEqual(wholeFileProblems(good, 'Avro'), [])
    assert.deepEqual(
      wholeFileProblems([...good, column('p', 'String', '_path'), column('d', 'Int8', 'x')], 'Parquet'),
      [
        'the column "p" takes from "_path", which cannot be put into Parquet',
        'the column "d" takes from "x", as one of another type does, and Parquet can give a field only one type',
      ],
    )
  })

  it('are filled from nested fields of Parquet, but not of Avro', () => {
    const columns = [column('city', 'String', 'to.city')]
    assert.deepEqual(wholeFileProblems(columns, 'Parquet'), [])
    assert.deepEqual(wholeFileProblems(columns, 'Avro'), [
      'the column "city" takes from "to.city", and paths into records cannot be read from Avro',
    ])
  })

  // Behavior of ClickHouse 26.9.
  for (const [declared, taken, refused] of [
    ['Tuple(id Int64)', ['Tuple(id Int64)', 'JSON'], ['String', 'Int64']],
    ['Array(Int32)', ['Array(Int64)'], ['String', 'Tuple(Int32)']],
    ['Int32', ['Int32', 'Nullable(UInt8)', 'Float64', 'DateTime'], ['String', 'LowCardinality(Nullable(String))']],
    ['Nullable(Bool)', ['Bool', 'UInt8'], ['FixedString(5)']],
    ['Date32', ['Date', 'DateTime', 'Int32'], ['String']],
    [
      "DateTime64(3, 'UTC')",
      ['DateTime64(3)', "Nullable(DateTime64(3, 'UTC'))", 'Int64'],
      ['DateTime', 'DateTime64(6)'],
    ],
    [
      'Decimal(9, 2)',
      ['Decimal(9,2)', 'Nullable(Decimal(9, 2))', 'Decimal32(2)'],
      ['Decimal(12, 4)', 'Float64', 'String'],
    ],
    ['String', ['String', 'FixedString(2)', "Enum8('a' = 1)", 'UUID'], []],
    ['UUID', ['UUID', 'String'], []],
    ['Variant(Int64, String)', ['Variant(Int64, String)'], ['String', 'Int64']],
    ['Nullable(Nothing)', [], ['String', 'JSON', 'Variant(Int64, String)']],
    ['Map(String, Nothing)', [], ['Map(String, String)']],
    ['Tuple(Nothing Int64)', ['Tuple(Nothing Int64)'], []],
  ] as const) {
    it(`are read from an Avro file that declares ${declared} if the engine can convert it`, () => {
      for (const type of taken) assert.equal(avroFileProblem(declared, type), undefined, type)
      for (const type of refused) assert.match(avroFileProblem(declared, type) ?? '', /^the engine /, type)
    })
  }
})
