// Our in-process broker against librdkafka (kcat of Debian), a client that shares no code with it. This verifies that the broker
// of `npm test` speaks the Kafka protocol.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { startKafkaBroker } from '../sources/kafka-broker/broker.ts'
import type { KafkaCompression, KafkaListeners, KafkaServer, Login } from '../sources/kafka-server.ts'
import { debianProgram } from './servers/installed.ts'

interface Connection {
  listener: keyof KafkaListeners
  mechanism?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  login?: Login
  hasClientCertificate?: boolean
}

describe('kcat and our broker', () => {
  const kcat = debianProgram('kcat', '/usr/bin/kcat')
  let server: KafkaServer
  let folder: string
  let topics = 0

  before(async () => {
    server = await startKafkaBroker()
    folder = await mkdtemp(join(tmpdir(), 'penstock-kcat-'))
    await writeFile(join(folder, 'ca.pem'), server.ca)
    await writeFile(join(folder, 'client.pem'), server.client.cert)
    await writeFile(join(folder, 'client.key'), server.client.key, { mode: 0o600 })
  })
  after(async () => {
    await server.stop()
    await rm(folder, { recursive: true })
  })

  async function createTopic(partitions: number): Promise<string> {
    topics += 1
    await server.createTopic(`kcat-${topics}`, partitions)
    return `kcat-${topics}`
  }

  /** Resolves to the output of kcat. */
  async function run(connection: Connection, options: string[], input = ''): Promise<string> {
    const { listener, mechanism, login = server.user, hasClientCertificate } = connection
    const isTls = !['plain', 'saslPlain'].includes(listener)
    const settings = [
      `security.protocol=${mechanism ? 'sasl_' : ''}${isTls ? 'ssl' : 'plaintext'}`,
      ...(isTls ? [`ssl.ca.location=${join(folder, 'ca.pem')}`] : []),
      ...(mechanism
        ? [`sasl.mechanism=${mechanism}`, `sasl.username=${login.username}`, `sasl.password=${login.password}`]
        : []),
      ...(hasClientCertificate
        ? [`ssl.certificate.location=${join(folder, 'client.pem')}`, `ssl.key.location=${join(folder, 'client.key')}`]
        : []),
    ]
    const args = ['-b', server.listeners[listener], ...settings.flatMap((setting) => ['-X', setting]), ...options]
    const child = spawn(kcat, args, { timeout: 30_000, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const [written, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    if (code !== 0) throw new Error(`kcat ends with ${code}: ${said}`)
    return written
  }

  const produce = (connection: Connection, topic: string, lines: string[], options: string[] = []) =>
    run(connection, ['-P', '-t', topic, '-p', '0', ...options], `${lines.join('\n')}\n`)

  async function consume(connection: Connection, topic: string, format = '%s\\n'): Promise<string[]> {
    const written = await run(connection, ['-C', '-t', topic, '-o', 'beginning', '-e', '-q', '-f', format])
    return written.split('\n').slice(0, -1)
  }

  /** kcat always uses its whole timeout when it is refused: retry with a longer one only on a busy machine. */
  async function failsToList(connection: Connection, expected: RegExp): Promise<void> {
    for (const seconds of [1, 5, 15]) {
      const { message } = await run(connection, ['-L', '-m', String(seconds)]).then(
        () => assert.fail('it should have failed'),
        (error: Error) => error,
      )
      if (expected.test(message) || seconds === 15) return assert.match(message, expected, connection.mechanism)
    }
  }

  const connections: Connection[] = [
    { listener: 'plain' },
    { listener: 'tls' },
    { listener: 'mutualTls', hasClientCertificate: true },
    ...(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const).flatMap((mechanism) => [
      { listener: 'saslPlain' as const, mechanism },
      { listener: 'saslTls' as const, mechanism },
    ]),
  ]
  for (const connection of connections) {
    it(`kcat reads its own records on ${[connection.listener, connection.mechanism].join(' ')}`, async () => {
      const topic = await createTopic(1)
      await produce(connection, topic, ['{"n":1}', '{"n":2}', '{"n":3}'])
      assert.deepEqual(await consume(connection, topic, '%o %s\\n'), ['0 {"n":1}', '1 {"n":2}', '2 {"n":3}'])
    })
  }

  const compressions: KafkaCompression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
  for (const compression of compressions) {
    it(`kcat reads its own ${compression} and ours`, async () => {
      const topic = await createTopic(1)
      const lines = Array.from({ length: 50 }, (_, n) => JSON.stringify({ n, text: 'the same again and again' }))
      await produce({ listener: 'plain' }, topic, lines, compression === 'none' ? [] : ['-z', compression])
      await server.produce(
        topic,
        lines.map((line) => ({ partition: 0, value: Buffer.from(line) })),
        compression,
      )
      assert.deepEqual(await consume({ listener: 'plain' }, topic), [...lines, ...lines])
    })
  }

  it('kcat sees partitions, keys and timestamps as we wrote them', async () => {
    const topic = await createTopic(2)
    const records = [
      { partition: 0, key: 'a', value: Buffer.from('zero'), timestampMs: 1_700_000_000_001 },
      { partition: 1, key: 'b', value: Buffer.from('one'), timestampMs: 1_700_000_000_002 },
    ]
    await server.produce(topic, records)
    const read = await consume({ listener: 'plain' }, topic, '%p %k %T %s\\n')
    assert.deepEqual(read.toSorted(), ['0 a 1700000000001 zero', '1 b 1700000000002 one'])
  })

  it('kcat finds the offset of a time', async () => {
    const topic = await createTopic(1)
    const times = [1_700_000_000_000, 1_700_000_060_000, 1_700_000_120_000]
    await server.produce(
      topic,
      times.map((timestampMs) => ({ partition: 0, value: Buffer.from('x'), timestampMs })),
    )
    const written = await run({ listener: 'plain' }, ['-Q', '-t', `${topic}:0:${times[1]}`])
    assert.match(written, /offset 1\s*$/)
  })

  it('kcat is refused with a wrong password', async () => {
    const login = { ...server.user, password: 'something else' }
    for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
      await failsToList({ listener: 'saslTls', mechanism, login }, /SASL authentication error/)
    }
  })

  it('kcat refuses invalid certificates, and is refused without one', async () => {
    await failsToList({ listener: 'expired', mechanism: 'PLAIN' }, /certificate (has expired|verify failed)/)
    await failsToList({ listener: 'otherHost', mechanism: 'PLAIN' }, /certificate|host/)
    await failsToList({ listener: 'mutualTls' }, /kcat ends with/)
  })

  it('kcat gets errors for a missing topic, and for one without permission', async () => {
    await assert.rejects(consume({ listener: 'plain' }, 'nothing'), /[Uu]nknown topic/)
    const topic = await createTopic(1)
    const powerless = { listener: 'saslTls', mechanism: 'PLAIN', login: server.powerlessUser } as const
    await assert.rejects(consume(powerless, topic), /authorization failed/)
  })
})
