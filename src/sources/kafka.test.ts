import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loopbackEgress, probe, probeFails, readAll } from '../../test/sources/conformance.ts'
import { startKafkaBroker } from '../../test/sources/kafka-broker/broker.ts'
import { kafkaConformance } from '../../test/sources/kafka-conformance.ts'
import { type Alter, startKafkaProxy, withOlderVersions } from '../../test/sources/kafka-proxy.ts'
import type { KafkaServer } from '../../test/sources/kafka-server.ts'
import { idsOf, jsonRecords, plaintextContext, sourceOf, topicWith } from '../../test/sources/kafka-world.ts'
import { Egress } from '../lib/egress.ts'
import type { KafkaSource } from '../pipes/kafka-shapes.ts'
import { NotConnected, type ReadableSource, type SourceReader } from './source.ts'

kafkaConformance(() => startKafkaBroker())

const apiKeys = { fetch: 1, metadata: 3, offsetCommit: 8, handshake: 17, apiVersions: 18, authenticate: 36 } as const

describe('the Kafka source and its broker', () => {
  const connectionString = 'Endpoint=sb://shop.example/;SharedAccessKeyName=reader;SharedAccessKey=c2VjcmV0LWtleQ=='
  const mayNotRead = { username: 'looks-only', password: 'looks-only-password' }
  const mayNotGroup = { username: 'without-groups', password: 'without-groups-password' }
  const secrets = [connectionString, mayNotRead.password, mayNotGroup.password]
  let server: KafkaServer
  let topic: string
  let tokens: string[]

  before(async () => {
    tokens = []
    server = await startKafkaBroker({
      users: [
        { username: '$ConnectionString', password: connectionString, permissions: {} },
        { ...mayNotRead, permissions: { readTopics: false } },
        { ...mayNotGroup, permissions: { useGroups: false } },
      ],
      acceptsToken(token) {
        tokens.push(token)
        return Buffer.from(token, 'base64url').toString().includes('AKIAGOODKEY')
      },
    })
    topic = await topicWith(server, jsonRecords(20, 2), 2)
  })
  after(() => server.stop())

  describe('logging in', () => {
    it('gives Event Hubs the connection string for a password', async () => {
      for (const authentication of ['PLAIN', 'SCRAM-SHA-256'] as const) {
        const source = sourceOf(server, topic, {
          config: { type: 'azureeventhub', authentication },
          secrets: { credentials: { connectionString } },
        })
        assert.equal((await probe(source)).samples[0]?.rows.length, 20)
      }
    })

    it('tells that the user may see the topic, but not read it', async () => {
      const source = sourceOf(server, topic, { secrets: { credentials: mayNotRead } })
      const expected = { step: 'read', code: 'permission_missing', field: 'topics' } as const
      const { reason } = await probeFails(source, expected, { secrets })
      assert.ok(reason.includes(`may not read the topic "${topic}"`), reason)
    })

    it('tells that the user may not use the group', async () => {
      const source = sourceOf(server, topic, { secrets: { credentials: mayNotGroup } })
      const expected = { step: 'describe', code: 'permission_missing', field: 'consumerGroup' } as const
      const { reason } = await probeFails(source, expected, { secrets })
      assert.match(reason, /"penstock-test"/)
    })

    it('reads on without the group, which is only for show', async () => {
      const source = sourceOf(server, topic, { secrets: { credentials: mayNotGroup } })
      await withReader(source, async (reader) => {
        await reader.acknowledge({ [`${topic}/0`]: '1' })
        assert.equal((await readIds(reader, 20)).length, 20)
      })
      assert.equal((await server.committedOffsets('penstock-test'))[`${topic}/0`], undefined)
    })
  })

  describe('logging in to MSK', () => {
    const host = 'b-1.shop.abcdef.c2.kafka.eu-west-1.amazonaws.com'
    const resolvesHere = new Egress({ allowLoopback: true, deniedPlaces: [] }, async () => ['127.0.0.1'])
    const iamSource = (accessKeyId: string, brokerHost = host): ReadableSource =>
      sourceOf(server, topic, {
        config: {
          type: 'msk',
          authentication: 'IAM_USER',
          brokers: `${brokerHost}:${server.listeners.saslPlain.split(':')[1]}`,
        },
        secrets: { credentials: { accessKeyId, secretKey: 'the-secret-of-the-key' } },
        context: plaintextContext,
      })

    it('signs a token for the region of the broker', async () => {
      const { samples } = await probe(iamSource('AKIAGOODKEY'), { egress: resolvesHere })
      assert.equal(samples[0]?.rows.length, 20)
      const url = new URL(Buffer.from(tokens.at(-1) ?? '', 'base64url').toString())
      assert.equal(url.host, 'kafka.eu-west-1.amazonaws.com')
    })

    it('tells that the access key is refused', async () => {
      const expected = { step: 'authenticate', code: 'credentials_refused', field: 'credentials' } as const
      const options = { secrets: ['the-secret-of-the-key'], egress: resolvesHere }
      await probeFails(iamSource('AKIAOTHERKEY'), expected, options)
    })

    it('tells that it needs a host name that has a region', async () => {
      const expected = { step: 'authenticate', code: 'not_set_up', field: 'brokers' } as const
      const options = { secrets: ['the-secret-of-the-key'], egress: resolvesHere }
      await probeFails(iamSource('AKIAGOODKEY', 'kafka.example'), expected, options)
    })
  })

  describe('through a proxy', () => {
    const throughProxy = async (
      alter: Alter,
      use: (source: ReadableSource, connectionCount: () => number) => Promise<void>,
      authentication: KafkaSource['authentication'] = 'SCRAM-SHA-256',
    ): Promise<void> => {
      const proxy = await startKafkaProxy(server.listeners.saslPlain, alter)
      try {
        const config = { brokers: proxy.address, authentication }
        await use(sourceOf(server, topic, { config, context: plaintextContext }), proxy.connectionCount)
      } finally {
        await proxy.stop()
      }
    }

    for (const [what, newest] of Object.entries({
      'Kafka 2.4': { 1: 11, 2: 5, 3: 8, 8: 7, 10: 2, 36: 1 },
      'Kafka 2.2': { 1: 10, 2: 4, 3: 7, 8: 6, 10: 2, 36: 1 },
      'Kafka 1.1': { 1: 7, 2: 2, 3: 5, 8: 3, 10: 1, 36: 0 },
      'Kafka 1.0': { 1: 6, 2: 2, 3: 5, 8: 3, 10: 1, 36: 0 },
    })) {
      it(`speaks with a broker that is as old as ${what}`, async () => {
        const seen = new Map<number, number>()
        const alter: Alter = ({ apiKey, apiVersion, answer }) => {
          if (apiKey === apiKeys.apiVersions) return withOlderVersions(answer, newest)
          seen.set(apiKey, apiVersion)
          return answer
        }
        await throughProxy(alter, async (source) => {
          assert.equal((await probe(source)).samples[0]?.rows.length, 20)
          await withReader(source, async (reader) => {
            assert.equal((await readIds(reader, 20)).length, 20)
            await reader.acknowledge({ [`${topic}/1`]: '7' })
          })
        })
        assert.equal((await server.committedOffsets('penstock-test'))[`${topic}/1`], 7)
        for (const [apiKey, version] of seen) {
          const limit = (newest as Record<number, number>)[apiKey]
          assert.ok(limit === undefined || version <= limit, `${apiKey} with version ${version}`)
        }
        assert.ok(seen.has(apiKeys.fetch) && seen.has(apiKeys.offsetCommit) && seen.has(apiKeys.authenticate))
      })
    }

    it('asks again who leads when a leader has moved, and reads everything once', async () => {
      let movedCount = 0
      const alter: Alter = ({ apiKey, count, answer }) => {
        if (apiKey !== apiKeys.fetch || count > 1) return answer
        movedCount++
        return fetchAnswer(answer, topic, [0, 1], 6)
      }
      await throughProxy(alter, async (source) => {
        await withReader(source, async (reader) => {
          const ids = await readIds(reader, 20)
          assert.deepEqual(
            ids.toSorted((a, b) => a - b),
            Array.from({ length: 20 }, (_, index) => index),
          )
        })
      })
      assert.equal(movedCount, 2)
    })

    it('logs in anew before the broker ends what it let in', async () => {
      const alter: Alter = ({ apiKey, answer }) => {
        // The last eight bytes before the tags: how long the login is good.
        if (apiKey === apiKeys.authenticate) answer.writeBigInt64BE(100n, answer.length - 9)
        return answer
      }
      await throughProxy(
        alter,
        async (source, connectionCount) => {
          await withReader(source, async (reader) => {
            assert.equal((await readIds(reader, 20)).length, 20)
            const before = connectionCount()
            for (let reads = 0; reads < 4; reads++) {
              const signal = AbortSignal.timeout(5_000)
              assert.deepEqual(await reader.read({ maxRecords: 10, maxBytes: 1_000, waitMs: 500, signal }), [])
            }
            assert.ok(connectionCount() > before, `${connectionCount()} connections`)
          })
        },
        'PLAIN',
      )
    })

    it('tells which mechanisms the broker offers, as far as their names are known', async () => {
      const offered = ['GSSAPI', 'SCRAM-SHA-512', 'say <b>hello</b>'].map((name) => text(name))
      const refusal = Buffer.concat([Buffer.from([0, 33, 0, 0, 0, offered.length]), ...offered])
      const alter: Alter = ({ apiKey, answer }) =>
        apiKey === apiKeys.handshake ? Buffer.concat([answer.subarray(0, 4), refusal]) : answer
      await throughProxy(alter, async (source) => {
        const expected = { step: 'authenticate', code: 'not_set_up', field: 'authentication' } as const
        const { reason } = await probeFails(source, expected, { secrets: [server.user.password] })
        assert.match(reason, /does not offer SCRAM-SHA-256, but GSSAPI and SCRAM-SHA-512$/)
      })
    })

    it('does not compute for ever because the broker says so', async () => {
      const alter: Alter = ({ apiKey, count, answer }) => {
        if (apiKey !== apiKeys.authenticate || count > 0) return answer
        return Buffer.from(answer.toString('latin1').replace(/i=\d{4}/, 'i=9e99'), 'latin1')
      }
      await throughProxy(alter, async (source) => {
        await probeFails(source, { step: 'authenticate', code: 'credentials_refused' }, { secrets: [] })
      })
    })

    const breaks: [string, number, { step: 'connect' | 'authenticate' | 'describe' | 'read'; code: never }][] = [
      ['at the first question', apiKeys.apiVersions, { step: 'connect', code: 'protocol_mismatch' as never }],
      ['when asked for a login', apiKeys.handshake, { step: 'authenticate', code: 'not_set_up' as never }],
      ['at the credentials', apiKeys.authenticate, { step: 'authenticate', code: 'credentials_refused' as never }],
      ['when asked for topics', apiKeys.metadata, { step: 'describe', code: 'source_failed' as never }],
      ['when asked for records', apiKeys.fetch, { step: 'read', code: 'source_failed' as never }],
    ]
    for (const [when, broken, expected] of breaks) {
      it(`tells that the broker broke off ${when}, or answered nonsense`, async () => {
        const options = { secrets: [server.user.password] }
        const nonsense = Buffer.from('this is not what was asked for, by far')
        for (const replace of [
          () => undefined,
          (answer: Buffer) => Buffer.concat([answer.subarray(0, 4), nonsense]),
          () => nonsense,
        ]) {
          const alter: Alter = ({ apiKey, answer }) => (apiKey === broken ? replace(answer) : answer)
          await throughProxy(alter, async (source) => {
            await probeFails(source, expected, options)
            const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(5_000) }
            const reading = source.open({}, surroundings).then(async (reader) => {
              await readIds(reader, 20).finally(() => reader.close())
            })
            await assert.rejects(reading, NotConnected)
          })
        }
      })
    }
  })

  it('gives what it has read to the last, when everything is read at once', async () => {
    const large = await topicWith(server, jsonRecords(50_000, 4), 4)
    const { batches } = await readAll(sourceOf(server, large), {}, { maxRecords: 10_000, maxBytes: 10_000_000 })
    assert.equal(new Set(idsOf(batches)).size, 50_000)
  })
})

