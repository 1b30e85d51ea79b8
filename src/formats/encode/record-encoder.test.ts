import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import {
  bodyOf,
  encode,
  metaOf,
  objectsOf,
  type Pipe,
  partsOf,
  recordsOf,
  signal,
  textOf,
} from '../../../test/harness/record-encoder.ts'
import { encodeKept } from './kept-rows.ts'
import { makeRecordEncoder } from './record-encoder.ts'
import type { Rows } from './rows.ts'

describe('JSON records', () => {
  it('go through as they are', async () => {
    const values = ['{"a": 12345678901234567890.123, "b":"\\u00e4"}', ' {"a":1}\r\n', '{"a":1}{"a":2}', '{"a":3},']
    const rows = await encode({ columns: ['a Int64', 'b String'] }, values)
    assert.equal(
      textOf(rows),
      '{"a": 12345678901234567890.123, "b":"\\u00e4"}\n{"a":1}\r\n\n{"a":1}{"a":2}\n{"a":3},\n',
    )
    assert.deepEqual(rows.shape, {
      format: 'JSONEachRow',
      fields: [
        { name: 'a', type: 'Int64' },
        { name: 'b', type: 'String' },
      ],
      columns: [
        { column: 'a', field: 'a' },
        { column: 'b', field: 'b' },
      ],
    })
    assert.equal(rows.count, 4)
    assert.equal(
      rows.readBytes,
      values.reduce((size, value) => size + Buffer.byteLength(value), 0),
    )
  })

  it('are asked for their metadata only where a column needs it', async () => {
    const asked: number[] = []
    const record = { value: Buffer.from('{"a":{"b":1}}') }
    const asking = {
      ...record,
      get meta() {
        asked.push(1)
        return metaOf(0)
      },
    }
    for (const mappings of [{}, { b: 'a.b' }]) {
      const encoder = makeRecordEncoder(partsOf({ columns: ['b Int64'], mappings }))
      textOf(await encoder.encode('orders 3', [asking], signal))
    }
    assert.equal(asked.length, 0)
    const encoder = makeRecordEncoder(partsOf({ columns: ['_offset Int64'] }))
    assert.equal(textOf(await encoder.encode('orders 3', [asking], signal)), '{"_offset":0,"a":{"b":1}}\n')
  })

  it('that are lists are taken apart, and empty ones are counted but not sent', async () => {
    const rows = await encode({ columns: ['a Int64'] }, ['[{"a":1}, {"a":2}]', '', ' \n', '[]', '\ufeff{"a":3}'])
    assert.equal(textOf(rows), '{"a":1}\n{"a":2}\n{"a":3}\n')
    assert.equal(rows.count, 5)
    assert.deepEqual(rows.undecodable, [])
  })

  it('that are not JSON are not in the body, and have a reason', async () => {
    const rows = await encode({ columns: ['a Int64'] }, ['{"a":1}', 'hello', '{"a":', '[{"a":1}', '[1]', '{"a":2}'])
    assert.equal(textOf(rows), '{"a":1}\n{"a":2}\n')
    assert.deepEqual(rows.undecodable, [
      { index: 1, reason: 'it is not a JSON object: it begins with "hello"' },
      { index: 2, reason: 'it is a JSON object without its end: it begins with "{\\"a\\":"' },
      { index: 3, reason: 'it is not a list of JSON objects: it begins with "[{\\"a\\":1}"' },
      { index: 4, reason: 'it is not a list of JSON objects: it begins with "[1]"' },
    ])
  })

  it('have the fields of their mappings', async () => {
    const rows = await encode({ columns: ['a Int64', 'b Int64'], mappings: { b: 'a' } }, ['{"a":1}'])
    assert.deepEqual(rows.shape.fields, [{ name: 'a', type: 'Int64' }])
    assert.deepEqual(rows.shape.columns, [
      { column: 'a', field: 'a' },
      { column: 'b', field: 'a' },
    ])
  })

  it('get virtual fields before their own members', async () => {
    const columns = [
      'a Int64',
      '_offset UInt64',
      'key String',
      'at DateTime64(6)',
      'atSeconds DateTime',
      'atMs Int64',
      'atText String',
      '_headers Map(String, String)',
    ]
    const mappings = {
      key: '_key',
      at: '_timestamp',
      atSeconds: '_timestamp',
      atMs: '_timestamp',
      atText: '_timestamp',
    }
    const rows = await encode({ columns, mappings }, ['{"a":1}', '{}', '{"a":{"b":2}} {"a":[{},{}]}'])
    const key = '"_key":"k\ufffd\\""'
    const times = '"_timestamp":"2026-01-31T12:00:00.007Z","_timestamp_2":1769860800,"_timestamp_3":1769860800007'
    const text = '"_timestamp_4":"2026-01-31 12:00:00.007"'
    const virtual = (offset: number): string =>
      `{"_offset":${offset},${key},${times},${text},"_headers":{"trace":"a","retry":"2"}`
    assert.equal(
      textOf(rows),
      `${virtual(0)},"a":1}\n${virtual(1)}}\n${virtual(2)},"a":{"b":2}}\n${virtual(2)},"a":[{},{}]}\n`,
    )
    assert.ok(bodyOf(rows).includes(Buffer.from([0x6b, 0xff, 0x5c, 0x22])), 'bytes of the key stay as they are')
    assert.deepEqual(
      rows.shape.fields.slice(1).map(({ name, type }) => `${name} ${type}`),
      [
        '_offset UInt64',
        '_key String',
        '_timestamp DateTime64(6)',
        '_timestamp_2 DateTime',
        '_timestamp_3 Int64',
        '_timestamp_4 String',
        '_headers Map(String, String)',
      ],
    )
    assert.deepEqual(rows.shape.columns.at(-2), { column: 'atText', field: '_timestamp_4' })
  })

  it('lose a field of their own that has the name of a virtual field', async () => {
    const rows = await encode({ columns: ['a Int64', '_key String'] }, ['{"_key":"mine","a":{"_key":1}}', '{"_key":1}'])
    assert.equal(rows.count, 2)
    const keys = textOf(rows).replaceAll('k\ufffd\\"', 'key')
    assert.equal(keys, '{"_key":"key","a":{"_key":1}}\n{"_key":"key"}\n')
  })

  it('omit virtual fields without a value, and send null where a column is Nullable', async () => {
    const encoder = makeRecordEncoder(partsOf({ columns: ['_key String', '_timestamp Nullable(DateTime)'] }))
    const records = [{ value: Buffer.from('{"a":1}'), meta: { _key: null, _timestamp: null } }]
    assert.equal(textOf(await encoder.encode('p', records, signal)), '{"_timestamp":null,"a":1}\n')
  })

  it('are searched for dotted paths without losing a digit', async () => {
    const pipe = {
      columns: ['id Decimal(38, 10)', 'city String', 'whole String', 'd.e Int64', '_offset Int64'],
      mappings: { id: 'order.id', city: 'order.to.city', whole: 'order.to' },
    }
    const rows = await encode(pipe, [
      '{"order":{"id":12345678901234567890.0123456789,"to":{"city":"K\\u00f6ln"}},"d":{"e":1},"x":2}',
      '{"order.id":1,"order":{"id":2,"to.city":"b"},"d.e":5}',
      '[{"order":null},{"order":{"to":null}}]',
      '{"order":{"id" 2}}',
    ])
    assert.equal(
      textOf(rows),
      [
        '{"id":12345678901234567890.0123456789,"city":"K\\u00f6ln","whole":"{\\"city\\":\\"K\\\\u00f6ln\\"}","d.e":1,"_offset":0}',
        '{"id":1,"city":"b","d.e":5,"_offset":1}',
        '{"_offset":2}',
        '{"_offset":2}',
        '',
      ].join('\n'),
    )
    assert.deepEqual(rows.shape.columns[1], { column: 'city', field: 'city' })
    assert.deepEqual(rows.undecodable, [
      { index: 3, reason: 'it is not valid JSON: it begins with "{\\"order\\":{\\"id\\" 2}}"' },
    ])
  })

  it('give one field to columns of different types as copies', async () => {
    const rows = await encode({ columns: ['a Int64', 'text String'], mappings: { text: 'a' } }, ['{"a":7}'])
    assert.equal(textOf(rows), '{"a":7,"text":"7"}\n')
    assert.deepEqual(rows.shape.columns, [
      { column: 'a', field: 'a' },
      { column: 'text', field: 'text' },
    ])
  })

  it('of Kinesis are decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(33 * 1024 * 1024, 0x20))
    const values = [gzipSync('{"a":1}'), zstdCompressSync('{"a":2}'), Buffer.from('1f8b0011', 'hex'), bomb]
    const rows = await encode({ kind: 'kinesis', columns: ['a Int64'] }, [...values, '\xf3'])
    assert.equal(textOf(rows), '{"a":1}\n{"a":2}\n')
    assert.deepEqual(
      rows.undecodable.slice(0, 2).map(({ reason }) => reason),
      ['it begins as gzip does, but cannot be decompressed', 'it is larger than 32 MiB when it is decompressed'],
    )
  })
})

