// Rows are written by avsc, which shares no code with the decoder.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import avro, { type Schema } from 'avsc'
import fc from 'fast-check'
import { dayMs, framed, record, registryOf, typeFor, undecodable } from '../../../test/harness/avro.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { decodeConfluentAvro } from './avro-rows.ts'
import type { RegisteredSchema } from './registered-schema.ts'

describe('values of Avro', () => {
  const decodeOne = async (type: unknown, body: Uint8Array) => {
    const { rows, fields } = await decodeConfluentAvro([framed(1, body)], registryOf(record({ value: type })))
    return { value: rows[0]!.value, ...fields![0]! }
  }
  /** avsc writes large longs only without logical type. */
  const told = async (type: unknown, value: unknown, writtenAs = type) => {
    const body = typeFor(record({ value: writtenAs })).toBuffer({ value })
    const { value: read, type: engineType, isOptional } = await decodeOne(type, body)
    return [read, engineType, isOptional]
  }

  it('have the types that the schema declares', async () => {
    assert.deepEqual(await told('boolean', true), [true, 'Bool', false])
    assert.deepEqual(await told('int', -7), [-7, 'Int32', false])
    assert.deepEqual(await told('long', 2n ** 63n - 1n), [2n ** 63n - 1n, 'Int64', false])
    assert.deepEqual(await told('float', 0.5), [0.5, 'Float32', false])
    assert.deepEqual(await told('double', 0.1), [0.1, 'Float64', false])
    assert.deepEqual(await told('string', 'grüße'), ['grüße', 'String', false])
    assert.deepEqual(await told('bytes', Buffer.from([1, 255])), [new Uint8Array([1, 255]), 'String', false])
    assert.deepEqual(await told({ type: 'fixed', name: 'F', size: 2 }, Buffer.from('ab')), [
      new Uint8Array([97, 98]),
      'String',
      false,
    ])
    assert.deepEqual(await told({ type: 'enum', name: 'E', symbols: ['A', 'B'] }, 'B'), ['B', 'String', false])
    assert.deepEqual(await told({ type: 'array', items: 'int' }, [1, 2]), [[1, 2], 'Array(Int32)', false])
    assert.deepEqual(await told({ type: 'map', values: 'long' }, { a: 1 }), [{ a: 1 }, 'Map(String, Int64)', false])
    assert.deepEqual(await told(record({ x: 'int' }, 'Inner'), { x: 1 }), [{ x: 1 }, 'String', false])
  })

  it('are optional where the schema allows null', async () => {
    assert.deepEqual(await told(['null', 'int'], null), [null, 'Nullable(Int32)', true])
    assert.deepEqual(await told(['int', 'null'], 3), [3, 'Nullable(Int32)', true])
    assert.deepEqual(await told('null', null), [null, 'Nullable(String)', true])
    assert.deepEqual(await told(['null', { type: 'array', items: ['null', 'int'] }], null), [
      null,
      'Array(Nullable(Int32))',
      true,
    ])
    assert.deepEqual(await told(['string', 'int'], 5), [5, 'String', false])
    assert.deepEqual(await told(['null', 'string', 'int'], 'a'), ['a', 'Nullable(String)', true])
  })

  const logical = (type: unknown, logicalType: string, more = {}) => ({
    ...(typeof type === 'string' ? { type } : (type as object)),
    logicalType,
    ...more,
  })

  it('are dates and times with all their digits', async () => {
    assert.deepEqual(await told(logical('int', 'date'), 20_000), [new Date(20_000 * dayMs), 'Date32', false])
    assert.deepEqual(await told(logical('long', 'timestamp-millis'), -1), [
      '1969-12-31T23:59:59.999Z',
      "DateTime64(3, 'UTC')",
      false,
    ])
    assert.deepEqual(await told(logical('long', 'timestamp-micros'), 1_700_000_000_123_456n, 'long'), [
      '2023-11-14T22:13:20.123456Z',
      "DateTime64(6, 'UTC')",
      false,
    ])
    assert.deepEqual(await told(logical('long', 'timestamp-nanos'), 1_700_000_000_123_456_789n, 'long'), [
      '2023-11-14T22:13:20.123456789Z',
      "DateTime64(9, 'UTC')",
      false,
    ])
    assert.deepEqual(await told(logical('long', 'local-timestamp-micros'), 1), [
      '1970-01-01T00:00:00.000001',
      'DateTime64(6)',
      false,
    ])
    assert.deepEqual(await told(logical('int', 'time-millis'), 86_399_999), ['23:59:59.999', 'String', false])
    assert.deepEqual(await told(logical('long', 'time-micros'), 1), ['00:00:00.000001', 'String', false])
  })

  it('stay numbers outside of the range of dates', async () => {
    assert.deepEqual((await told(logical('int', 'date'), 2 ** 31 - 1))[0], 2 ** 31 - 1)
    assert.deepEqual((await told(logical('long', 'timestamp-millis'), 2n ** 62n, 'long'))[0], 2n ** 62n)
    assert.deepEqual((await told(logical('int', 'time-millis'), -1))[0], -1)
  })

  it('are decimals and uuids as text', async () => {
    const decimal = logical('bytes', 'decimal', { precision: 10, scale: 2 })
    assert.deepEqual(await told(decimal, Buffer.from([0xff])), ['-0.01', 'Decimal(10, 2)', false])
    assert.deepEqual(await told(decimal, Buffer.from([0x01, 0x00])), ['2.56', 'Decimal(10, 2)', false])
    assert.deepEqual((await told(decimal, Buffer.from([])))[0], '0.00')
    const fixed = logical({ type: 'fixed', name: 'D', size: 16 }, 'decimal', { precision: 38 })
    const smallest = Buffer.concat([Buffer.from([0x80]), Buffer.alloc(15)])
    assert.deepEqual(await told(fixed, smallest), [String(-(2n ** 127n)), 'Decimal(38, 0)', false])
    const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e'
    assert.deepEqual(await told(logical('string', 'uuid'), uuid), [uuid, 'UUID', false])
    const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex')
    assert.deepEqual(await told(logical({ type: 'fixed', name: 'U', size: 16 }, 'uuid'), bytes), [uuid, 'UUID', false])
  })

  it('have their base type when the logical type is invalid for it', async () => {
    assert.deepEqual(await told(logical('string', 'date'), 'x'), ['x', 'String', false])
    assert.deepEqual((await told(logical('bytes', 'decimal'), Buffer.from([1])))[1], 'String')
    assert.deepEqual((await told(logical('bytes', 'decimal', { precision: 77 }), Buffer.from([1])))[1], 'String')
    assert.deepEqual((await told(logical('int', 'timestamp-millis'), 1))[1], 'Int32')
    assert.deepEqual((await told(logical('long', 'made-up'), 1))[1], 'Int64')
  })

  it('are rejected when they are invalid', async () => {
    const refused = (type: unknown, ...bytes: number[]) =>
      undecodable(() => decodeOne(type, Buffer.from(bytes)) as never)
    assert.match(await refused('boolean', 2), /^record 1 does not match schema 1: at "value" .*neither true nor false/)
    assert.match(await refused('int', 0xff, 0xff, 0xff, 0xff, 0x7f), /more than 32 bits/)
    assert.match(await refused('long', ...Array(10).fill(0xff), 1), /more than 64 bits/)
    assert.match(await refused('string', 20, 97), /ends too early/)
    assert.match(await refused('string', 1), /below zero/)
    assert.match(await refused('string', 2, 0xff), /not UTF-8/)
    assert.match(await refused({ type: 'enum', name: 'E', symbols: ['A'] }, 2), /symbol/)
    assert.match(await refused(['null', 'int'], 4), /names a type/)
    assert.match(await refused('int', 2, 2), /goes on for 1 bytes/)
    assert.match(
      await refused({ type: 'bytes', logicalType: 'decimal', precision: 9 }, 200, 1, ...Array(100)),
      /decimal/,
    )
  })

  it('are decoded as they were encoded', async () => {
    const value = fc.record({
      long: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      text: fc.string({ unit: 'grapheme' }),
      number: fc.double({ noNaN: true }),
      list: fc.array(fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }))),
      map: fc.dictionary(fc.string(), fc.boolean()),
      inner: fc.option(fc.record({ bytes: fc.uint8Array() })),
    })
    const schema = record({
      long: 'long',
      text: 'string',
      number: 'double',
      list: { type: 'array', items: ['null', 'int'] },
      map: { type: 'map', values: 'boolean' },
      inner: ['null', record({ bytes: 'bytes' }, 'Inner')],
    })
    const type = typeFor(schema)
    const registry = registryOf(schema)
    await fc.assert(
      fc.asyncProperty(value, async (row) => {
        const inner = row.inner && { bytes: Buffer.from(row.inner.bytes) }
        const { rows } = await decodeConfluentAvro([framed(1, type.toBuffer({ ...row, inner }))], registry)
        const { long, map, ...rest } = rows[0]!
        assert.equal(BigInt(long as bigint), row.long)
        assert.equal(typeof long === 'number', Number.isSafeInteger(Number(row.long)))
        // Ignores prototypes: a key may be __proto__.
        assert.deepEqual(Object.entries(map as object), Object.entries(row.map))
        const { long: _, map: __, ...expected } = row
        assert.deepEqual(
          { ...rest, inner: rest.inner && { ...(rest.inner as object) } },
          { ...expected, inner: expected.inner && { ...expected.inner } },
        )
      }),
      { numRuns: 200 },
    )
  })
})