async function withReader(source: ReadableSource, use: (reader: SourceReader) => Promise<void>): Promise<void> {
  const reader = await source.open({}, { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })
  try {
    await use(reader)
  } finally {
    await reader.close()
  }
}

async function readIds(reader: SourceReader, count: number): Promise<number[]> {
  const signal = AbortSignal.timeout(10_000)
  const ids: number[] = []
  while (ids.length < count && !signal.aborted) {
    ids.push(...idsOf(await reader.read({ maxRecords: 1_000, maxBytes: 100_000, waitMs: 100, signal })))
  }
  return ids
}

function text(value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeInt16BE(value.length)
  return Buffer.concat([length, Buffer.from(value)])
}

/** In the form of version 12: the partitions with an error, and without records. */
function fetchAnswer(answer: Buffer, topic: string, partitions: number[], errorCode: number): Buffer {
  const ofPartitions = partitions.map((partition) => {
    const fixed = Buffer.alloc(30)
    fixed.writeInt32BE(partition, 0)
    fixed.writeInt16BE(errorCode, 4)
    // No aborted transactions, no other replica, no records, no tags.
    return Buffer.concat([fixed, Buffer.from([0, 255, 255, 255, 255, 0, 0])])
  })
  const topicName = Buffer.concat([Buffer.from([topic.length + 1]), Buffer.from(topic)])
  return Buffer.concat([
    answer.subarray(0, 4),
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]),
    topicName,
    Buffer.from([partitions.length + 1]),
    ...ofPartitions,
    Buffer.from([0, 0]),
  ])
}