describe('rows of records', () => {
  const bad = fc.constant('nonsense')
  const good = fc.nat(99).map((number) => `{"a":${number}}`)
  const values = fc.array(fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: bad }), { maxLength: 20 })
  const refused = fc.array(fc.nat(20)).map((list) => new Set(list))

  it('are divided and joined as lists are', async () => {
    const encoder = makeRecordEncoder(partsOf({ columns: ['a Int64', '_offset Int64'] }))
    const check = async (lists: string[][], begin: number, end: number, without: Set<number>): Promise<void> => {
      const parts = await Promise.all(lists.map((list) => encoder.encode('p', recordsOf(list), signal)))
      const rows = encoder.join(parts)
      const model = lists.flatMap((list) => list.map((value, offset) => ({ value, offset })))
      const [from, to] = [Math.min(begin, model.length), Math.min(Math.max(begin, end), model.length)]
      assertModel(rows, model)
      assertModel(rows.only(from, to), model.slice(from, to))
      assertModel(
        rows.without(without),
        model.filter((_, index) => !without.has(index)),
      )
      assertModel(
        rows.only(from, to).without(without),
        model.slice(from, to).filter((_, index) => !without.has(index)),
      )
    }
    const lists = fc.array(values, { minLength: 1, maxLength: 4 })
    await fc.assert(fc.asyncProperty(lists, fc.nat(40), fc.nat(40), refused, check), { numRuns: 100 })
  })

  function assertModel(rows: Rows, model: { value: string; offset: number }[]): void {
    const sent = model.filter(({ value }) => value.startsWith('{'))
    assert.equal(rows.count, model.length)
    assert.deepEqual(
      objectsOf(rows),
      sent.map(({ value, offset }) => ({ _offset: offset, ...JSON.parse(value) })),
    )
    assert.equal(textOf(rows), textOf(rows), 'the same bytes each time')
    const unsent = model.flatMap(({ value }, index) => (value.startsWith('{') ? [] : [index]))
    assert.deepEqual(
      rows.undecodable.map(({ index }) => index),
      unsent,
    )
    for (const [index, { value, offset }] of model.entries()) {
      const kept = rows.keep(index)
      assert.equal(String(kept.raw), value)
      assert.equal(kept.position, `offset ${offset}`)
    }
  }

  it('are assigned to their parts once, however many parts there are', async () => {
    const encoder = makeRecordEncoder(partsOf({ columns: ['a Int64'] }))
    const parts: Rows[] = []
    for (let index = 0; index < 50; index++) {
      const values = index % 10 === 0 ? [] : [`{"a":${index}}`, `{"a":-${index}}`]
      parts.push(await encoder.encode(`orders ${index}`, recordsOf(values), signal))
    }
    let looks = 0
    class CountedSet extends Set<number> {
      override [Symbol.iterator](): SetIterator<number> {
        looks++
        return super[Symbol.iterator]()
      }
    }
    const rows = encoder.join(parts)
    const refused = new CountedSet(Array.from({ length: rows.count }, (_, index) => index).filter((index) => index % 2))
    const kept = objectsOf(rows.without(refused)).map((row) => (row as { a: number }).a)
    assert.deepEqual(
      kept,
      Array.from({ length: 50 }, (_, index) => index).filter((index) => index % 10 !== 0),
    )
    assert.equal(looks, 1)
  })

  it('are the same again when they were kept', async () => {
    const pipe: Pipe = { columns: ['a Int64', '_key String', '_timestamp DateTime64(3)', '_headers String'] }
    const rows = await encode(pipe, ['{"a":1}', '{"a":2}', '{"a":"x"}'])
    const kept = [0, 1, 2].map((index) => rows.keep(index))
    const again = await encodeKept(partsOf(pipe), kept)
    assert.ok(bodyOf(again).equals(bodyOf(rows)))
    assert.deepEqual(again.shape, rows.shape)
    assert.deepEqual(again.keep(1), kept[1])
  })
})
