// Independent clients write to the fake Kafka broker and read from it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { CompressionTypes, Partitioners, type SASLOptions } from 'kafkajs'
import { startKafkaBroker } from './kafka-broker/broker.ts'
import { asRecords, connected, type FetchOptions, fetchFrom, partitionOf, textsOf } from './kafka-broker/calls.ts'
import {
  kafkajs,
  newTopic,
  onceOnly,
  readByKafkajs,
  readByLibrary,
  someTexts,
  writeByKafkajs,
  writeByLibrary,
} from './kafka-broker/clients.ts'
import { PartitionLog } from './kafka-broker/partition-log.ts'
import { buildBatch } from './kafka-broker/record-batch.ts'
import type { KafkaCompression, KafkaListeners, KafkaServer } from './kafka-server.ts'

let broker: KafkaServer

before(async () => {
  broker = await startKafkaBroker()
})
after(() => broker.stop())

const makeTopic = (partitions = 1) => newTopic(broker, partitions)

describe('clients of the fake Kafka broker', () => {
  const ways: [keyof KafkaListeners, SASLOptions['mechanism'] | 'no login'][] = [
    ['plain', 'no login'],
    ['tls', 'no login'],
    ['saslPlain', 'plain'],
    ['saslPlain', 'scram-sha-256'],
    ['saslPlain', 'scram-sha-512'],
    ['saslTls', 'plain'],
    ['saslTls', 'scram-sha-256'],
    ['saslTls', 'scram-sha-512'],
  ]
  for (const [listener, mechanism] of ways) {
    it(`read what they wrote, through the listener ${listener} with ${mechanism}`, async () => {
      const sasl = mechanism === 'no login' ? {} : { sasl: { mechanism, ...broker.user } as SASLOptions }
      const kafka = kafkajs(broker, listener, sasl)
      const topic = await makeTopic()
      const texts = someTexts(50)
      await writeByKafkajs(kafka, topic, texts)
      await writeByKafkajs(kafka, topic, texts, CompressionTypes.GZIP)
      assert.deepEqual(await readByKafkajs(kafka, topic, 100), [...texts, ...texts])
    })
  }

  it('connect only with a certificate of the CA', async () => {
    const topic = await makeTopic()
    const { ca, client, strangeClient } = broker
    const withKey = (pair: object) =>
      kafkajs(broker, 'mutualTls', { ssl: { ca: [ca], servername: 'localhost', ...pair } })
    await writeByKafkajs(withKey(client), topic, ['mutual'])
    assert.deepEqual(await readByKafkajs(withKey(client), topic, 1), ['mutual'])
    await assert.rejects(writeByKafkajs(withKey(strangeClient), topic, ['strange']))
    await assert.rejects(writeByKafkajs(withKey({}), topic, ['none']))
  })

  it('see invalid certificates', async () => {
    for (const [listener, code] of [
      ['expired', 'CERT_HAS_EXPIRED'],
      ['otherHost', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ] as const) {
      const ssl = { ca: [broker.ca], servername: 'localhost' }
      const admin = kafkajs(broker, listener, { ssl, sasl: { mechanism: 'plain', ...broker.user } }).admin()
      await assert.rejects(admin.connect(), (error: { cause?: { code?: string } }) => error.cause?.code === code)
      await admin.disconnect()
    }
  })

  it('read what other clients wrote', async () => {
    const [first, second] = [await makeTopic(), await makeTopic()]
    const texts = someTexts(30)
    await writeByKafkajs(kafkajs(broker, 'plain'), first, texts, CompressionTypes.GZIP)
    assert.deepEqual(await readByLibrary(broker, first, 30), texts)
    await writeByLibrary(broker, second, texts, 'gzip')
    assert.deepEqual(await readByKafkajs(kafkajs(broker, 'plain'), second, 30), texts)
  })

  it('read every compression as it was written', async () => {
    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] satisfies KafkaCompression[]) {
      const topic = await makeTopic()
      const texts = someTexts(20)
      await writeByLibrary(broker, topic, texts, compression)
      await broker.produce(topic, asRecords(texts), compression)
      assert.deepEqual(await readByLibrary(broker, topic, 40), [...texts, ...texts], compression)
    }
  })

  it('share the partitions of a topic within a group, and commit offsets', async () => {
    const topic = await makeTopic(2)
    const groupId = `group-of-${topic}`
    const consumers = [0, 1].map(() =>
      kafkajs(broker, 'plain').consumer({ groupId, maxWaitTimeInMs: 50, heartbeatInterval: 50, retry: onceOnly }),
    )
    const { promise: isShared, resolve } = Promise.withResolvers<void>()
    const assignments = new Map<number, number[]>()
    for (const [index, consumer] of consumers.entries()) {
      consumer.on('consumer.group_join', ({ payload }) => {
        assignments.set(index, payload.memberAssignment[topic] ?? [])
        if (assignments.size === 2 && [...assignments.values()].every(({ length }) => length === 1)) resolve()
      })
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({ eachMessage: async () => {} })
    }
    try {
      await isShared
      assert.deepEqual([...assignments.values()].flat().toSorted(), [0, 1])
      await consumers[0]?.commitOffsets([{ topic, partition: 0, offset: '7' }])
      assert.deepEqual(await broker.committedOffsets(groupId), { [`${topic}/0`]: 7 })
    } finally {
      await Promise.all(consumers.map((consumer) => consumer.disconnect()))
    }
  })

  it('do not read records of aborted transactions', async () => {
    const topic = await makeTopic()
    const kafka = kafkajs(broker, 'plain', { retry: { retries: 1 } })
    const producer = kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      transactionalId: topic,
      idempotent: true,
      maxInFlightRequests: 1,
    })
    await producer.connect()
    const write = async (text: string, end: 'commit' | 'abort') => {
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: [{ value: text }] })
      await transaction[end]()
    }
    await write('first', 'commit')
    await write('dropped', 'abort')
    await write('last', 'commit')
    const open = await producer.transaction()
    await open.send({ topic, messages: [{ value: 'undecided' }] })

    assert.deepEqual(await readByKafkajs(kafka, topic, 2), ['first', 'last'])
    await connected(broker, {}, async (connection) => {
      const committed = partitionOf(await fetchFrom(connection, topic, { isCommitted: true }))
      assert.deepEqual([committed?.lastStableOffset, committed?.highWatermark], [6n, 7n])
      assert.deepEqual(
        committed?.abortedTransactions?.map(({ firstOffset }) => firstOffset),
        [2n],
      )
      const everything = textsOf(await fetchFrom(connection, topic)).filter((text) => /^[a-z]+$/.test(text))
      assert.deepEqual(everything, ['first', 'dropped', 'last', 'undecided'])
    })
    await open.commit()
    await producer.disconnect()
  })
})

