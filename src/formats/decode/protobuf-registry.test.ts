// Messages are written by protobufjs, whose encoder shares no code with the decoder.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { encode, framed, proto3, registryOf, undecodable, type Written } from '../../../test/harness/protobuf.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { Undecodable } from '../undecodable.ts'
import { decodeConfluentProtobuf } from './protobuf-rows.ts'
import type { RegisteredSchema, SchemaRegistry } from './registered-schema.ts'

describe('Protobuf with a schema registry', () => {
  const shop = `syntax = "proto3"; package shop;
    message Order { message Line { int32 count = 1; map<string, int32> a = 2; message Deep { bool yes = 1; } } int64 id = 1; }
    enum Kind { A = 0; }
    message Refund { string why = 1; }`

  it('finds the message by its index path in the schema', async () => {
    const { rows, fields } = await decodeConfluentProtobuf(
      [
        framed(1, Buffer.from([8, 1])),
        framed(1, Buffer.from([10, 1, 97]), [1]),
        framed(1, Buffer.from([8, 2]), [0, 0]),
        framed(1, Buffer.from([8, 1]), [0, 0, 0]),
      ],
      registryOf(shop),
    )
    assert.deepEqual(rows, [{ id: 1 }, { why: 'a' }, { count: 2, a: {} }, { yes: true }])
    assert.ok(fields!.every(({ isOptional }) => isOptional))
    const first = framed(1, Buffer.from([8, 1]), [0])
    // The first message may also have an explicit index path.
    const inFull = Buffer.concat([first.subarray(0, 5), Buffer.from([2, 0, 8, 1])])
    assert.deepEqual((await decodeConfluentProtobuf([inFull], registryOf(shop))).rows, [{ id: 1 }])
  })

  it('reads imports of a schema, also of its own package', async () => {
    const written: Written = {
      schema: `syntax = "proto3"; package shop; import "money.proto"; import "validate/validate.proto";
        message Order { Money price = 1; google.protobuf.Timestamp at = 2; }`,
      references: {
        'google/protobuf/timestamp.proto':
          'syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }',
        'money.proto': `syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
          message Money { int64 cents = 1; }`,
      },
    }
    const body = encode(written, 'shop.Order', { price: { cents: 5 }, at: {} })
    const { rows } = await decodeConfluentProtobuf([framed(1, body)], registryOf(written))
    assert.deepEqual(rows, [{ price: { cents: 5 }, at: '1970-01-01T00:00:00.000000000Z' }])
  })

  it('reports a record that does not match the schema', async () => {
    const reason = (...bytes: number[]) =>
      undecodable(() => decodeConfluentProtobuf([framed(1, Buffer.from(bytes))], registryOf(shop)))
    assert.match(
      await reason(8),
      /^record 1 does not match the message shop.Order of schema 1: at "id" it ends too early$/,
    )
    assert.match(await reason(0x0a, 0), /another type of value/)
    assert.match(await reason(0x10), /ends too early/)
    assert.match(await reason(0x00, 1), /field number/)
    assert.match(await reason(0x17), /of a type that there is not/)
    assert.match(await reason(0x13, 0x1c), /ends as another/)
    assert.match(await reason(...Array(1_000).fill(0x13)), /nested deeper/)
    const refund = Buffer.from([10, 1, 0xff])
    assert.match(await undecodable(() => decodeConfluentProtobuf([framed(1, refund, [1])], registryOf(shop))), /UTF-8/)
  })

  it('reports a message that the schema does not have', async () => {
    for (const path of [[2], [0, 1], [0, 0, 0, 0], [1, 0], Array(40).fill(0), [-1]]) {
      const record = framed(
        1,
        new Uint8Array(),
        path.map((index) => Math.abs(index * 2) / 2),
      )
      const bytes = path[0] === -1 ? Buffer.concat([record.subarray(0, 5), Buffer.from([2, 1])]) : record
      assert.match(await undecodable(() => decodeConfluentProtobuf([bytes], registryOf(shop))), /names a message/)
    }
  })

  it('rejects invalid schemas', async () => {
    const reason = (schema: string) =>
      undecodable(() => decodeConfluentProtobuf([framed(1, new Uint8Array())], registryOf(schema)))
    assert.match(await reason('{"type":"record"}'), /^schema 1 is not a Protobuf schema/)
    assert.match(await reason(proto3('Missing x = 1;')), /^schema 1 uses a type/)
    assert.match(await reason(proto3('int32 x = 1; int32 y = 1;')), /contradicts itself/)
    assert.match(await reason(`syntax = "proto3"; ${'message M { '.repeat(5_000)}`), /than can be read$/)
    assert.match(await reason(proto3('constructor x = 1;')), /uses a type/)
    assert.match(
      await reason('syntax = "proto3"; import "get"; import "constructor"; message M { .get x = 1; }'),
      /uses a type/,
    )
    const json: RegisteredSchema = { type: 'JSON', schema: '{}', references: [] }
    const registry: SchemaRegistry = { loadSchema: async () => json }
    assert.equal(
      await undecodable(() => decodeConfluentProtobuf([framed(1, new Uint8Array())], registry)),
      'schema 1 is JSON Schema, but the format is Protobuf',
    )
  })

  it('never crashes when a schema or a record is truncated or changed', async () => {
    const text = `${shop} message Last { oneof a { Order b = 1 [deprecated = true]; } reserved 5 to 7; option (x).y = "z"; }`
    for (let end = 0; end < text.length; end += 3) {
      const cut = text.slice(0, end)
      await decodeConfluentProtobuf([framed(1, new Uint8Array())], registryOf(cut)).catch((error: unknown) => {
        assert.ok(error instanceof Undecodable, String((error as Error).stack))
      })
    }
    const message = proto3(
      'Message m = 1; repeated Message l = 2; map<int32, Message> k = 3; string s = 4; repeated int64 n = 5;',
    )
    const body = encode({ schema: message }, 'Message', {
      m: { s: 'abc', n: [1, 2, 3] },
      l: [{ s: 'x' }, { m: {} }],
      k: { 1: { n: [5] } },
    })
    const change = fc.record({ at: fc.nat(body.length - 1), byte: fc.nat(255) })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const changed = Buffer.from(body)
        for (const { at, byte } of changes) changed[at] = byte
        await decodeConfluentProtobuf([framed(1, changed)], registryOf(message)).catch((error: unknown) => {
          assert.ok(error instanceof Undecodable, String((error as Error).stack))
        })
      }),
      { numRuns: 1_000 },
    )
  })

  it('rejects a few bytes that expand to very many values', async () => {
    const fields = Array.from({ length: 1_000 }, (_, index) => `int32 f${index} = ${index + 2};`).join(' ')
    const schema = proto3(`repeated Message m = 1; ${fields}`)
    const bomb = framed(1, Buffer.from(Array.from({ length: 100_000 }, () => [10, 0]).flat()))
    assert.match(await undecodable(() => decodeConfluentProtobuf([bomb], registryOf(schema))), /more values/)
    const { rows } = await decodeConfluentProtobuf([framed(1, new Uint8Array()), bomb], registryOf(schema))
    assert.equal(rows.length, 1)
  })

  it('needs a registry', async () => {
    await assert.rejects(decodeConfluentProtobuf([], undefined), (error) => {
      assert.ok(error instanceof ProbeFailure)
      assert.equal(error.reason, 'the format Protobuf needs a schema registry')
      return true
    })
  })
})
