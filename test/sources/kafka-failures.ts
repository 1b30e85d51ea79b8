// Failing probes of a Kafka source: each cause has its own failure, and no secret is shown.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Egress } from '../../src/lib/egress.ts'
import type { KafkaSource } from '../../src/source-shapes/kafka-source.ts'
import { probe, probeFails, strictEgress } from './conformance.ts'
import type { KafkaServer, KeyPair, Login } from './kafka-server.ts'
import { jsonRecords, plaintextContext, sourceOf, strictContext, topicWith } from './kafka-world.ts'
import { closedPort, startSilent, startWeb } from './odd-servers.ts'

const wrongPassword = 'not-the-password-at-all'
const resolvesNothing = new Egress({ allowLoopback: true, deniedAddresses: [] }, async () => [])

export function kafkaFailures(running: () => KafkaServer): void {
  describe('a probe that fails', () => {
    describeCredentials(running)
    describeTopics(running)
    describeTls(running)
    describeWay(running)
    describeRecords(running)
  })
}

function secretsOf({ user, powerlessUser, client, strangeClient }: KafkaServer): string[] {
  return [user.password, powerlessUser.password, client.key, strangeClient.key, wrongPassword]
}

function describeCredentials(running: () => KafkaServer): void {
  const failsWith = async (authentication: KafkaSource['authentication'], login: Login): Promise<void> => {
    const server = running()
    const source = sourceOf(server, 'any', { config: { authentication }, secrets: { credentials: { ...login } } })
    const expected = { step: 'authenticate', code: 'credentials_refused', field: 'credentials' } as const
    const { reason } = await probeFails(source, expected, { secrets: secretsOf(server) })
    assert.ok(reason.includes(server.listeners.saslTls), reason)
  }

  for (const authentication of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
    it(`reports a password rejected by ${authentication}`, () =>
      failsWith(authentication, { username: running().user.username, password: wrongPassword }))

    it(`reports a user unknown to ${authentication}`, () =>
      failsWith(authentication, { username: 'nobody-knows-me', password: wrongPassword }))

    it(`reports a listener without ${authentication}`, async () => {
      const server = running()
      const source = sourceOf(server, 'any', { config: { authentication, brokers: server.listeners.tls } })
      const expected = { step: 'authenticate', code: 'not_set_up', field: 'authentication' } as const
      await probeFails(source, expected, { secrets: secretsOf(server) })
    })
  }

  const mutual = (server: KafkaServer, { cert: certificate, key: privateKey }: KeyPair) =>
    sourceOf(server, 'any', {
      config: { authentication: 'MUTUAL_TLS', brokers: server.listeners.mutualTls },
      secrets: { credentials: { certificate, privateKey } },
    })

  it('reports a rejected client certificate', async () => {
    const server = running()
    const expected = { step: 'authenticate', code: 'credentials_refused', field: 'credentials' } as const
    await probeFails(mutual(server, server.strangeClient), expected, { secrets: secretsOf(server) })
  })

  it('reports a key that does not match the client certificate', async () => {
    const server = running()
    const source = mutual(server, { cert: server.client.cert, key: server.strangeClient.key })
    const expected = { step: 'tls', code: 'credentials_refused', field: 'credentials' } as const
    await probeFails(source, expected, { secrets: secretsOf(server) })
  })

  it('reports that a client certificate is required', async () => {
    const server = running()
    const source = sourceOf(server, 'any', { config: { brokers: server.listeners.mutualTls } })
    const expected = { step: 'authenticate', code: 'credentials_refused', field: 'authentication' } as const
    await probeFails(source, expected, { secrets: secretsOf(server) })
  })
}

function describeTopics(running: () => KafkaServer): void {
  it('names the topic that does not exist', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(1))
    const source = sourceOf(server, `${topic},no-such-topic`)
    const expected = { step: 'describe', code: 'not_found', field: 'topics' } as const
    const { reason } = await probeFails(source, expected, { secrets: secretsOf(server) })
    assert.match(reason, /"no-such-topic"/)
    // The request has not created the topic.
    await probeFails(source, expected, { secrets: [] })
  })

  it('names the topic that the user may not describe', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(1))
    const source = sourceOf(server, topic, { secrets: { credentials: { ...server.powerlessUser } } })
    const expected = { step: 'describe', code: 'permission_missing', field: 'topics' } as const
    const { reason, remedy } = await probeFails(source, expected, { secrets: secretsOf(server) })
    assert.ok(reason.includes(`"${topic}"`), reason)
    assert.match(remedy, /Describe and Read/)
  })
}

