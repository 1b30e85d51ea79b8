// The fake Kafka broker supports every protocol version that it offers.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { apiVersionsV0, type Connection, Writer } from '@platformatic/kafka'
import { startKafkaBroker } from './kafka-broker/broker.ts'
import {
  asRecords,
  call,
  connected,
  earliest,
  fetchFrom,
  latest,
  type MetadataResponse,
  offsetOf,
  refused,
  textsOf,
} from './kafka-broker/calls.ts'
import { newTopic, someTexts } from './kafka-broker/clients.ts'
import type { KafkaServer } from './kafka-server.ts'

let broker: KafkaServer

before(async () => {
  broker = await startKafkaBroker()
})
after(() => broker.stop())

const madeTopics: string[] = []
const makeTopic = async (partitions = 1): Promise<string> => {
  const name = await newTopic(broker, partitions)
  madeTopics.push(name)
  return name
}

interface Joined {
  memberId: string
  generationId: number
  leader: string
  protocolName: string
  members: { metadata: Buffer }[]
}

interface Producing {
  producerId: bigint
  producerEpoch: number
}

/** A new member is rejected once, with the id that it must join with. */
async function promisedId(joining: Promise<Joined>): Promise<string> {
  const refusal = joining.then(
    () => assert.fail('the member was taken without an id'),
    (error: { response: Joined }) => error.response,
  )
  await refused(joining, 'MEMBER_ID_REQUIRED')
  return (await refusal).memberId
}

function commitAsOutsider(connection: Connection, group: string): Promise<unknown> {
  const partitions = [{ partitionIndex: 0, committedOffset: 1n, committedLeaderEpoch: -1, committedMetadata: '' }]
  return call(connection, 'offsetCommit', 9, group, -1, '', null, [{ name: 'topic-1', partitions }])
}