describe('Avro with a schema registry', () => {
  const order = record({ id: 'long' }, 'Order')
  const orderType = typeFor(order)

  it('reads records of several versions, and declares types for all', async () => {
    const newer = record({ id: 'double', note: 'string' }, 'Order')
    const { rows, fields } = await decodeConfluentAvro(
      [framed(1, orderType.toBuffer({ id: 1 })), framed(2, typeFor(newer).toBuffer({ id: 2.5, note: 'n' }))],
      registryOf(order, newer),
    )
    assert.deepEqual(rows, [{ id: 1 }, { id: 2.5, note: 'n' }])
    assert.deepEqual(fields, [
      { name: 'id', type: 'Float64', isOptional: false },
      { name: 'note', type: 'Nullable(String)', isOptional: true },
    ])
  })

  it('reads types of referenced schemas', async () => {
    const item = { ...(record({ sku: 'string' }, 'Item') as object), namespace: 'shop' } as Schema
    const basket = { ...(record({ items: { type: 'array', items: 'Item' } }, 'Basket') as object), namespace: 'shop' }
    const reference = { name: 'shop.Item', subject: 'item', version: 1, schema: JSON.stringify(item) }
    const schema: RegisteredSchema = { type: 'AVRO', schema: JSON.stringify(basket), references: [reference] }
    const known = avro.Type.forSchema(item)
    const type = avro.Type.forSchema(basket as Schema, { registry: { 'shop.Item': known } })
    const body = type.toBuffer({ items: [{ sku: 'a' }] })
    const { rows } = await decodeConfluentAvro([framed(1, body)], registryOf(schema))
    assert.deepEqual(rows, [{ items: [{ sku: 'a' }] }])
  })

  it('reads a recursive record, with limited depth', async () => {
    const list = record({ next: ['null', 'Row'] })
    const registry = registryOf(list)
    const body = (depth: number) => Buffer.from([...Array(depth).fill(2), 0])
    const { rows } = await decodeConfluentAvro([framed(1, body(2))], registry)
    assert.deepEqual(rows, [{ next: { next: { next: null } } }])
    const deep = () => decodeConfluentAvro([framed(1, body(100_000))], registry)
    assert.match(await undecodable(deep), /nested deeper/)
    const endless = registryOf(record({ self: 'Row' }))
    assert.match(await undecodable(() => decodeConfluentAvro([framed(1, new Uint8Array())], endless)), /nested deeper/)
  })

  it('creates fields with names that are special in JavaScript', async () => {
    const schema = record({ constructor: 'int', toString: 'string' })
    ;(schema as { fields: object[] }).fields.push({ name: '__proto__', type: 'int' })
    const { rows, fields } = await decodeConfluentAvro([framed(1, Buffer.from([2, 0, 4]))], registryOf(schema))
    assert.deepEqual(Object.entries(rows[0]!), [
      ['constructor', 1],
      ['toString', ''],
      ['__proto__', 2],
    ])
    assert.deepEqual(
      fields!.map(({ name }) => name),
      ['constructor', 'toString', '__proto__'],
    )
  })

  it('rejects false counts, and keeps the rows before them', async () => {
    const schema = record({ nothing: { type: 'array', items: 'null' } })
    // 2^40 nulls, which take no bytes.
    const bomb = framed(1, Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0]))
    assert.match(await undecodable(() => decodeConfluentAvro([bomb], registryOf(schema))), /more values/)
    const { rows } = await decodeConfluentAvro([framed(1, Buffer.from([0])), bomb], registryOf(schema))
    assert.deepEqual(rows, [{ nothing: [] }])
  })

  it('rejects a short schema that expands to very many values', async () => {
    let type: unknown = 'null'
    for (let level = 0; level < 20; level++) {
      const inner = level === 0 ? type : `L${level - 1}`
      const fields = Array.from({ length: 10 }, (_, index) => ({ name: `f${index}`, type: index === 0 ? type : inner }))
      type = { type: 'record', name: `L${level}`, fields }
    }
    const work = () => decodeConfluentAvro([framed(1, new Uint8Array())], registryOf(type as Schema))
    assert.match(await undecodable(work), /more values/)
  })

  it('reports the start of a record without schema id', async () => {
    const work = (bytes: Uint8Array) => undecodable(() => decodeConfluentAvro([bytes], registryOf(order)))
    assert.match(await work(Buffer.from('{"id":1}')), /^record 1 begins with "\{\\"id\\":1\}", not with the zero byte/)
    assert.match(await work(Buffer.from([1, 2])), /begins with the bytes 0102/)
    assert.match(await work(new Uint8Array()), /is empty/)
  })

  it('rejects schemas of another type, and invalid ones', async () => {
    const work = (schema: string, type: RegisteredSchema['type'] = 'AVRO') =>
      undecodable(() =>
        decodeConfluentAvro([framed(1, Buffer.from([0]))], registryOf({ type, schema, references: [] })),
      )
    assert.equal(await work('{}', 'JSON'), 'schema 1 is JSON Schema, but the format is AvroConfluent')
    assert.match(await work('{'), /^schema 1 is not JSON/)
    assert.match(await work('"string"'), /^schema 1 is not a record/)
    assert.match(await work('{"type":"record"}'), /without a name/)
    assert.match(await work('{"type":"record","name":"A"}'), /"A" without fields/)
    assert.match(await work('{"type":"record","name":"A","fields":[{"type":"int"}]}'), /field without a name/)
    const fields = (...types: string[]) =>
      `{"type":"record","name":"A","fields":[${types.map((type, index) => `{"name":"f${index}","type":${type}}`)}]}`
    assert.match(await work(fields('"B"')), /uses the type "B"/)
    assert.match(await work(fields('7')), /neither a name nor an object/)
    assert.match(await work(fields('{"type":"fixed","name":"F","size":-1}')), /size/)
    assert.match(await work(fields('{"type":"enum","name":"E"}')), /list of names/)
    assert.match(await work(fields('{"type":"enum","name":"A","symbols":[]}')), /defines "A" twice/)
    assert.match(await work(fields('"int"', '"int"').replace('f1', 'f0')), /the field "f0" twice/)
    const deep = `${'{"type":"array","items":'.repeat(10_000)}"int"${'}'.repeat(10_000)}`
    assert.match(await work(fields(deep)), /nested deeper/)
  })

  it('needs a registry', async () => {
    await assert.rejects(decodeConfluentAvro([], undefined), (error) => {
      assert.ok(error instanceof ProbeFailure)
      assert.deepEqual([error.step, error.code], ['decode', 'not_set_up'])
      assert.equal(error.reason, 'the format AvroConfluent needs a schema registry')
      return true
    })
  })
})
