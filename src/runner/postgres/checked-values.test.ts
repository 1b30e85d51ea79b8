import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import { checkedValues } from './checked-values.ts'
import { columnValues } from './values.ts'

const abilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }
const ids = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, float4: 700, float8: 701, date: 1082 }
const moreIds = { timestamp: 1114, timestamptz: 1184, numeric: 1700, uuid: 2950 }
const typeIds: Record<string, number> = { ...ids, ...moreIds }
const numeric = (digits: number, scale: number): number => 4 + (digits << 16) + scale

/** The field that a column of one type writes for the text of another type; undefined: rejected. */
function written(to: string, from: string, text: string, modifier = -1): string | undefined {
  const type = { name: to, isBuiltIn: true, modifier }
  const values = columnValues(
    { name: 'c', type, isNotNull: false, isKey: false },
    { allowNullableColumns: true, abilities },
  )
  const { write } = checkedValues({ values, typeId: typeIds[to]! }, { typeId: typeIds[from]! })
  const [out, bytes] = [new ByteOutput(), Buffer.from(text)]
  try {
    write(bytes, 0, bytes.length, out)
  } catch (error) {
    assert.ok(error instanceof Undecodable)
    return undefined
  }
  return out.written().toString()
}

describe('values of an earlier type of a column', () => {
  it('are written when the column can hold them', () => {
    assert.equal(written('int4', 'int8', '-2147483648'), '-2147483648')
    assert.equal(written('int8', 'int4', '7'), '7')
    assert.equal(written('int4', 'text', '70000'), '70000')
    assert.equal(written('numeric', 'numeric', '99999999.2500', numeric(10, 2)), '99999999.25' + '00')
    assert.equal(written('numeric', 'int4', '12', numeric(10, 2)), '12')
    assert.equal(written('numeric', 'numeric', 'NaN', numeric(10, 2)), '\\N')
    assert.equal(written('float8', 'float4', '0.1'), '0.1')
    assert.equal(written('float4', 'int4', '16777216'), '16777216')
    assert.equal(written('text', 'int4', '12'), '12')
    assert.equal(written('date', 'text', '2020-02-03'), '2020-02-03')
    assert.equal(written('timestamp', 'text', '2020-02-03 04:05:06.789'), '2020-02-03 04:05:06.789')
    assert.equal(written('bool', 'text', 't'), '1')
  })

  it('are written as booleans only where they are some, also in an engine that has none', () => {
    const type = { name: 'bool', isBuiltIn: true, modifier: -1 }
    const old = { ...abilities, hasBool: false }
    const values = columnValues(
      { name: 'c', type, isNotNull: true, isKey: false },
      { allowNullableColumns: true, abilities: old },
    )
    const { write } = checkedValues({ values, typeId: ids.bool }, { typeId: ids.int4 })
    assert.throws(() => write(Buffer.from('5'), 0, 1, new ByteOutput()), Undecodable)
  })

  it('are rejected when the engine would cut, round or misread them', () => {
    assert.equal(written('int4', 'int8', '5000000000'), undefined)
    assert.equal(written('int4', 'int8', '-2147483649'), undefined)
    assert.equal(written('int2', 'int4', '70000'), undefined)
    assert.equal(written('int4', 'numeric', '1.5'), undefined)
    assert.equal(written('int4', 'text', ''), undefined)
    assert.equal(written('int8', 'text', '9'.repeat(1_000)), undefined)
    assert.equal(written('numeric', 'numeric', '1.2345', numeric(10, 2)), undefined)
    assert.equal(written('numeric', 'numeric', '123456789.1', numeric(10, 2)), undefined)
    assert.equal(written('numeric', 'text', '1e5', numeric(10, 2)), undefined)
    assert.equal(written('float4', 'float8', '0.1'), undefined)
    assert.equal(written('float4', 'int4', '16777217'), undefined)
    assert.equal(written('float8', 'int8', '9007199254740993'), undefined)
    assert.equal(written('bool', 'int4', '5'), undefined)
    assert.equal(written('date', 'int4', '20200203'), undefined)
    assert.equal(written('timestamptz', 'timestamp', '2020-02-03 04:05:06'), undefined)
    assert.equal(written('text', 'bytea', '\\x00ff'), undefined)
    assert.equal(written('bytea', 'text', 'ff'), undefined)
    assert.equal(written('uuid', 'text', 'none'), undefined)
  })
})
