// Brokers that send excessive data or metadata: memory, CPU time and connections stay bounded.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { probe, probeFails } from '../../../test/sources/conformance.ts'
import { fetchAnswer, metadataAnswer, unsigned } from '../../../test/sources/kafka-answers.ts'
import { startKafkaBroker } from '../../../test/sources/kafka-broker/broker.ts'
import { type Alter, throughKafkaProxy } from '../../../test/sources/kafka-proxy.ts'
import type { KafkaServer } from '../../../test/sources/kafka-server.ts'
import {
  jsonRecords,
  numbers,
  plaintextContext,
  readIds,
  sorted,
  sourceOf,
  topicWith,
} from '../../../test/sources/kafka-world.ts'
import { Egress } from '../../lib/egress.ts'
import type { ReadableSource } from '../source.ts'

const apiKeys = { fetch: 1, metadata: 3 } as const

describe('the Kafka source and excessive responses', () => {
  let server: KafkaServer
  let topic: string
  before(async () => {
    server = await startKafkaBroker()
    topic = await topicWith(server, jsonRecords(20, 2), 2)
  })
  after(() => server.stop())

  const throughProxy = (alter: Alter, use: (address: string, connectionCount: () => number) => Promise<void>) =>
    throughKafkaProxy(server.listeners.saslPlain, alter, ({ address, connectionCount }) =>
      use(address, connectionCount),
    )

  it('does not read an answer with more aborted transactions than its records could end', async () => {
    const aborted = Buffer.concat([unsigned(200_002), Buffer.alloc(200_001 * 17)])
    const alter: Alter = ({ apiKey, answer }) =>
      apiKey === apiKeys.fetch ? fetchAnswer(answer, [0], 0, aborted) : answer
    await throughProxy(alter, async (address) => {
      const source = sourceOf(server, topic, { config: { brokers: address }, context: plaintextContext })
      await probeFails(source, { step: 'read', code: 'source_failed' }, { secrets: [] })
    })
  })

  it('limits how much it decompresses for a sample', async () => {
    const key = 'k'.repeat(20 * 1024 * 1024)
    const packed = await topicWith(server, [], 6)
    for (const partition of numbers(0, 6)) {
      await server.produce(packed, [{ partition, key, value: Buffer.from(`{"id":${partition}}`) }], 'zstd')
    }
    const { samples } = await probe(sourceOf(server, packed))
    assert.equal(samples[0]?.rows.length, 2)
  })

  describe('with many advertised brokers', () => {
    const resolvesHere = new Egress({ allowLoopback: true, deniedAddresses: [] }, async () => ['127.0.0.1'])
    const withLeaders = async (
      count: number,
      use: (source: ReadableSource, connectionCount: () => number) => Promise<void>,
    ): Promise<void> => {
      const wide = await topicWith(server, jsonRecords(count, count), count)
      let port = 0
      const alter: Alter = ({ apiKey, answer }) =>
        apiKey === apiKeys.metadata ? metadataAnswer(answer, wide, count, port) : answer
      await throughProxy(alter, async (address, connectionCount) => {
        port = Number(address.split(':')[1])
        const config = { brokers: `first.example:${port}` }
        await use(sourceOf(server, wide, { config, context: plaintextContext }), connectionCount)
      })
    }

    it('samples a limited number of leaders', () =>
      withLeaders(30, async (source, connectionCount) => {
        const { samples } = await probe(source, { egress: resolvesHere })
        assert.equal(samples[0]?.rows.length, 16)
        assert.equal(connectionCount(), 17)
      }))

    it('reads from all leaders, up to a limit', async () => {
      await withLeaders(30, async (source, connectionCount) => {
        const reader = await source.open({}, { egress: resolvesHere, signal: AbortSignal.timeout(20_000) })
        try {
          assert.deepEqual(sorted(await readIds(reader, 30)), numbers(0, 30))
        } finally {
          await reader.close()
        }
        assert.equal(connectionCount(), 31)
      })
      await withLeaders(300, async (source) => {
        const opening = source.open({}, { egress: resolvesHere, signal: AbortSignal.timeout(20_000) })
        await assert.rejects(opening, { name: 'ProbeFailure', code: 'not_set_up', field: 'brokers' })
      })
    })
  })
})
