import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { probe, probeFails, readAll } from '../../../test/sources/conformance.ts'
import { startKafkaBroker } from '../../../test/sources/kafka-broker/broker.ts'
import { kafkaConformance } from '../../../test/sources/kafka-conformance.ts'
import type { KafkaServer } from '../../../test/sources/kafka-server.ts'
import {
  idsOf,
  jsonRecords,
  plaintextContext,
  readIds,
  sourceOf,
  topicWith,
  withReader,
} from '../../../test/sources/kafka-world.ts'
import { withOperator } from '../../../test/sources/operator.ts'
import type { CheckedKey } from '../../../test/sources/signature-check.ts'
import { startSts } from '../../../test/sources/sts-server.ts'
import { Egress } from '../../lib/egress.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { ReadableSource, SourceContext } from '../source.ts'

kafkaConformance(() => startKafkaBroker())

describe('the Kafka source and our broker', () => {
  const connectionString = 'Endpoint=sb://shop.example/;SharedAccessKeyName=reader;SharedAccessKey=c2VjcmV0LWtleQ=='
  const mayNotRead = { username: 'looks-only', password: 'looks-only-password' }
  const mayNotGroup = { username: 'without-groups', password: 'without-groups-password' }
  const secrets = [connectionString, mayNotRead.password, mayNotGroup.password]
  const goodKeys: CheckedKey[] = [{ accessKeyId: 'AKIAGOODKEY', secretKey: 'the-secret-of-the-key', mayRead: true }]
  const tokens: URL[] = []
  let server: KafkaServer
  let topic: string

  before(async () => {
    server = await startKafkaBroker({
      users: [
        { username: '$ConnectionString', password: connectionString, permissions: {} },
        { ...mayNotRead, permissions: { readTopics: false } },
        { ...mayNotGroup, permissions: { useGroups: false } },
      ],
      acceptsToken(token) {
        const url = new URL(Buffer.from(token, 'base64url').toString())
        tokens.push(url)
        const keyId = url.searchParams.get('X-Amz-Credential')?.split('/')[0]
        return goodKeys.some(({ accessKeyId }) => accessKeyId === keyId)
      },
    })
    topic = await topicWith(server, jsonRecords(20, 2), 2)
  })
  after(() => server.stop())

  it('sends the connection string as password to Event Hubs', async () => {
    for (const authentication of ['PLAIN', 'SCRAM-SHA-256'] as const) {
      const source = sourceOf(server, topic, {
        config: { type: 'azureeventhub', authentication },
        secrets: { credentials: { connectionString } },
      })
      assert.equal((await probe(source)).samples[0]?.rows.length, 20)
    }
  })

  it('reports a topic that the user may describe but not read, even if it is empty', async () => {
    for (const unreadable of [topic, await topicWith(server, [])]) {
      const source = sourceOf(server, unreadable, { secrets: { credentials: mayNotRead } })
      const expected = { step: 'read', code: 'permission_missing', field: 'topics' } as const
      const { reason } = await probeFails(source, expected, { secrets })
      assert.ok(reason.includes(`may not read the topic "${unreadable}"`), reason)
    }
  })

  it('reports that the user may not use the consumer group', async () => {
    const source = sourceOf(server, topic, { secrets: { credentials: mayNotGroup } })
    const expected = { step: 'describe', code: 'permission_missing', field: 'consumerGroup' } as const
    const { reason } = await probeFails(source, expected, { secrets })
    assert.match(reason, /"penstock-test"/)
  })

  it('reads without access to the consumer group', async () => {
    await withReader(sourceOf(server, topic, { secrets: { credentials: mayNotGroup } }), {}, async (reader) => {
      await reader.acknowledge({ [`${topic}/0`]: '1' })
      assert.equal((await readIds(reader, 20)).length, 20)
    })
    assert.equal((await server.committedOffsets('penstock-test'))[`${topic}/0`], undefined)
  })

  it('reads a large topic to the end', async () => {
    const large = await topicWith(server, jsonRecords(50_000, 4), 4)
    const { batches } = await readAll(
      sourceOf(server, large),
      {},
      { maxRecords: 10_000, maxBytes: 10_000_000, waitMs: 1_000 },
    )
    assert.equal(new Set(idsOf(batches)).size, 50_000)
  })

  describe('logging in to MSK', () => {
    const resolvesHere = new Egress({ allowLoopback: true, deniedAddresses: [] }, async () => ['127.0.0.1'])
    const iamSource = (
      config: Partial<KafkaSource>,
      parts: { accessKeyId?: string; host?: string; context?: SourceContext } = {},
    ): ReadableSource => {
      const { accessKeyId = 'AKIAGOODKEY', context = plaintextContext } = parts
      const { host = 'b-1.shop.abcdef.c2.kafka.eu-west-1.amazonaws.com' } = parts
      const brokers = `${host}:${server.listeners.saslPlain.split(':')[1]}`
      return sourceOf(server, topic, {
        config: { type: 'msk', authentication: 'IAM_USER', brokers, ...config },
        secrets: { credentials: { accessKeyId, secretKey: 'the-secret-of-the-key' } },
        context,
      })
    }
    const options = { secrets: ['the-secret-of-the-key'], egress: resolvesHere }

    it('signs a token for the region of the broker', async () => {
      const { samples } = await probe(iamSource({}), { egress: resolvesHere })
      assert.equal(samples[0]?.rows.length, 20)
      assert.equal(tokens.at(-1)?.host, 'kafka.eu-west-1.amazonaws.com')
    })

    it('assumes a role, which signs the token', async () => {
      const roleArn = 'arn:aws:iam::123456789012:role/reads-kafka'
      const { organizationId } = plaintextContext
      const sts = await startSts({ roleArn, externalId: organizationId, keys: goodKeys })
      try {
        const context = { ...plaintextContext, awsEndpoints: { sts: sts.url } }
        const source = iamSource({ authentication: 'IAM_ROLE', iamRole: roleArn }, { context })
        await withOperator({ accessKeyId: 'AKIAOPERATOR', secretKey: 'secret-of-the-operator' }, async () => {
          const { samples } = await probe(source, { egress: resolvesHere })
          assert.equal(samples[0]?.rows.length, 20)
        })
        assert.equal(sts.assumed.length, 1)
        assert.ok(tokens.at(-1)?.searchParams.has('X-Amz-Security-Token'))
      } finally {
        await sts.stop()
      }
    })

    it('reports a rejected access key', async () => {
      const expected = { step: 'authenticate', code: 'credentials_refused', field: 'credentials' } as const
      await probeFails(iamSource({}, { accessKeyId: 'AKIAOTHERKEY' }), expected, options)
    })

    it('reports a host name without a region', async () => {
      const expected = { step: 'authenticate', code: 'not_set_up', field: 'brokers' } as const
      await probeFails(iamSource({}, { host: 'kafka.example' }), expected, options)
    })
  })
})
