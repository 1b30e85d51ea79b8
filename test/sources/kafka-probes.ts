// Successful probes of a Kafka source: every login, compression, format and start offset.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import avro from 'avsc'
import protobuf from 'protobufjs'
import type { KafkaSource } from '../../src/source-shapes/kafka-source.ts'
import type { ReadableSource } from '../../src/sources/source.ts'
import { type Certificates, makeCertificates } from './certificates.ts'
import { type Probed, probe } from './conformance.ts'
import type { KafkaCompression, KafkaServer } from './kafka-server.ts'
import { jsonRecords, numbers, plaintextContext, sourceOf, strictContext, topicWith } from './kafka-world.ts'
import { closedPort } from './odd-servers.ts'
import { type SchemaRegistryServer, startSchemaRegistry } from './schema-registry-server.ts'

const healthyMs = 1_000
const steps = ['connect', 'tls', 'authenticate', 'describe', 'read', 'decode']

/** Repeats slow probes: a real server may share the machine with other tests. */
async function probeInTime(source: ReadableSource): Promise<Probed> {
  let probed = await probe(source)
  for (let left = 5; left > 0 && probed.durationMs >= healthyMs; left--) probed = await probe(source)
  return probed
}

export function kafkaProbes(running: () => KafkaServer): void {
  describe('a probe that passes', () => {
    for (const authentication of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
      it(`logs in with ${authentication} over TLS, within a second`, async () => {
        const server = running()
        const topic = await topicWith(server, jsonRecords(5))
        const probed = await probeInTime(sourceOf(server, topic, { config: { authentication } }))
        assert.deepEqual(probed.steps, steps)
        assert.deepEqual(namesOf(probed.samples[0]?.rows), [0, 1, 2, 3, 4])
        assert.ok(probed.durationMs < healthyMs, `${probed.durationMs} ms`)
      })

      it(`logs in with ${authentication} without TLS when the operator allows that`, async () => {
        const server = running()
        const topic = await topicWith(server, jsonRecords(3))
        const config = { authentication, brokers: server.listeners.saslPlain }
        const probed = await probe(sourceOf(server, topic, { config, context: plaintextContext }))
        assert.deepEqual(
          probed.steps,
          steps.filter((step) => step !== 'tls'),
        )
        assert.equal(probed.samples[0]?.rows.length, 3)
      })
    }

    it('uses a client certificate instead of a login', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(5))
      const { cert: certificate, key: privateKey } = server.client
      const probed = await probeInTime(
        sourceOf(server, topic, {
          config: { authentication: 'MUTUAL_TLS', brokers: server.listeners.mutualTls },
          secrets: { credentials: { certificate, privateKey } },
        }),
      )
      assert.deepEqual(probed.steps, steps)
      assert.equal(probed.samples[0]?.rows.length, 5)
      assert.ok(probed.durationMs < healthyMs, `${probed.durationMs} ms`)
    })

    it('uses TLS where it is offered, also when plaintext is allowed', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(1))
      assert.deepEqual((await probe(sourceOf(server, topic, { context: plaintextContext }))).steps, steps)
    })

    it('trusts the CAs of the operator when the source has no caCertificate', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(2))
      const context = { ...strictContext, caCertificates: server.ca }
      const { samples } = await probe(sourceOf(server, topic, { caCertificate: null, context }))
      assert.equal(samples[0]?.rows.length, 2)
    })

    it('uses the next broker when the first is unreachable', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(2))
      const brokers = `127.0.0.1:${await closedPort()},${server.listeners.saslTls}`
      const probed = await probe(sourceOf(server, topic, { config: { brokers } }))
      assert.deepEqual(probed.steps, steps)
      assert.equal(probed.samples[0]?.rows.length, 2)
    })

    describeRecords(running)
    describeFormats(running)
  })
}

