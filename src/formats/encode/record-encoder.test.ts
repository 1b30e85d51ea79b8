import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import avro from 'avsc'
import fc from 'fast-check'
import protobuf from 'protobufjs'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { type SchemaRegistryServer, startSchemaRegistry } from '../../../test/sources/schema-registry-server.ts'
import type { StoredPipe } from '../../pipes/pipe.ts'
import { classifyFailure, type Failure } from '../../runner/classify-failure.ts'
import type { Row } from '../../source-shapes/probe.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { makeSchemaRegistry } from '../../sources/schema-registry/schema-registry.ts'
import type { EncoderParts } from './encoder.ts'
import { encodeKept } from './kept-rows.ts'
import { makeRecordEncoder } from './record-encoder.ts'
import type { SourceRecord } from './record-list.ts'
import type { Rows } from './rows.ts'

const { signal } = new AbortController()

interface Pipe {
  kind?: 'kafka' | 'kinesis'
  format?: string
  /** `name type` */
  columns: string[]
  /** Destination field to source field. */
  mappings?: Record<string, string>
  registryUrl?: string
}

function partsOf({ kind = 'kafka', format = 'JSONEachRow', columns, mappings = {}, registryUrl }: Pipe): EncoderParts {
  return {
    kind,
    source: { format, ...(registryUrl && { schemaRegistry: { url: registryUrl } }) },
    destination: {
      columns: columns.map((column) => {
        const [name = '', ...type] = column.split(' ')
        return { name, type: type.join(' ') }
      }),
    },
    fieldMappings: Object.entries(mappings).map(([destinationField, sourceField]) => ({
      destinationField,
      sourceField,
    })),
    openRegistry: (signal) =>
      registryUrl === undefined
        ? undefined
        : makeSchemaRegistry(
            { url: registryUrl },
            { egress: loopbackEgress, signal, caCertificates: undefined, allowPlaintext: true },
          ),
  }
}

const metaOf = (offset: number): Row => ({
  _topic: 'orders',
  _partition: 3,
  _offset: offset,
  _timestamp: new Date(Date.UTC(2026, 0, 31, 12, 0, 0, 7)),
  _key: Buffer.from([0x6b, 0xff, 0x22]),
  _headers: { trace: ['a'], retry: ['1', '2'] },
})

function recordsOf(values: (string | Uint8Array)[]): SourceRecord[] {
  return values.map((value, index) => ({ value: Buffer.from(value), meta: metaOf(index) }))
}

async function encode(pipe: Pipe, values: (string | Uint8Array)[]): Promise<Rows> {
  const encoder = makeRecordEncoder(partsOf(pipe))
  try {
    return await encoder.encode('orders 3', recordsOf(values), signal)
  } finally {
    await encoder.close()
  }
}

function bodyOf(rows: Rows): Buffer {
  const body = rows.body()
  assert.ok(Symbol.iterator in body)
  return Buffer.concat(Array.from(body, (chunk) => Buffer.from(chunk)))
}

const textOf = (rows: Rows): string => bodyOf(rows).toString('utf8')
const objectsOf = (rows: Rows): unknown[] =>
  textOf(rows)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

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
