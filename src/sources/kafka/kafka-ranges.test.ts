// Ranges that are read a second time, from brokers that return none of their records.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loopbackEgress, positionsAfter, readAll } from '../../../test/sources/conformance.ts'
import { fetchAnswer } from '../../../test/sources/kafka-answers.ts'
import { startKafkaBroker } from '../../../test/sources/kafka-broker/broker.ts'
import { type Alter, throughKafkaProxy } from '../../../test/sources/kafka-proxy.ts'
import type { KafkaServer } from '../../../test/sources/kafka-server.ts'
import {
  configOf,
  idsOf,
  jsonRecords,
  plaintextContext,
  sourceOf,
  topicWith,
} from '../../../test/sources/kafka-world.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { type Batch, EndOfInput } from '../source.ts'
import { makeAccess } from './kafka-connection.ts'
import { openKafkaReader } from './kafka-reader.ts'

const fetchKey = 1

describe('a range of a Kafka source', () => {
  let server: KafkaServer
  let topic: string
  before(async () => {
    server = await startKafkaBroker()
    topic = await topicWith(server, jsonRecords(10))
  })
  after(() => server.stop())

  const readRange = async (alter: Alter): Promise<{ batches: Batch[]; ended: boolean }> => {
    let read: { batches: Batch[]; ended: boolean } | undefined
    await throughKafkaProxy(server.listeners.saslPlain, alter, async ({ address }) => {
      const source = sourceOf(server, topic, { config: { brokers: address }, context: plaintextContext })
      const positions = { [`${topic}/0`]: '2' }
      read = await readAll(source, positions, { waitMs: 10_000 }, { until: { [`${topic}/0`]: '6' } })
    })
    assert.ok(read)
    return read
  }

  it('ends at a record behind it when compaction has removed all its records', async () => {
    const compacted = await topicWith(server, [])
    for (let id = 0; id < 10; id++) await server.produce(compacted, jsonRecords(1, 1, id))
    server.compact?.(compacted, 2, 8)
    const name = `${compacted}/0`
    for (const [from, until, ids] of [
      ['2', '6', []],
      ['1', '8', [1]],
      ['5', '9', [8]],
    ] as const) {
      const { batches, ended } = await readAll(
        sourceOf(server, compacted),
        { [name]: from },
        { waitMs: 10_000 },
        { until: { [name]: until } },
      )
      assert.deepEqual([idsOf(batches), positionsAfter(batches), ended], [ids, { [name]: until }, true])
    }
  })

  it('is not skipped however long a broker returns nothing of it', async () => {
    const alter: Alter = ({ apiKey, answer }) => (apiKey === fetchKey ? fetchAnswer(answer, [0], 0) : answer)
    await throughKafkaProxy(server.listeners.saslPlain, alter, async ({ address }) => {
      const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) }
      const config = configOf(server, topic, { config: { brokers: address } })
      const access = makeAccess(config, { credentials: { ...server.user } }, plaintextContext, connectOptions)
      const options = { selection: { until: { [`${topic}/0`]: '6' } }, stallMs: 4_000 }
      const reader = await openKafkaReader(access, { [`${topic}/0`]: '2' }, options)
      const limits = { maxRecords: 100, maxBytes: 100_000, waitMs: 3_500, signal: connectOptions.signal }
      assert.deepEqual(await reader.read(limits), [])
      await assert.rejects(reader.read(limits), NotConnected)
      await reader.close()
    })
  })

  it('is read completely from a broker that returns nothing at first', async () => {
    const { batches, ended } = await readRange(({ apiKey, count, answer }) =>
      apiKey === fetchKey && count < 10 ? fetchAnswer(answer, [0], 0) : answer,
    )
    assert.deepEqual([idsOf(batches), ended], [[2, 3, 4, 5], true])
  })

  it('is not given up while nothing arrives', async () => {
    const signal = AbortSignal.timeout(20_000)
    const selection = { until: { [`${topic}/0`]: '14' } }
    const source = sourceOf(server, topic)
    const reader = await source.open({ [`${topic}/0`]: '10' }, { egress: loopbackEgress, signal }, selection)
    const read = async (waitMs: number): Promise<number[]> =>
      idsOf(await reader.read({ maxRecords: 100, maxBytes: 100_000, waitMs, signal }))
    for (const id of [10, 12]) {
      assert.deepEqual(await read(1_800), [])
      await server.produce(topic, jsonRecords(2, 1, id))
      assert.deepEqual(await read(5_000), [id, id + 1])
    }
    await assert.rejects(read(5_000), EndOfInput)
    await reader.close()
  })
})