function describeTls(running: () => KafkaServer): void {
  const failsWith = async (
    config: Partial<KafkaSource>,
    code: 'certificate_expired' | 'certificate_of_other_host' | 'certificate_untrusted',
    field: 'brokers' | 'caCertificate',
    caCertificate?: string | null,
  ): Promise<void> => {
    const server = running()
    const parts = { config, ...(caCertificate === undefined ? {} : { caCertificate }) }
    // Also where plaintext is allowed: an invalid certificate must not cause a downgrade.
    for (const context of [strictContext, plaintextContext]) {
      const source = sourceOf(server, 'any', { ...parts, context })
      await probeFails(source, { step: 'tls', code, field }, { secrets: secretsOf(server) })
    }
  }

  it('reports an expired certificate of the broker', () =>
    failsWith({ brokers: running().listeners.expired }, 'certificate_expired', 'brokers'))

  it('reports a certificate of another host', () =>
    failsWith({ brokers: running().listeners.otherHost }, 'certificate_of_other_host', 'brokers'))

  it('reports an untrusted certificate of the broker', () =>
    failsWith({}, 'certificate_untrusted', 'caCertificate', null))

  it('reports an invalid caCertificate', () =>
    failsWith(
      {},
      'certificate_untrusted',
      'caCertificate',
      '-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n',
    ))

  it('reports a broker without TLS', async () => {
    const server = running()
    const source = sourceOf(server, 'any', { config: { brokers: server.listeners.saslPlain } })
    const expected = { step: 'tls', code: 'tls_refused', field: 'brokers' } as const
    const { remedy } = await probeFails(source, expected, { secrets: secretsOf(server) })
    assert.match(remedy, /PENSTOCK_ALLOW_PLAINTEXT=true/)
  })

  it('never uses plaintext with MUTUAL_TLS', async () => {
    const server = running()
    const { cert: certificate, key: privateKey } = server.client
    const source = sourceOf(server, 'any', {
      config: { authentication: 'MUTUAL_TLS', brokers: server.listeners.plain },
      secrets: { credentials: { certificate, privateKey } },
      context: plaintextContext,
    })
    await probeFails(source, { step: 'tls', code: 'tls_refused' }, { secrets: secretsOf(server) })
  })
}

