// Brokers that are old, change leaders, close connections or send invalid responses.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loopbackEgress, positionsAfter, probe, probeFails, readAll } from '../../../test/sources/conformance.ts'
import { fetchAnswer } from '../../../test/sources/kafka-answers.ts'
import { startKafkaBroker } from '../../../test/sources/kafka-broker/broker.ts'
import { type Alter, startKafkaProxy, throughKafkaProxy, withOlderVersions } from '../../../test/sources/kafka-proxy.ts'
import { recreateTopic } from '../../../test/sources/kafka-recreation.ts'
import type { KafkaServer } from '../../../test/sources/kafka-server.ts'
import {
  idsOf,
  jsonRecords,
  numbers,
  plaintextContext,
  readIds,
  shortPosition,
  sorted,
  sourceOf,
  topicWith,
  withReader,
} from '../../../test/sources/kafka-world.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { type FailureCode, NotConnected } from '../../source-shapes/source-failure.ts'
import type { Batch, ReadableSource } from '../source.ts'
import { positionOf } from './kafka-position.ts'

const apiKeys = {
  fetch: 1,
  metadata: 3,
  offsetCommit: 8,
  findCoordinator: 10,
  handshake: 17,
  apiVersions: 18,
  authenticate: 36,
} as const

describe('the Kafka source and odd brokers', () => {
  let server: KafkaServer
  let topic: string
  before(async () => {
    server = await startKafkaBroker()
    topic = await topicWith(server, jsonRecords(20, 2), 2)
  })
  after(() => server.stop())

  const throughProxy = async (
    alter: Alter,
    use: (source: ReadableSource, connectionCount: () => number) => Promise<void>,
    authentication: KafkaSource['authentication'] = 'SCRAM-SHA-256',
  ): Promise<void> =>
    throughKafkaProxy(server.listeners.saslPlain, alter, ({ address, connectionCount }) => {
      const config = { brokers: address, authentication }
      return use(sourceOf(server, topic, { config, context: plaintextContext }), connectionCount)
    })

  const releases: Record<string, Record<number, number>> = {
    'Kafka 2.4': { 1: 11, 2: 5, 3: 8, 8: 7, 10: 2, 36: 1 },
    'Kafka 2.2': { 1: 10, 2: 4, 3: 7, 8: 6, 10: 2, 36: 1 },
    'Kafka 1.1': { 1: 7, 2: 2, 3: 5, 8: 3, 10: 1, 36: 0 },
    'Kafka 1.0': { 1: 6, 2: 2, 3: 5, 8: 3, 10: 1, 36: 0 },
  }
  for (const [release, newest] of Object.entries(releases)) {
    it(`speaks with a broker that is as old as ${release}`, async () => {
      const seen = new Map<number, number>()
      const alter: Alter = ({ apiKey, apiVersion, answer }) => {
        if (apiKey === apiKeys.apiVersions) return withOlderVersions(answer, newest)
        seen.set(apiKey, apiVersion)
        return answer
      }
      await throughProxy(alter, async (source) => {
        assert.equal((await probe(source)).samples[0]?.rows.length, 20)
        await withReader(source, {}, async (reader) => {
          assert.equal((await readIds(reader, 20)).length, 20)
          await reader.acknowledge({ [`${topic}/1`]: '7' })
        })
      })
      assert.equal((await server.committedOffsets('penstock-test'))[`${topic}/1`], 7)
      for (const [apiKey, version] of seen) {
        assert.ok(version <= (newest[apiKey] ?? version), `${apiKey} with version ${version}`)
      }
      assert.ok(seen.has(apiKeys.fetch) && seen.has(apiKeys.offsetCommit) && seen.has(apiKeys.authenticate))
    })
  }

  it('reads a topic that was created again from its beginning, where brokers have no topic ids, if it is shorter', async () => {
    const alter: Alter = ({ apiKey, answer }) =>
      apiKey === apiKeys.apiVersions ? withOlderVersions(answer, releases['Kafka 2.4']!) : answer
    await throughKafkaProxy(server.listeners.saslPlain, alter, async ({ address }) => {
      const name = await topicWith(server, jsonRecords(10))
      const source = sourceOf(server, name, { config: { brokers: address }, context: plaintextContext })
      await withReader(source, {}, async (reader) => {
        assert.equal((await readIds(reader, 10)).length, 10)
        await recreateTopic(server, name, 1)
        await server.produce(name, jsonRecords(5, 1, 100))
        const signal = AbortSignal.timeout(10_000)
        const batches: Batch[] = []
        while (idsOf(batches).length < 5) {
          batches.push(...(await reader.read({ maxRecords: 100, maxBytes: 100_000, waitMs: 100, signal })))
        }
        assert.deepEqual(idsOf(batches), numbers(100, 105))
        assert.match(batches[0]?.lost?.reason ?? '', /it was created again, or the brokers have lost records/)
        assert.deepEqual(
          batches.map(({ from, next }) => [from, next]),
          [
            ['10', '0 after 1'],
            ['0 after 1', '5 after 1'],
          ],
        )
      })
    })
  })

  it('waits for a broker whose metadata still has the deleted topic', async () => {
    const name = await topicWith(server, jsonRecords(10))
    const { batches: first } = await readAll(sourceOf(server, name), {})
    await recreateTopic(server, name, 1)
    await server.produce(name, jsonRecords(5, 1, 100))
    const { batches } = await readAll(sourceOf(server, name), positionsAfter(first))
    const positions = positionsAfter(batches)
    const former = positionOf(first[0]?.next ?? '').topicId ?? ''
    const current = positionOf(positions[`${name}/0`] ?? '').topicId ?? ''
    let outdatedCount = 0
    const alter: Alter = ({ apiKey, answer }) => {
      const at = answer.indexOf(Buffer.from(current.replaceAll('-', ''), 'hex'))
      if (apiKey !== apiKeys.metadata || at < 0 || outdatedCount === 3) return answer
      outdatedCount++
      Buffer.from(former.replaceAll('-', ''), 'hex').copy(answer, at)
      return answer
    }
    await throughKafkaProxy(server.listeners.saslPlain, alter, async ({ address }) => {
      const source = sourceOf(server, name, { config: { brokers: address }, context: plaintextContext })
      await withReader(source, positions, async (reader) => {
        await server.produce(name, jsonRecords(3, 1, 105))
        assert.deepEqual(await readIds(reader, 3), [105, 106, 107])
        assert.equal(outdatedCount, 3)
      })
    })
  })

  it('sends nothing to a broker without TLS, and no credentials to a server that is not Kafka', async () => {
    const requestedKeys: number[] = []
    const alter: Alter = ({ apiKey }) => {
      requestedKeys.push(apiKey)
      return Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')
    }
    const proxy = await startKafkaProxy(server.listeners.saslPlain, alter)
    try {
      const config = { brokers: proxy.address }
      await probeFails(sourceOf(server, topic, { config }), { step: 'tls', code: 'tls_refused' }, { secrets: [] })
      assert.deepEqual(requestedKeys, [])
      const unsecured = sourceOf(server, topic, { config, context: plaintextContext })
      await probeFails(unsecured, { step: 'connect', code: 'protocol_mismatch' }, { secrets: [] })
      assert.deepEqual(requestedKeys, [apiKeys.apiVersions])
    } finally {
      await proxy.stop()
    }
  })

  it('refreshes metadata when a leader has moved, and reads everything once', async () => {
    let movedCount = 0
    const alter: Alter = ({ apiKey, count, answer }) => {
      if (apiKey !== apiKeys.fetch || count > 1) return answer
      movedCount++
      return fetchAnswer(answer, [0, 1], 6)
    }
    await throughProxy(alter, (source) =>
      withReader(source, {}, async (reader) => {
        assert.deepEqual(sorted(await readIds(reader, 20)), numbers(0, 20))
      }),
    )
    assert.equal(movedCount, 2)
  })

  it('begins at the end of a partition that had no leader when it was opened, if the offset strategy is from_latest', async () => {
    let leaderlessCount = 0
    const alter: Alter = ({ apiKey, count, answer }) => {
      if (apiKey !== apiKeys.metadata || count > 2) return answer
      // Error code 0, the partition index, and the leader id.
      const partitionAt = answer.indexOf(Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 1]), answer.indexOf(topic))
      assert.ok(partitionAt > 0)
      answer.writeInt32BE(-1, partitionAt + 6)
      leaderlessCount++
      return answer
    }
    const proxy = await startKafkaProxy(server.listeners.saslPlain, alter)
    try {
      const config = { brokers: proxy.address, offset: { strategy: 'from_latest' as const } }
      const source = sourceOf(server, topic, { config, context: plaintextContext })
      await withReader(source, {}, async (reader) => {
        const starts: string[] = []
        const signal = AbortSignal.timeout(10_000)
        // While a partition has no leader, the metadata is requested again.
        while (starts.length < 2 && !signal.aborted) {
          const read = await reader.read({ maxRecords: 10, maxBytes: 1_000, waitMs: 100, signal })
          starts.push(...read.map(({ partition, from, next }) => [partition, from, next].map(shortPosition).join(' ')))
        }
        assert.deepEqual(starts, [`${topic}/0 10 of 2 10 of 2`, `${topic}/1 10 of 2 10 of 2`])
      })
      assert.equal(leaderlessCount, 3)
    } finally {
      await proxy.stop()
    }
  })

  it('continues reading when the group coordinator cannot be reached', async () => {
    let answerCount = 0
    const alter: Alter = ({ apiKey, answer }) => {
      if (apiKey !== apiKeys.findCoordinator) return answer
      const host = Buffer.from('127.0.0.1')
      answer.writeInt32BE(1, answer.indexOf(host) + host.length)
      answerCount++
      return answer
    }
    await throughProxy(alter, (source) =>
      withReader(source, {}, async (reader) => {
        await reader.acknowledge({ [`${topic}/0`]: '1' })
        assert.equal((await readIds(reader, 20)).length, 20)
        await reader.acknowledge({ [`${topic}/0`]: '10' })
      }),
    )
    assert.equal(answerCount, 2)
  })

  it('logs in again before the session expires', async () => {
    const alter: Alter = ({ apiKey, answer }) => {
      // The session lifetime: the last eight bytes before the tagged fields.
      if (apiKey === apiKeys.authenticate) answer.writeBigInt64BE(100n, answer.length - 9)
      return answer
    }
    const use = (source: ReadableSource, connectionCount: () => number): Promise<void> =>
      withReader(source, {}, async (reader) => {
        assert.equal((await readIds(reader, 20)).length, 20)
        const countBefore = connectionCount()
        for (let reads = 0; reads < 4; reads++) {
          const signal = AbortSignal.timeout(5_000)
          assert.deepEqual(await reader.read({ maxRecords: 10, maxBytes: 1_000, waitMs: 500, signal }), [])
        }
        assert.ok(connectionCount() > countBefore, `${connectionCount()} connections`)
      })
    await throughProxy(alter, use, 'PLAIN')
  })

  it('lists the SASL mechanisms that the broker offers, if their names are known', async () => {
    const offered = ['GSSAPI', 'SCRAM-SHA-512', 'say <b>hello</b>'].map(shortText)
    const refusal = Buffer.concat([Buffer.from([0, 33, 0, 0, 0, offered.length]), ...offered])
    const alter: Alter = ({ apiKey, answer }) =>
      apiKey === apiKeys.handshake ? Buffer.concat([answer.subarray(0, 4), refusal]) : answer
    await throughProxy(alter, async (source) => {
      const expected = { step: 'authenticate', code: 'not_set_up', field: 'authentication' } as const
      const { reason } = await probeFails(source, expected, { secrets: [server.user.password] })
      assert.match(reason, /does not offer SCRAM-SHA-256, but GSSAPI and SCRAM-SHA-512$/)
    })
  })

  const scramAnswers: [string, FailureCode, (text: string) => string][] = [
    ['too many iterations', 'not_set_up', (text) => text.replace(/i=\d+/, 'i=2147483647')],
    ['too few iterations', 'credentials_refused', (text) => text.replace(/i=\d+/, 'i=1')],
    ['the nonce of another client', 'credentials_refused', (text) => text.replace(/r=../, 'r=::')],
    ['an unreadable message', 'protocol_mismatch', () => 'hello,there'],
    ['a very long message', 'protocol_mismatch', (text) => `${text},x=${'a'.repeat(5_000)}`],
  ]
  for (const [what, code, change] of scramAnswers) {
    it(`rejects a SCRAM exchange with ${what}`, async () => {
      const alter: Alter = ({ apiKey, count, answer }) => {
        if (apiKey === apiKeys.apiVersions) return withOlderVersions(answer, { [apiKeys.authenticate]: 0 })
        if (apiKey !== apiKeys.authenticate || count > 0) return answer
        // The correlation id, error code 0, no error message, and the SCRAM message with its length prefix.
        const message = Buffer.from(change(answer.subarray(12).toString()))
        const length = Buffer.alloc(4)
        length.writeInt32BE(message.length)
        return Buffer.concat([answer.subarray(0, 8), length, message])
      }
      await throughProxy(alter, async (source) => {
        await probeFails(source, { step: 'authenticate', code }, { secrets: [server.user.password] })
      })
    })
  }

  const silences: [ProbeStep, number][] = [
    ['connect', apiKeys.apiVersions],
    ['authenticate', apiKeys.handshake],
    ['authenticate', apiKeys.authenticate],
    ['describe', apiKeys.metadata],
    ['read', apiKeys.fetch],
  ]
  for (const [step, silent] of silences) {
    it(`ends in time in the step ${step} when request ${silent} is not answered`, async () => {
      const alter: Alter = ({ apiKey, answer }) => (apiKey === silent ? 'be silent' : answer)
      await throughProxy(alter, async (source) => {
        const startedAtMs = performance.now()
        await probeFails(source, { step, code: 'timed_out' }, { secrets: [], timeoutMs: 500 })
        const tookMs = performance.now() - startedAtMs
        assert.ok(tookMs < 8_000, `${tookMs} ms`)
      })
    })
  }

  const breaks: [string, number, ProbeStep, { broken: FailureCode; garbled: FailureCode }][] = [
    [
      'the first request',
      apiKeys.apiVersions,
      'connect',
      { broken: 'protocol_mismatch', garbled: 'protocol_mismatch' },
    ],
    ['the SASL handshake', apiKeys.handshake, 'authenticate', { broken: 'not_set_up', garbled: 'protocol_mismatch' }],
    [
      'the SASL authentication',
      apiKeys.authenticate,
      'authenticate',
      { broken: 'credentials_refused', garbled: 'protocol_mismatch' },
    ],
    ['the metadata request', apiKeys.metadata, 'describe', { broken: 'source_failed', garbled: 'source_failed' }],
    ['the fetch request', apiKeys.fetch, 'read', { broken: 'source_failed', garbled: 'source_failed' }],
  ]
  for (const [which, wrong, step, { broken, garbled }] of breaks) {
    it(`reports that ${which} was not answered, or with an invalid response`, async () => {
      const nonsense = Buffer.from('this is not what was asked for, by far')
      const replacements: [FailureCode, (answer: Buffer) => Buffer | 'break off'][] = [
        [broken, () => 'break off'],
        [garbled, (answer) => Buffer.concat([answer.subarray(0, 4), nonsense])],
        [garbled, () => nonsense],
      ]
      for (const [code, replace] of replacements) {
        const alter: Alter = ({ apiKey, answer }) => (apiKey === wrong ? replace(answer) : answer)
        await throughProxy(alter, async (source) => {
          await probeFails(source, { step, code }, { secrets: [server.user.password] })
          const options = { egress: loopbackEgress, signal: AbortSignal.timeout(5_000) }
          const reading = source.open({}, options).then((reader) => readIds(reader, 20).finally(reader.close))
          await assert.rejects(reading, NotConnected)
        })
      }
    })
  }
})

function shortText(value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeInt16BE(value.length)
  return Buffer.concat([length, Buffer.from(value)])
}