describe('protocol versions of the fake Kafka broker', () => {
  const versions = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index)

  it('describe topics and partitions', async () => {
    const topic = await makeTopic(2)
    await connected(broker, {}, async (connection) => {
      for (const version of versions(0, 12)) {
        const { brokers, topics } = await call<MetadataResponse>(connection, 'metadata', version, [topic], false, true)
        assert.deepEqual(
          brokers.map(({ host, port }) => `${host}:${port}`),
          [broker.listeners.plain],
          `v${version}`,
        )
        assert.deepEqual(
          topics.map(({ name }) => name),
          [topic],
        )
        assert.deepEqual(
          topics[0]?.partitions.map(({ partitionIndex }) => partitionIndex),
          [0, 1],
        )
        const all = await call<MetadataResponse>(connection, 'metadata', version, version === 0 ? [] : null)
        assert.deepEqual(all.topics.map(({ name }) => name).toSorted(), madeTopics.toSorted())
      }
    })
  })

  it('list the versions, also for a newer client', async () => {
    interface Versions {
      apiKeys: { apiKey: number; minVersion: number; maxVersion: number }[]
    }
    await connected(broker, {}, async (connection) => {
      for (const version of versions(0, 4)) {
        const { apiKeys } = await call<Versions>(connection, 'apiVersions', version, 'test', '1')
        const fetching = apiKeys.find(({ apiKey }) => apiKey === 1)
        assert.deepEqual([fetching?.minVersion, fetching?.maxVersion], [4, 17], `v${version}`)
      }
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const answer = (error: Error | null, response?: unknown) => (error ? reject(error) : resolve(response))
      connection.send(18, 99, () => Writer.create(), apiVersionsV0.parseResponse, true, false, answer)
      await refused(promise, 'UNSUPPORTED_VERSION')
    })
  })

  it('return the advertised host', async () => {
    broker.advertise?.('broker.example')
    await connected(broker, {}, async (connection) => {
      const { brokers } = await call<MetadataResponse>(connection, 'metadata', 12, [], false, false)
      assert.equal(brokers[0]?.host, 'broker.example')
    })
    broker.advertise?.('127.0.0.1')
  })

  it('let a member join and leave a group', async () => {
    await connected(broker, {}, async (connection) => {
      for (const version of versions(0, 9)) {
        const group = `members-${version}`
        const protocols = [{ name: 'range', metadata: Buffer.from('wishes') }]
        const join = (memberId: string) =>
          call<Joined>(connection, 'joinGroup', version, group, 9_000, 9_000, memberId, null, 'consumer', protocols, '')
        const firstId = version >= 4 ? await promisedId(join('')) : ''
        const { memberId, generationId, leader, protocolName, members } = await join(firstId)
        assert.deepEqual([generationId, leader, protocolName], [1, memberId, 'range'], `v${version}`)
        assert.deepEqual(
          members.map(({ metadata }) => String(metadata)),
          ['wishes'],
        )

        const given = [{ memberId, assignment: Buffer.from('share') }]
        const [sync, beat, leave] = [Math.min(version, 5), Math.min(version, 4), Math.min(version, 5)]
        const synced = await call<{ assignment: Buffer }>(
          connection,
          'syncGroup',
          sync,
          group,
          1,
          memberId,
          null,
          'consumer',
          'range',
          given,
        )
        assert.equal(String(synced.assignment), 'share')
        await call(connection, 'heartbeat', beat, group, 1, memberId, null)
        await refused(call(connection, 'heartbeat', beat, group, 7, memberId, null), 'ILLEGAL_GENERATION')
        await refused(commitAsOutsider(connection, group), 'UNKNOWN_MEMBER_ID')
        await call(connection, 'leaveGroup', leave, group, [{ memberId, groupInstanceId: null, reason: null }])
        await refused(call(connection, 'heartbeat', beat, group, 1, memberId, null), 'UNKNOWN_MEMBER_ID')
      }
    })
  })

  it('assign producer ids, and store repeated batches once', async () => {
    const topic = await makeTopic()
    await connected(broker, {}, async (connection) => {
      const ids = new Set<bigint>()
      for (const version of versions(0, 4)) {
        const given = await call<Producing>(connection, 'initProducerId', version, null, 0, -1n, -1)
        assert.equal(given.producerEpoch, 0)
        ids.add(given.producerId)
      }
      assert.equal(ids.size, 5)
      const [producerId] = ids
      const send = (sequence: number) =>
        call(connection, 'produce', 9, 1, 1_000, [{ topic, partition: 0, value: Buffer.from(`${sequence}`) }], {
          producerId,
          producerEpoch: 0,
          sequences: { getWithDefault: () => sequence },
        })
      await send(0)
      await send(1)
      await send(1)
      await refused(send(5), 'OUT_OF_ORDER_SEQUENCE_NUMBER')
      assert.deepEqual(textsOf(await fetchFrom(connection, topic)), ['0', '1'])
    })
  })

  it('end transactions', async () => {
    await connected(broker, {}, async (connection) => {
      for (const version of versions(0, 3)) {
        const topic = await makeTopic()
        const { producerId, producerEpoch } = await call<Producing>(
          connection,
          'initProducerId',
          4,
          topic,
          1_000,
          -1n,
          -1,
        )
        const producer = { transactionalId: topic, producerId, producerEpoch }
        const topics = [{ name: topic, partitions: [0] }]
        await call(connection, 'addPartitionsToTxn', version, [{ ...producer, verifyOnly: false, topics }])
        await call(connection, 'endTxn', version, topic, producerId, producerEpoch, true)
        assert.equal(await offsetOf(connection, 9, topic, latest), 1n, `v${version}: the marker`)
        await refused(call(connection, 'endTxn', version, topic, producerId, 9, true), 'INVALID_PRODUCER_EPOCH')
      }
    })
  })

  it('write records and read them', async () => {
    await connected(broker, {}, async (connection) => {
      for (const version of versions(3, 11)) {
        const topic = await makeTopic()
        await call(connection, 'produce', version, 1, 1_000, [
          { topic, partition: 0, value: Buffer.from(`v${version}`) },
        ])
        assert.deepEqual(textsOf(await fetchFrom(connection, topic)), [`v${version}`])
      }
      const topic = await makeTopic()
      const texts = someTexts(3)
      await broker.produce(topic, asRecords(texts))
      const { topics } = await call<MetadataResponse>(connection, 'metadata', 12, [topic], false, false)
      for (const version of versions(4, 17)) {
        const topicId = version >= 13 ? (topics[0]?.topicId ?? '') : topic
        assert.deepEqual(textsOf(await fetchFrom(connection, topic, { version, topicId })), texts, `v${version}`)
      }
    })
  })

  it('list offsets: earliest, latest, and by timestamp', async () => {
    const topic = await makeTopic()
    for (const compression of ['none', 'lz4'] as const) {
      await broker.produce(
        topic,
        [1_000, 2_000, 3_000].map((timestampMs) => ({ partition: 0, value: Buffer.from('x'), timestampMs })),
        compression,
      )
    }
    await broker.produce(topic, [{ partition: 0, value: Buffer.from('x'), timestampMs: 9_000 }], 'zstd')
    await connected(broker, {}, async (connection) => {
      for (const version of versions(1, 9)) {
        const find = (timestamp: bigint) => offsetOf(connection, version, topic, timestamp)
        assert.deepEqual([await find(earliest), await find(latest)], [0n, 7n], `v${version}`)
        assert.deepEqual([await find(1_500n), await find(3_001n), await find(9_001n)], [1n, 6n, -1n])
      }
    })
  })

  it('store offsets of a group without members', async () => {
    const topic = await makeTopic()
    await connected(broker, {}, async (connection) => {
      for (const version of versions(0, 4)) {
        const found = await call<{ coordinators: { host: string; port: number }[] }>(
          connection,
          'findCoordinator',
          version,
          0,
          ['simple'],
        )
        assert.equal(`${found.coordinators[0]?.host}:${found.coordinators[0]?.port}`, broker.listeners.plain)
      }
      for (const version of versions(2, 9)) {
        const partitions = [
          { partitionIndex: 0, committedOffset: BigInt(version), committedLeaderEpoch: -1, committedMetadata: '' },
        ]
        await call(connection, 'offsetCommit', version, 'simple', -1, '', null, [{ name: topic, partitions }])
        assert.deepEqual(await broker.committedOffsets('simple'), { [`${topic}/0`]: version })
      }
      const topics = [{ name: topic, partitionIndexes: [0] }]
      for (const version of versions(1, 9)) {
        const requested = [{ groupId: 'simple', memberId: null, memberEpoch: -1, topics }]
        const fetched = await call<object>(connection, 'offsetFetch', version, requested, false)
        const text = JSON.stringify(fetched, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
        assert.match(text, /"committedOffset":9[,}]/, `v${version}`)
      }
    })
  })

  it('create topics, add partitions, and delete records and topics', async () => {
    await connected(broker, {}, async (connection) => {
      for (const version of versions(0, 7)) {
        const name = `made-${version}`
        const topic = { name, numPartitions: 2, replicationFactor: 1, assignments: [], configs: [] }
        await call(connection, 'createTopics', version, [topic], 1_000, false)
        await refused(call(connection, 'createTopics', version, [topic], 1_000, false), 'TOPIC_ALREADY_EXISTS')
        const growing = [{ name, count: 3, assignments: null }]
        await call(connection, 'createPartitions', Math.min(Math.max(version, 1), 3), growing, 1_000, false)
        await broker.produce(name, [{ partition: 2, value: Buffer.from('x') }])
        const partitions = [{ partitionIndex: 2, offset: 1n }]
        await call(connection, 'deleteRecords', Math.min(version, 2), [{ name, partitions }], 1_000)
        await call(connection, 'deleteTopics', Math.min(version, 6), [{ name, topicId: null }], 1_000)
        await refused(call(connection, 'metadata', 12, [name], false, false), 'UNKNOWN_TOPIC_OR_PARTITION')
      }
    })
  })
})
