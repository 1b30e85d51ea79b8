// The fake Kafka broker rejects what a real broker rejects, in the same way.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { produceV9, Writer } from '@platformatic/kafka'
import { startKafkaBroker } from './kafka-broker/broker.ts'
import {
  askOffset,
  asRecords,
  call,
  connected,
  earliest,
  fetchFrom,
  latest,
  loggedIn,
  offsetOf,
  refused,
  textsOf,
} from './kafka-broker/calls.ts'
import { newTopic, someTexts } from './kafka-broker/clients.ts'
import type { KafkaServer, Login } from './kafka-server.ts'

const goodToken = 'a-token-that-is-good'
const describer = { username: 'describer', password: 'd3scriber', permissions: { readTopics: false } }
const loner = { username: 'loner, of=few', password: 'l0ner-of-groups', permissions: { useGroups: false } }

let broker: KafkaServer

before(async () => {
  broker = await startKafkaBroker({ users: [describer, loner], acceptsToken: (token) => token === goodToken })
})
after(() => broker.stop())

const makeTopic = (partitions = 1) => newTopic(broker, partitions)

describe('the fake Kafka broker rejects', () => {
  it('a wrong password, an unknown user and an unknown mechanism', async () => {
    const { username, password } = broker.user
    for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
      const enter = (login: Login) => connected(broker, loggedIn(login, mechanism), async () => {})
      await enter(broker.user)
      await refused(enter({ username, password: `${password}!` }), 'SASL_AUTHENTICATION_FAILED')
      await refused(enter({ username: 'nobody', password }), 'SASL_AUTHENTICATION_FAILED')
    }
    await connected(broker, { listener: 'saslPlain' }, (connection) =>
      refused(call(connection, 'saslHandshake', 1, 'GSSAPI'), 'UNSUPPORTED_SASL_MECHANISM'),
    )
  })

  it('an invalid token, after the client has received the error', async () => {
    await connected(
      broker,
      { listener: 'saslPlain', sasl: { mechanism: 'OAUTHBEARER', token: goodToken } },
      async () => {},
    )
    for (const version of [0, 1, 2]) {
      await connected(broker, { listener: 'saslPlain' }, async (connection) => {
        await call(connection, 'saslHandshake', 1, 'OAUTHBEARER')
        const say = (text: string) =>
          call<{ authBytes: Buffer }>(connection, 'saslAuthenticate', version, Buffer.from(text))
        const { authBytes } = await say('n,,\x01auth=Bearer a-bad-token\x01\x01')
        assert.deepEqual(JSON.parse(authBytes.toString()), { status: 'invalid_token' })
        await refused(say('\x01'), 'SASL_AUTHENTICATION_FAILED')
      })
    }
  })

  it('a login on a listener without SASL', async () => {
    const sasl = { mechanism: 'PLAIN' as const, ...broker.user }
    await refused(
      connected(broker, { listener: 'plain', sasl }, async () => {}),
      'ILLEGAL_SASL_STATE',
    )
  })

  it('an invalid login without Kafka headers, without an error message', async () => {
    const { username, password } = broker.user
    for (const [secret, expected] of [
      [password, 1],
      ['wrong-password', 0],
    ] as const) {
      await connected(broker, { listener: 'saslPlain' }, async (connection) => {
        await call(connection, 'saslHandshake', 0, 'PLAIN')
        const { socket } = connection
        const message = Buffer.from(`\0${username}\0${secret}`)
        const length = Buffer.alloc(4)
        length.writeInt32BE(message.length)
        socket.removeAllListeners('data')
        socket.write(Buffer.concat([length, message]))
        const answer = await Promise.race([once(socket, 'data'), once(socket, 'close')])
        assert.equal(Buffer.isBuffer(answer[0]) ? 1 : 0, expected)
      })
    }
  })

  it('requests before the login, and invalid requests', async () => {
    await assert.rejects(
      connected(broker, { listener: 'saslPlain' }, (connection) => call(connection, 'metadata', 12, [], false, false)),
    )
    for (const listener of ['plain', 'saslPlain'] as const) {
      const socket = connect(Number(broker.listeners[listener].split(':')[1]), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
      let answered = 0
      socket.on('data', (chunk) => {
        answered += chunk.length
      })
      await once(socket, 'close')
      assert.equal(answered, 0)
    }
  })

  it('topics and partitions that do not exist', async () => {
    const topic = await makeTopic()
    await connected(broker, {}, async (connection) => {
      await refused(call(connection, 'metadata', 12, ['missing'], true, false), 'UNKNOWN_TOPIC_OR_PARTITION')
      await refused(askOffset(connection, 9, 'missing', latest), 'UNKNOWN_TOPIC_OR_PARTITION')
      await refused(fetchFrom(connection, 'missing'), 'UNKNOWN_TOPIC_OR_PARTITION')
      const topicId = '00000000-0000-4000-8000-000000000001'
      await refused(fetchFrom(connection, 'missing', { version: 17, topicId }), 'UNKNOWN_TOPIC_ID')
      const messages = [{ topic, partition: 5, value: Buffer.from('x') }]
      await refused(call(connection, 'produce', 9, 1, 1_000, messages), 'UNKNOWN_TOPIC_OR_PARTITION')
    })
  })

  it('requests without permission', async () => {
    const topic = await makeTopic()
    await broker.produce(topic, asRecords(['secret']))
    await connected(broker, loggedIn(broker.powerlessUser), async (connection) => {
      await refused(call(connection, 'metadata', 12, [topic], false, false), 'TOPIC_AUTHORIZATION_FAILED')
      await refused(askOffset(connection, 9, topic, latest), 'TOPIC_AUTHORIZATION_FAILED')
      await refused(fetchFrom(connection, topic), 'TOPIC_AUTHORIZATION_FAILED')
      await refused(call(connection, 'findCoordinator', 4, 0, ['simple']), 'GROUP_AUTHORIZATION_FAILED')
    })
    await connected(broker, loggedIn(describer), async (connection) => {
      assert.equal(await offsetOf(connection, 9, topic, latest), 1n)
      await refused(fetchFrom(connection, topic), 'TOPIC_AUTHORIZATION_FAILED')
    })
    await connected(broker, loggedIn(loner), async (connection) => {
      assert.deepEqual(textsOf(await fetchFrom(connection, topic)), ['secret'])
      await refused(call(connection, 'findCoordinator', 4, 0, ['simple']), 'GROUP_AUTHORIZATION_FAILED')
    })
  })

  it('offsets that are out of range', async () => {
    const topic = await makeTopic()
    await broker.produce(topic, asRecords(someTexts(5)))
    await connected(broker, {}, async (connection) => {
      const partitions = [{ partitionIndex: 0, offset: 3n }]
      await call(connection, 'deleteRecords', 2, [{ name: topic, partitions }], 1_000)
      assert.equal(await offsetOf(connection, 9, topic, earliest), 3n)
      await refused(fetchFrom(connection, topic, { offset: 2 }), 'OFFSET_OUT_OF_RANGE')
      await refused(fetchFrom(connection, topic, { offset: 6 }), 'OFFSET_OUT_OF_RANGE')
      assert.deepEqual(textsOf(await fetchFrom(connection, topic, { offset: 5 })), [])
    })
  })

  it('damaged records', async () => {
    const topic = await makeTopic()
    const request = produceV9.createRequest(1, 1_000, [{ topic, partition: 0, value: Buffer.from('whole') }])
    const damaged = Buffer.from(request.buffer)
    damaged.write('whale', damaged.indexOf('whole'))
    await connected(broker, {}, async (connection) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const answer = (error: Error | null, response?: unknown) => (error ? reject(error) : resolve(response))
      connection.send(0, 9, () => Writer.create().append(damaged), produceV9.parseResponse, true, true, answer)
      await refused(promise, 'CORRUPT_MESSAGE')
      assert.equal(await offsetOf(connection, 9, topic, latest), 0n)
    })
  })
})
