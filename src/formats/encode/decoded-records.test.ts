import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import avro from 'avsc'
import protobuf from 'protobufjs'
import { bodyOf, encode, partsOf, recordsOf, signal, textOf } from '../../../test/harness/record-encoder.ts'
import { type SchemaRegistryServer, startSchemaRegistry } from '../../../test/sources/schema-registry-server.ts'
import type { StoredPipe } from '../../pipes/pipe.ts'
import { classifyFailure, type Failure } from '../../runner/classify-failure.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { makeRecordEncoder } from './record-encoder.ts'

describe('Avro and Protobuf records', () => {
  const orderSchema = {
    type: 'record',
    name: 'Order',
    fields: [
      { name: 'id', type: 'long' },
      { name: 'note', type: ['null', 'string'] },
      { name: 'day', type: { type: 'int', logicalType: 'date' } },
      { name: 'at', type: { type: 'long', logicalType: 'timestamp-micros' } },
      { name: 'ratio', type: 'double' },
      { name: 'raw', type: 'bytes' },
      { name: 'to', type: { type: 'record', name: 'Address', fields: [{ name: 'city', type: 'string' }] } },
      { name: 'tags', type: { type: 'map', values: { type: 'array', items: 'int' } } },
    ],
  } as avro.Schema
  const orderType = avro.Type.forSchema(orderSchema)
  const order = {
    id: 5,
    note: 'say "hi"\n',
    day: 20_484,
    at: 1_769_860_800_000_001,
    ratio: Number.NaN,
    raw: Buffer.from([0x61, 0xff, 0x22, 0x0a]),
    to: { city: 'Köln' },
    tags: { a: [1, 2] },
  }
  const columns = [
    'id Int64',
    'note String',
    'day Date',
    "at DateTime64(6, 'UTC')",
    'ratio Float64',
    'raw String',
    'to String',
    'tags Map(String, Array(Int32))',
    'city String',
    '_offset Int64',
  ]
  const mappings = { city: 'to.city' }
  const framed = (id: number, body: Uint8Array): Buffer => Buffer.concat([Buffer.from([0, 0, 0, 0, id]), body])

  async function withRegistry(work: (registry: SchemaRegistryServer) => Promise<void>): Promise<void> {
    const registry = await startSchemaRegistry()
    try {
      await work(registry)
    } finally {
      await registry.stop()
    }
  }

  it('are sent as JSON that the columns take', async () => {
    await withRegistry(async (registry) => {
      const id = registry.register(JSON.stringify(orderSchema))
      const values = [order, { ...order, note: null, ratio: -Infinity }].map((value) =>
        framed(id, orderType.toBuffer(value)),
      )
      const pipe = { format: 'AvroConfluent', registryUrl: registry.url, columns, mappings }
      const rows = await encode(pipe, values)
      const [first, second] = bodyOf(rows).toString('latin1').split('\n')
      const rest =
        '"raw":"a\xff\\"\\u000a","to":"{\\"city\\":\\"K\xc3\xb6ln\\"}","tags":{"a":[1,2]},"city":"K\xc3\xb6ln"'.replace(
          'u000a',
          'n',
        )
      assert.equal(
        first,
        `{"id":5,"note":"say \\"hi\\"\\n","day":"2026-01-31","at":"2026-01-31T12:00:00.000001Z","ratio":"nan",${rest},"_offset":0}`,
      )
      assert.match(second!, /^\{"id":5,"day":"2026-01-31",.*"ratio":"-inf"/)
      assert.deepEqual(registry.requests, [`/schemas/ids/${id}`], 'a schema is loaded once')
    })
  })

  it('that cannot be decoded are listed, each with its reason, and the others are sent', async () => {
    await withRegistry(async (registry) => {
      const id = registry.register(JSON.stringify(orderSchema))
      const json = registry.register('{}', 'JSON')
      const bytes = orderType.toBuffer(order)
      const rows = await encode({ format: 'AvroConfluent', registryUrl: registry.url, columns: ['id Int64'] }, [
        'text',
        framed(id, bytes),
        framed(id, bytes.subarray(0, 10)),
        framed(id, Buffer.concat([bytes, Buffer.alloc(3)])),
        framed(json, bytes),
        framed(99, bytes),
        framed(id, bytes),
      ])
      assert.equal(textOf(rows), '{"id":5}\n{"id":5}\n')
      assert.deepEqual(
        rows.undecodable.map(({ index, reason }) => `${index} ${reason}`),
        [
          '0 it begins with "text", not with the zero byte and the schema id of AvroConfluent',
          '2 it does not match schema 1: at "note" it ends too early',
          '3 it does not match schema 1: it goes on for 3 bytes after its end',
          '4 schema 2 is JSON Schema, but the format is AvroConfluent',
          '5 it names schema 99, which the schema registry does not have',
        ],
      )
      assert.equal(rows.without(new Set([0, 2, 3, 4, 5])).undecodable.length, 0)
      assert.equal(textOf(rows.only(1, 3)), '{"id":5}\n')
    })
  })

  it('ask for a missing schema once in a while, and reject when very many are missing', async () => {
    await withRegistry(async (registry) => {
      const encoder = makeRecordEncoder(
        partsOf({ format: 'AvroConfluent', registryUrl: registry.url, columns: ['id Int64'] }),
      )
      const encodeIds = (ids: number[]) =>
        encoder.encode('orders 3', recordsOf(ids.map((id) => framed(id, Buffer.from([1])))), signal)
      try {
        for (let time = 0; time < 3; time++) assert.equal((await encodeIds([7, 8, 7])).undecodable.length, 3)
        assert.equal(registry.requests.length, 2)
        const many = Array.from({ length: 200 }, (_, index) => index + 1)
        const giveUp = (error: unknown) =>
          error instanceof ProbeFailure && error.reason.includes('more than 100 schemas')
        for (let time = 0; time < 3; time++) await assert.rejects(encodeIds(many), giveUp)
        assert.equal(registry.requests.length, 101)
      } finally {
        await encoder.close()
      }
    })
  })

  it('of which a few bytes stand for millions of values are rejected', async () => {
    await withRegistry(async (registry) => {
      const nulls = { type: 'record', name: 'R', fields: [{ name: 'n', type: { type: 'array', items: 'null' } }] }
      const id = registry.register(JSON.stringify(nulls))
      const count = Buffer.from('80e8eda1ba02', 'hex')
      const rows = await encode({ format: 'AvroConfluent', registryUrl: registry.url, columns: ['n String'] }, [
        framed(id, Buffer.concat([count, Buffer.from([0])])),
      ])
      assert.deepEqual(rows.undecodable, [{ index: 0, reason: 'it holds more values than a record may have' }])
    })
  })

  it('reject with NotConnected while the registry cannot be reached, and with a ProbeFailure when the user must act', async () => {
    const registry = await startSchemaRegistry({ credentials: { username: 'u', password: 'p' } })
    const pipe = { format: 'AvroConfluent', registryUrl: registry.url, columns: ['id Int64'] }
    const values = [framed(1, orderType.toBuffer(order))]
    await assert.rejects(encode(pipe, values), (error) => {
      return error instanceof ProbeFailure && error.code === 'credentials_refused'
    })
    const troubleOf = async (): Promise<Failure | undefined> => {
      const error: unknown = await encode(
        { ...pipe, registryUrl: `${registry.url}/path/?tenant=canary` },
        values,
      ).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof NotConnected)
      return classifyFailure(error, {
        kind: 'kafka',
        source: { brokers: 'kafka.example.com:9092' },
      } as unknown as StoredPipe)
    }
    registry.answerWith(500)
    const shown = `the schema registry at ${registry.url}/path`
    const reason = `${shown} answers with status 500; look at the log of the registry`
    assert.deepEqual(await troubleOf(), { kind: 'passing', reason })
    await registry.stop()
    const unreached = `the schema registry cannot be reached, or broke the connection off: nothing accepts connections at ${shown}`
    assert.deepEqual(await troubleOf(), { kind: 'passing', reason: unreached })
    await assert.rejects(encode({ format: 'AvroConfluent', columns: ['id Int64'] }, values), ProbeFailure)
  })

  it('of container files hold any number of rows', async () => {
    const file = await containerOf([order, { ...order, id: 6 }])
    const rows = await encode({ format: 'Avro', columns: ['id Int64', '_offset Int64'] }, [file, 'no file', file])
    assert.equal(textOf(rows), [0, 0, 2, 2].map((at, index) => `{"id":${5 + (index % 2)},"_offset":${at}}\n`).join(''))
    assert.deepEqual(rows.undecodable, [
      { index: 1, reason: 'the record is not an Avro object container file: it begins with "no file"' },
    ])
  })

  function containerOf(values: object[]): Promise<Buffer> {
    const encoder = new avro.streams.BlockEncoder(orderType)
    const chunks: Buffer[] = []
    const done = new Promise<Buffer>((resolve) => encoder.on('end', () => resolve(Buffer.concat(chunks))))
    encoder.on('data', (chunk: Buffer) => chunks.push(chunk))
    for (const value of values) encoder.write(value)
    encoder.end()
    return done
  }

  it('of Protobuf are sent as JSON too', async () => {
    await withRegistry(async (registry) => {
      const schema =
        'syntax = "proto3"; message Order { uint64 id = 1; repeated string tags = 2; Address to = 3; } message Address { string city = 1; }'
      const id = registry.register(schema, 'PROTOBUF')
      const type = protobuf.parse(schema).root.lookupType('Order')
      const body = type.encode({ id: 7, tags: ['x', 'ü'], to: { city: 'Ulm' } }).finish()
      const pipe = {
        format: 'Protobuf',
        registryUrl: registry.url,
        columns: ['id UInt64', 'tags Array(String)', 'city String'],
        mappings,
      }
      const rows = await encode(pipe, [framed(id, Buffer.concat([Buffer.from([0]), body]))])
      assert.equal(textOf(rows), '{"id":7,"tags":["x","ü"],"city":"Ulm"}\n')
    })
  })
})