function describeWay(running: () => KafkaServer): void {
  it('reports a closed port', async () => {
    const server = running()
    const brokers = `127.0.0.1:${await closedPort()}`
    const source = sourceOf(server, 'any', { config: { brokers } })
    const expected = { step: 'connect', code: 'connection_refused', field: 'brokers' } as const
    const { reason } = await probeFails(source, expected, { secrets: secretsOf(server) })
    assert.ok(reason.includes(brokers), reason)
  })

  it('reports how many brokers were tried, and the failure of the first', async () => {
    const server = running()
    const brokers = [
      `127.0.0.1:${await closedPort()}`,
      `127.0.0.1:${await closedPort()}`,
      `127.0.0.1:${await closedPort()}`,
    ]
    const source = sourceOf(server, 'any', { config: { brokers: brokers.join(',') } })
    const expected = { step: 'connect', code: 'connection_refused', field: 'brokers' } as const
    const { reason } = await probeFails(source, expected, { secrets: secretsOf(server) })
    assert.ok(reason.includes(brokers[0]!), reason)
    assert.match(reason, /\b3 brokers\b/)
  })

  it('reports a host name that does not resolve', async () => {
    const server = running()
    const source = sourceOf(server, 'any', { config: { brokers: 'kafka.example:9093' } })
    const expected = { step: 'connect', code: 'host_unknown', field: 'brokers' } as const
    const { reason } = await probeFails(source, expected, { secrets: secretsOf(server), egress: resolvesNothing })
    assert.match(reason, /kafka\.example:9093/)
  })

  it('reports addresses that the egress denies', async () => {
    const server = running()
    const expected = { step: 'connect', code: 'address_denied', field: 'brokers' } as const
    await probeFails(sourceOf(server, 'any'), expected, { secrets: secretsOf(server), egress: strictEgress })
  })

  it('reports a silent host in time, and closes its connections', async () => {
    const server = running()
    const silent = await startSilent()
    try {
      for (const context of [strictContext, plaintextContext]) {
        const config = { brokers: `127.0.0.1:${silent.port}` }
        const startedAtMs = performance.now()
        // The step is known only after the TLS handshake or its timeout.
        const options = { secrets: secretsOf(server), timeoutMs: 1_000, timedStep: 'connect' } as const
        const expected = { step: 'tls', code: 'timed_out', field: 'brokers' } as const
        await probeFails(sourceOf(server, 'any', { config, context }), expected, options)
        const tookMs = performance.now() - startedAtMs
        assert.ok(tookMs < 8_000, `${tookMs} ms`)
      }
      for (let waits = 0; silent.connections() > 0 && waits < 500; waits++) await setTimeout(10)
      assert.equal(silent.connections(), 0)
    } finally {
      await silent.stop()
    }
  })

  it('reports a web server as not Kafka', async () => {
    const server = running()
    const web = await startWeb(200, 'text/plain', 'hello')
    try {
      const config = { brokers: `127.0.0.1:${web.port}` }
      const secrets = secretsOf(server)
      await probeFails(sourceOf(server, 'any', { config }), { step: 'tls', code: 'tls_refused' }, { secrets })
      const unsecured = sourceOf(server, 'any', { config, context: plaintextContext })
      const expected = { step: 'connect', code: 'protocol_mismatch', field: 'brokers' } as const
      await probeFails(unsecured, expected, { secrets })
    } finally {
      await web.stop()
    }
  })

  it('does not connect to advertised addresses that the egress denies', async (test) => {
    const server = running()
    if (!server.advertise) return test.skip('this server advertises what it has been started with')
    const topic = await topicWith(server, jsonRecords(1))
    try {
      for (const host of ['169.254.169.254', '0x7f.1', 'not a host <b>']) {
        server.advertise(host)
        const expected = { step: 'connect', code: 'address_denied', field: 'brokers' } as const
        const failure = await probeFails(sourceOf(server, topic), expected, { secrets: secretsOf(server) })
        assert.match(failure.reason, /advertised by the brokers|the brokers advertise/)
        assert.match(failure.remedy, /advertised\.listeners/)
        assert.equal(failure.reason.includes(host), host === '169.254.169.254')
      }
    } finally {
      server.advertise('127.0.0.1')
    }
  })

  it('ends when the signal aborts, at any time', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(10))
    for (const afterMs of [0, 1, 3, 5, 10, 20]) {
      const source = sourceOf(server, topic, { config: { authentication: 'SCRAM-SHA-512' } })
      // On a fast machine the last ones may finish before they are aborted.
      await probe(source, { timeoutMs: afterMs }).catch((error) => {
        assert.equal(error.code, 'timed_out', error.stack)
      })
    }
  })
}

function describeRecords(running: () => KafkaServer): void {
  const failsWith = async (format: KafkaSource['format'], value: string): Promise<void> => {
    const server = running()
    const values = ['{"id":1}', '{"id":2}', value].map((text) => ({ partition: 0, value: Buffer.from(text) }))
    const topic = await topicWith(server, format === 'JSONEachRow' ? values : values.slice(2))
    const expected = { step: 'decode', code: 'undecodable', field: 'format' } as const
    const source = sourceOf(server, topic, { config: { format } })
    const { reason } = await probeFails(source, expected, { secrets: secretsOf(server) })
    const offset = format === 'JSONEachRow' ? 2 : 0
    assert.ok(reason.includes(`offset ${offset} in partition 0 of the topic "${topic}"`), reason)
  }

  it('names the record that is not JSON', () => failsWith('JSONEachRow', '<order id="3"/>'))

  it('names the record that is not Avro', () => failsWith('Avro', '{"id":3}'))

  it('reports a format that needs a schema registry', async () => {
    const server = running()
    const topic = await topicWith(server, jsonRecords(1))
    const source = sourceOf(server, topic, { config: { format: 'Protobuf' } })
    await probeFails(source, { step: 'decode', code: 'not_set_up' }, { secrets: secretsOf(server) })
  })

  it('reports an unreachable schema registry', async () => {
    const server = running()
    const topic = await topicWith(server, [{ partition: 0, value: Buffer.from([0, 0, 0, 0, 1, 2]) }])
    const schemaRegistry = { url: `https://127.0.0.1:${await closedPort()}` }
    const source = sourceOf(server, topic, { config: { format: 'AvroConfluent', schemaRegistry } })
    await probeFails(source, { step: 'decode', code: 'connection_refused' }, { secrets: secretsOf(server) })
  })
}
