// Messages are written by protobufjs, whose encoder shares no code with the decoder.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import protobuf from 'protobufjs'
import {
  encode,
  framed,
  optional,
  proto3,
  registryOf,
  roundTrip,
  types,
  undecodable,
} from '../../../test/harness/protobuf.ts'
import { decodeConfluentProtobuf } from './protobuf-rows.ts'

describe('values of Protobuf', () => {
  const scalars = {
    int32: ['Int32', -5],
    sint32: ['Int32', -5],
    sfixed32: ['Int32', -5],
    uint32: ['UInt32', 4_294_967_295],
    fixed32: ['UInt32', 4_294_967_295],
    int64: ['Int64', -5],
    sint64: ['Int64', -5],
    sfixed64: ['Int64', -5],
    uint64: ['UInt64', 5],
    fixed64: ['UInt64', 5],
    float: ['Float32', 0.5],
    double: ['Float64', 0.1],
    bool: ['Bool', true],
    string: ['String', 'grüße'],
    bytes: ['String', new Uint8Array([0, 255])],
  } as const
  const names = Object.keys(scalars) as (keyof typeof scalars)[]
  const expected = Object.fromEntries(names.map((name) => [`f_${name}`, scalars[name][1]]))

  it('have the types that the schema declares', async () => {
    const schema = proto3(names.map((name, index) => `${name} f_${name} = ${index + 1};`).join(' '))
    const decoded = await roundTrip(schema, expected)
    assert.deepEqual(decoded.rows, [expected])
    assert.deepEqual(types(decoded), Object.fromEntries(names.map((name) => [`f_${name}`, scalars[name][0]])))
    assert.deepEqual(optional(decoded), [])
  })

  it('are lists, packed or not', async () => {
    for (const packed of ['', '[packed = false]']) {
      const schema = proto3(
        names.map((name, index) => `repeated ${name} f_${name} = ${index + 1} ${text(name)};`).join(' '),
      )
      function text(name: string): string {
        return name === 'string' || name === 'bytes' ? '' : packed
      }
      const lists = Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, [value, value]]))
      const decoded = await roundTrip(schema, lists)
      assert.deepEqual(decoded.rows, [lists])
      assert.equal(types(decoded).f_int64, 'Array(Int64)')
      const empty = Object.fromEntries(Object.keys(expected).map((name) => [name, []]))
      assert.deepEqual((await roundTrip(schema, {})).rows, [empty])
    }
  })

  it('are zero when they are absent, and null for fields with presence', async () => {
    const decoded = await roundTrip(
      `syntax = "proto3"; enum Color { RED = 0; BLUE = 1; }
       message Message {
         message Other { int32 x = 1; }
         int32 number = 1; string text = 2; bool flag = 3; Color color = 4;
         optional int32 maybe = 5; Other other = 6;
         oneof choice { string name = 7; int32 code = 8; }
       }`,
      {},
    )
    assert.deepEqual(decoded.rows, [
      { number: 0, text: '', flag: false, color: 'RED', maybe: null, other: null, name: null, code: null },
    ])
    assert.deepEqual(optional(decoded), ['maybe', 'other', 'name', 'code'])
    assert.equal(types(decoded).maybe, 'Nullable(Int32)')
    assert.equal(types(decoded).other, 'Nullable(String)')
    assert.equal(types(decoded).color, 'String')
  })

  it('follow proto2', async () => {
    const schema = `syntax = "proto2"; enum Color { RED = 1; BLUE = 2; }
      message Message {
        required int32 id = 1; optional int32 maybe = 2; optional int32 preset = 3 [default = 7];
        optional Color color = 4 [default = BLUE]; optional string text = 5 [default = "none"];
        repeated int32 list = 6; optional group Part = 7 { optional int32 x = 1; }
      }`
    const decoded = await roundTrip(schema, { id: 1, list: [1, 2], part: { x: 5 } })
    assert.deepEqual(decoded.rows, [
      { id: 1, maybe: null, preset: 7, color: 'BLUE', text: 'none', list: [1, 2], part: { x: 5 } },
    ])
    assert.deepEqual(optional(decoded), ['maybe', 'part'])
    const missing = () => decodeConfluentProtobuf([framed(1, new Uint8Array())], registryOf(schema))
    assert.match(
      await undecodable(missing),
      /^record 1 does not match the message Message of schema 1: at "id" .*required/,
    )
  })

  it('follow editions', async () => {
    const schema = `edition = "2023"; message Message {
      int32 explicit = 1; int32 implicit = 2 [features.field_presence = IMPLICIT];
    }`
    assert.deepEqual((await roundTrip(schema, {})).rows, [{ explicit: null, implicit: 0 }])
  })

  it('can be messages, maps and enums', async () => {
    const decoded = await roundTrip(
      `syntax = "proto3"; enum Color { RED = 0; BLUE = 1; }
       message Message {
         message Item { string sku = 1; repeated Item parts = 2; }
         Item first = 1; repeated Item items = 2;
         map<string, int32> counts = 3; map<int64, Item> byId = 4; map<string, Color> colors = 5;
         Color color = 6; repeated Color palette = 7;
       }`,
      {
        first: { sku: 'a', parts: [{ sku: 'b' }] },
        items: [{ sku: 'c' }],
        counts: { x: 1, y: 0 },
        byId: { 7: { sku: 'd' } },
        colors: { z: 1 },
        color: 1,
        palette: [0, 1, 9],
      },
    )
    assert.deepEqual(decoded.rows, [
      {
        first: { sku: 'a', parts: [{ sku: 'b', parts: [] }] },
        items: [{ sku: 'c', parts: [] }],
        counts: { x: 1, y: 0 },
        byId: { 7: { sku: 'd', parts: [] } },
        colors: { z: 'BLUE' },
        color: 'BLUE',
        palette: ['RED', 'BLUE', '9'],
      },
    ])
    assert.deepEqual(types(decoded), {
      first: 'Nullable(String)',
      items: 'Array(String)',
      counts: 'Map(String, Int32)',
      byId: 'Map(Int64, String)',
      colors: 'Map(String, String)',
      color: 'String',
      palette: 'Array(String)',
    })
  })

  it('are plain values for well-known types', async () => {
    const decoded = await roundTrip(
      `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
       import "google/protobuf/duration.proto"; import "google/protobuf/struct.proto";
       message Message {
         google.protobuf.Timestamp at = 1; google.protobuf.Int64Value count = 2; google.protobuf.StringValue none = 3;
         google.protobuf.Duration took = 4; google.protobuf.Struct free = 5; repeated google.protobuf.Timestamp all = 6;
         map<string, google.protobuf.Int32Value> wrapped = 7;
       }`,
      {
        at: { seconds: 1_700_000_000, nanos: 5 },
        count: { value: 0 },
        took: { seconds: -1, nanos: -500_000_000 },
        free: {
          fields: {
            list: { listValue: { values: [{ numberValue: 1 }, { nullValue: 0 }, { boolValue: false }] } },
            text: { stringValue: '' },
          },
        },
        all: [{}],
        wrapped: { a: { value: 3 } },
      },
    )
    assert.deepEqual(decoded.rows, [
      {
        at: '2023-11-14T22:13:20.000000005Z',
        count: 0,
        none: null,
        took: '-1.5s',
        free: { list: [1, null, false], text: '' },
        all: ['1970-01-01T00:00:00.000000000Z'],
        wrapped: { a: 3 },
      },
    ])
    assert.deepEqual(types(decoded), {
      at: "Nullable(DateTime64(9, 'UTC'))",
      count: 'Nullable(Int64)',
      none: 'Nullable(String)',
      took: 'Nullable(String)',
      free: 'Nullable(String)',
      all: "Array(DateTime64(9, 'UTC'))",
      wrapped: 'Map(String, Int32)',
    })
  })

  it('are zero in a Timestamp that has fractions of seconds', async () => {
    const timestamp = 'syntax = "proto3"; package google.protobuf; message Timestamp { double seconds = 1; }'
    const written = {
      schema: proto3('google.protobuf.Timestamp at = 1;'),
      references: { 'google/protobuf/timestamp.proto': timestamp },
    }
    const read = async (seconds: number) => {
      const body = encode(written, 'Message', { at: { seconds } })
      return (await decodeConfluentProtobuf([framed(1, body)], registryOf(written))).rows[0]!.at
    }
    assert.equal(await read(86_400), '1970-01-02T00:00:00.000000000Z')
    assert.equal(await read(0.5), '1970-01-01T00:00:00.000000000Z')
    assert.equal(await read(Number.NaN), '1970-01-01T00:00:00.000000000Z')
  })

  it('are decoded as they were encoded', async () => {
    const schema = proto3(
      'int64 a = 1; uint64 b = 2; sint64 c = 3; fixed64 d = 4; repeated sfixed64 e = 5; string f = 6; double g = 7;',
    )
    const type = protobuf.parse(schema, { keepCase: true }).root.lookupType('Message')
    const signed = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    const unsigned = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
    const value = fc.record({
      a: signed,
      b: unsigned,
      c: signed,
      d: unsigned,
      e: fc.array(signed),
      f: fc.string({ unit: 'grapheme' }),
      g: fc.double({ noNaN: true }),
    })
    const text = (row: object) =>
      JSON.stringify(row, (_, inner) =>
        typeof inner === 'bigint' || typeof inner === 'number' ? String(inner) : inner,
      )
    await fc.assert(
      fc.asyncProperty(value, async (row) => {
        const body = type.encode(type.fromObject(JSON.parse(text(row)))).finish()
        const { rows } = await decodeConfluentProtobuf([framed(1, body)], registryOf(schema))
        assert.equal(text(rows[0]!), text(row))
        for (const name of ['a', 'b', 'c', 'd'] as const) {
          assert.equal(typeof rows[0]![name] === 'number', Number.isSafeInteger(Number(row[name])))
        }
      }),
      { numRuns: 200 },
    )
  })

  it('are merged, and the last field of a oneof is used', async () => {
    const schema = proto3('Message inner = 1; int32 x = 2; int32 y = 3; oneof c { int32 p = 4; int32 q = 5; }')
    const decode = async (...bytes: number[]) =>
      (await decodeConfluentProtobuf([framed(1, Buffer.from(bytes))], registryOf(schema))).rows[0]!
    const row = await decode(0x0a, 2, 0x10, 1, 0x0a, 2, 0x18, 2, 0x10, 7, 0x10, 8)
    assert.equal(row.x, 8, 'the last one counts')
    assert.deepEqual(row.inner, { inner: null, x: 1, y: 2, p: null, q: null })
    const chosen = await decode(0x20, 1, 0x28, 2)
    assert.deepEqual([chosen.p, chosen.q], [null, 2])
    const unknown = await decode(
      0xf8,
      1,
      5,
      0xfa,
      1,
      1,
      0,
      0xf9,
      1,
      ...Array(8).fill(0),
      0xfb,
      1,
      0x08,
      1,
      0xfc,
      1,
      0x10,
      3,
    )
    assert.equal(unknown.x, 3, 'fields that the schema does not have are skipped')
  })

  it('have types with names that are special in JavaScript', async () => {
    const schema = `syntax = "proto3"; option (a).constructor.prototype.polluted = true;
      option (b) = { constructor: { prototype: { polluted: true } } };
      message Message {
        message constructor { int32 x = 1; } constructor y = 1; toString z = 2; enum toString { valueOf = 0; }
        int32 w = 4 [(c).constructor.prototype.polluted = true];
      }`
    const work = (text: string) => decodeConfluentProtobuf([framed(1, new Uint8Array())], registryOf(text))
    const decoded = await work(schema)
    assert.deepEqual(decoded.rows, [{ y: null, z: 'valueOf', w: 0 }])
    assert.deepEqual(types(decoded), { y: 'Nullable(String)', z: 'String', w: 'Int32' })
    assert.match(await undecodable(() => work(`${schema} constructor { ; }`)), /not a Protobuf schema/)
    for (const more of ['option (__proto__).polluted = true;', 'message __proto__ {}', '__proto__ { ; }']) {
      assert.match(await undecodable(() => work(`${schema} ${more}`)), /__proto__, which cannot be read/)
    }
    for (const prototype of [Object.prototype, Function.prototype]) assert.deepEqual(Object.keys(prototype), [])
  })

  it('have names that are special in JavaScript', async () => {
    const schema = proto3('int32 constructor = 1; map<string, int32> toString = 2;')
    const body = Buffer.from([0x08, 1, 0x12, 13, 0x0a, 9, ...Buffer.from('__proto__'), 0x10, 2])
    const { rows } = await decodeConfluentProtobuf([framed(1, body)], registryOf(schema))
    assert.equal(rows[0]!.constructor, 1)
    assert.deepEqual(Object.entries(rows[0]!.toString), [['__proto__', 2]])
  })
})
