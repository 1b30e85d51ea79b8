import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mergeFields, nullable } from './declared-fields.ts'

const field = (type: string, isOptional = false, name = 'a') => ({ name, type, isOptional })

describe('fields of several schemas', () => {
  it('have a type that can store all values', () => {
    for (const [one, other, common] of [
      ['Int32', 'Int32', 'Int32'],
      ['Int32', 'Int64', 'Int64'],
      ['UInt32', 'Int32', 'Int64'],
      ['UInt32', 'UInt64', 'UInt64'],
      ['Int64', 'UInt64', 'Int128'],
      ['Int64', 'Float32', 'Float64'],
      ['Float32', 'Float64', 'Float64'],
      ['Bool', 'Int32', 'String'],
      ["DateTime64(3, 'UTC')", 'String', 'String'],
      ['Array(Int32)', 'Array(Nullable(Int64))', 'Array(Nullable(Int64))'],
      ['Array(Int32)', 'Int32', 'String'],
      ['Map(String, Int32)', 'Map(String, Int64)', 'String'],
    ] as const) {
      assert.deepEqual(mergeFields([[field(one)], [field(other)]]), [field(common)])
      assert.deepEqual(mergeFields([[field(other)], [field(one)]]), [field(common)])
    }
  })

  it('are optional where one of the schemas does not have them, or has them as optional', () => {
    const fields = [[field('Int32'), field('Array(Int32)', false, 'list')], [field('Nullable(Int64)', true)]]
    assert.deepEqual(mergeFields(fields), [field('Nullable(Int64)', true), field('Array(Int32)', true, 'list')])
    assert.deepEqual(mergeFields([[field('Int32')], []]), [field('Nullable(Int32)', true)])
  })

  it('are nullable if the engine supports that', () => {
    assert.deepEqual(['Int32', 'Nullable(Int32)', 'Array(Int32)', 'Map(String, Int32)'].map(nullable), [
      'Nullable(Int32)',
      'Nullable(Int32)',
      'Array(Int32)',
      'Map(String, Int32)',
    ])
  })
})
