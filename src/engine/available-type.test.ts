import assert from 'node:assert/strict'
import { it } from 'node:test'
import { availableType } from './available-type.ts'

it('a type that the engine does not have is replaced by one that holds its values', () => {
  const families = new Set(['Int64', 'UInt8', 'String', 'Nullable', 'Array', 'DateTime'])
  const types = ['Int64', 'Nullable(String)', 'Array(Nullable(Int64))', "DateTime('UTC')", 'Not a type(']
  for (const type of types) assert.equal(availableType(type, families), type)
  assert.equal(availableType("DateTime64(6, 'UTC')", families), 'String')
  assert.equal(availableType('Nullable(DateTime64(3))', families), 'Nullable(String)')
  assert.equal(availableType('Array(Date32)', families), 'String')
  assert.equal(availableType('Map(String, Int64)', families), 'String')
  assert.equal(availableType('Bool', families), 'UInt8')
  assert.equal(availableType('Nullable(Bool)', families), 'Nullable(UInt8)')
})