function describeRecords(running: () => KafkaServer): void {
  for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] satisfies KafkaCompression[]) {
    it(`reads records with the compression ${compression}`, async () => {
      const server = running()
      const topic = await topicWith(server, [])
      await server.produce(topic, jsonRecords(50), compression)
      const { samples } = await probe(sourceOf(server, topic))
      assert.deepEqual(namesOf(samples[0]?.rows), numbers(0, 50))
    })
  }

  it('samples all partitions of all topics, up to maxRecords', async () => {
    const server = running()
    const first = await topicWith(server, jsonRecords(300, 3), 3)
    const second = await topicWith(server, jsonRecords(10, 1, 1_000))
    const { samples } = await probe(sourceOf(server, `${first},${second}`), { maxRecords: 40 })
    const ids = namesOf(samples[0]?.rows)
    assert.equal(ids.length, 40)
    assert.deepEqual(new Set(ids.filter((id) => id < 1_000).map((id) => id % 3)), new Set([0, 1, 2]))
    assert.deepEqual(
      ids.filter((id) => id >= 1_000).toSorted((a, b) => a - b),
      numbers(1_000, 1_010),
    )
  })

  it('returns the fields of the records', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(3))
    const { samples } = await probe(sourceOf(server, topic))
    assert.deepEqual(samples[0]?.fields, [
      { name: 'id', type: 'Int64', isOptional: false },
      { name: 'name', type: 'String', isOptional: false },
    ])
  })

  it('samples the newest records with from_latest', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(200))
    const config = { offset: { strategy: 'from_latest' as const } }
    const { samples } = await probe(sourceOf(server, topic, { config }), { maxRecords: 20 })
    assert.deepEqual(namesOf(samples[0]?.rows), numbers(180, 200))
  })

  it('begins at the timestamp with from_timestamp', async () => {
    const server = running()
    const records = jsonRecords(30).map((record, index) => ({ ...record, timestampMs: minute(index) }))
    const topic = await topicWith(server, [])
    for (const record of records) await server.produce(topic, [record])
    const timestamp = new Date(minute(20)).toISOString().slice(0, 16)
    const config = { offset: { strategy: 'from_timestamp' as const, timestamp } }
    const { samples } = await probe(sourceOf(server, topic, { config }))
    assert.deepEqual(namesOf(samples[0]?.rows), numbers(20, 30))
  })

  it('is empty when no record is newer than the timestamp', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(3))
    const config = { offset: { strategy: 'from_timestamp' as const, timestamp: '2199-01-01T00:00' } }
    assert.deepEqual((await probe(sourceOf(server, topic, { config }))).samples, [{ rows: [], fields: [] }])
  })

  for (const strategy of ['from_beginning', 'from_latest', 'from_timestamp'] as const) {
    it(`is empty for a topic without records, also ${strategy}`, async () => {
      const server = running()
      const topic = await topicWith(server, [], 3)
      const offset = { strategy, ...(strategy === 'from_timestamp' ? { timestamp: '2026-01-31T12:00' } : {}) }
      const probed = await probeInTime(sourceOf(server, topic, { config: { offset } }))
      assert.deepEqual(probed.samples, [{ rows: [], fields: [] }])
      assert.deepEqual(probed.steps, steps)
      assert.ok(probed.durationMs < healthyMs, `${probed.durationMs} ms`)
    })
  }
}

/** Minutes in the recent past: brokers may reject old timestamps. */
function minute(index: number): number {
  return Math.floor(Date.now() / 60_000) * 60_000 + (index - 60) * 60_000
}

function namesOf(rows: Record<string, unknown>[] | undefined): number[] {
  return (rows ?? []).map(({ id, name }) => {
    assert.equal(name, `name ${id}`)
    return Number(id)
  })
}

const schema = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'name', type: 'string' },
  ],
} as const
const proto = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string name = 2; }'
const rows = [
  { id: 1, name: 'name 1' },
  { id: 2, name: 'name 2' },
]

function describeFormats(running: () => KafkaServer): void {
  describe('with a schema registry', () => {
    const credentials = { username: 'registrar', password: 'registrar-secret' }
    let certificates: Certificates
    let registry: SchemaRegistryServer
    before(async () => {
      certificates = await makeCertificates()
      registry = await startSchemaRegistry({ credentials, certificate: certificates.server })
    })
    after(() => registry.stop())

    const sampleOf = async (format: KafkaSource['format'], values: Buffer[]) => {
      const server = running()
      const topic = await topicWith(
        server,
        values.map((value) => ({ partition: 0, value })),
      )
      const schemaRegistry = { url: registry.url, authentication: 'PLAIN' as const, caCertificate: certificates.ca }
      const { samples } = await probe(
        sourceOf(server, topic, {
          config: { format, schemaRegistry },
          secrets: { credentials: { ...server.user }, schemaRegistry: { ...credentials } },
        }),
      )
      return samples[0]
    }

    it('decodes AvroConfluent', async () => {
      const type = avro.Type.forSchema(structuredClone(schema) as never)
      const id = registry.register(JSON.stringify(schema))
      const sample = await sampleOf(
        'AvroConfluent',
        rows.map((row) => Buffer.concat([registered(id), type.toBuffer(row)])),
      )
      assert.deepEqual(namesOf(sample?.rows), [1, 2])
      assert.deepEqual(
        sample?.fields.map(({ name, type }) => `${name} ${type}`),
        ['id Int64', 'name String'],
      )
    })

    it('decodes Protobuf', async () => {
      const type = protobuf.parse(proto).root.lookupType('shop.Order')
      const id = registry.register(proto, 'PROTOBUF')
      const onlyMessage = Buffer.from([0])
      const sample = await sampleOf(
        'Protobuf',
        rows.map((row) => Buffer.concat([registered(id), onlyMessage, type.encode(row).finish()])),
      )
      assert.deepEqual(namesOf(sample?.rows), [1, 2])
    })
  })

  it('decodes Avro records that contain their schema', async () => {
    const server = running()
    const values = await Promise.all(rows.map((row) => avroFile(row)))
    const topic = await topicWith(
      server,
      values.map((value) => ({ partition: 0, value })),
    )
    const { samples } = await probe(sourceOf(server, topic, { config: { format: 'Avro' } }))
    assert.deepEqual(namesOf(samples[0]?.rows), [1, 2])
  })
}

/** The header of a value in the format of Confluent. */
function registered(id: number): Buffer {
  const head = Buffer.alloc(5)
  head.writeInt32BE(id, 1)
  return head
}

async function avroFile(row: object): Promise<Buffer> {
  const encoder = new avro.streams.BlockEncoder(structuredClone(schema) as never)
  encoder.end(row)
  const chunks: Buffer[] = []
  for await (const chunk of encoder) chunks.push(chunk)
  return Buffer.concat(chunks)
}