describe('a fetch from the fake Kafka broker', () => {
  it('respects its limits, but always returns the first batch', async () => {
    const topic = await makeTopic()
    for (const text of ['a', 'b', 'c']) await broker.produce(topic, asRecords([text.repeat(1_000)]))
    await connected(broker, {}, async (connection) => {
      const firsts = async (options: FetchOptions) =>
        textsOf(await fetchFrom(connection, topic, options)).map((text) => text[0])
      assert.deepEqual(await firsts({ maxBytes: 10 }), ['a'])
      assert.deepEqual(await firsts({ partitionMaxBytes: 10 }), ['a'])
      assert.deepEqual(await firsts({ offset: 1, maxBytes: 10 }), ['b'])
      assert.deepEqual(await firsts({}), ['a', 'b', 'c'])
    })
  })

  it('truncates the last batch at the limit, as a real broker does', () => {
    const log = new PartitionLog()
    for (const text of ['a', 'b']) log.append(buildBatch([{ value: Buffer.from(text.repeat(1_000)) }], 'none'))
    const read = (maxBytes: number, mustGiveOne: boolean) => log.read(0, 2, maxBytes, mustGiveOne).bytes.length
    const batchBytes = read(1, true)
    assert.ok(batchBytes > 1_000 && batchBytes < 1_100)
    assert.equal(read(1_500, true), 1_500)
    assert.equal(read(10_000, false), 2 * batchBytes)
    assert.equal(read(1, false), 0)
  })

  it('waits for records up to its wait time, and returns when they arrive', async () => {
    const topic = await makeTopic()
    await connected(broker, {}, async (connection) => {
      const startedAtMs = performance.now()
      assert.deepEqual(textsOf(await fetchFrom(connection, topic, { waitMs: 150 })), [])
      assert.ok(performance.now() - startedAtMs >= 140)
      const waiting = fetchFrom(connection, topic, { waitMs: 25_000 })
      setTimeout(() => broker.produce(topic, asRecords(['new'])), 50)
      assert.deepEqual(textsOf(await waiting), ['new'])
      assert.ok(performance.now() - startedAtMs < 20_000)
    })
  })
})

describe('stopping the fake Kafka broker', () => {
  it('closes all connections, including waiting ones', async () => {
    const other = await startKafkaBroker()
    await other.createTopic('quiet', 1)
    const silent = connect(Number(other.listeners.tls.split(':')[1]), '127.0.0.1')
    await once(silent, 'connect')
    const closed = once(silent.resume(), 'close')
    const consumers = (['plain', 'tls'] as const).map((listener) =>
      kafkajs(other, listener).consumer({ groupId: listener, maxWaitTimeInMs: 60_000, retry: onceOnly }),
    )
    for (const consumer of consumers) {
      const isFetching = new Promise((resolve) => consumer.on('consumer.fetch_start', resolve))
      await consumer.connect()
      await consumer.subscribe({ topic: 'quiet' })
      await consumer.run({ eachMessage: async () => {} })
      await isFetching
    }
    const startedAtMs = performance.now()
    await other.stop()
    await closed
    // Otherwise they would wait for a minute.
    assert.ok(performance.now() - startedAtMs < 20_000)
    for (const consumer of consumers) await consumer.disconnect()
  })
})
