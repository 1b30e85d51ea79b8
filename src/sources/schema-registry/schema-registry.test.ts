import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Certificates, makeCertificates } from '../../../test/sources/certificates.ts'
import { loopbackEgress, probeFails, strictEgress } from '../../../test/sources/conformance.ts'
import {
  type SchemaRegistryOptions,
  type SchemaRegistryServer,
  startSchemaRegistry,
} from '../../../test/sources/schema-registry-server.ts'
import type { FailureCode } from '../../source-shapes/source-failure.ts'
import type { Source } from '../source.ts'
import { makeSchemaRegistry, type SchemaRegistryAddress } from './schema-registry.ts'

const login = { username: 'registry-user', password: 'registry-password' }
const order = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'

let certificates: Certificates
const servers: SchemaRegistryServer[] = []

before(async () => {
  certificates = await makeCertificates()
})
after(() => Promise.all(servers.map((server) => server.stop())))

async function start(options?: SchemaRegistryOptions): Promise<SchemaRegistryServer> {
  const server = await startSchemaRegistry(options)
  servers.push(server)
  return server
}

const context = { caCertificates: undefined, allowPlaintext: true }

function registryAt(address: SchemaRegistryAddress, more: { caCertificates?: string; allowPlaintext?: boolean } = {}) {
  return makeSchemaRegistry(address, {
    egress: loopbackEgress,
    signal: AbortSignal.timeout(10_000),
    ...context,
    ...more,
  })
}

/** A source that only loads a schema, so that failures are checked like those of every source. */
function asking(address: SchemaRegistryAddress, id = 1, more: Partial<typeof context> = {}): Source {
  return {
    async probe({ egress, signal, begin }) {
      begin('decode')
      await makeSchemaRegistry(address, { egress, signal, ...context, ...more }).loadSchema(id, 'record 2')
      return { samples: [] }
    },
  }
}

async function fails(
  source: Source,
  code: FailureCode,
  field: string,
  options: Partial<Parameters<typeof probeFails>[2]> = {},
): Promise<string> {
  const expected = { step: 'decode', code, field: `schemaRegistry.${field}` } as const
  const { reason } = await probeFails(source, expected, { secrets: Object.values(login), ...options })
  return reason
}

describe('schema registry', () => {
  it('loads a schema by its id once', async () => {
    const server = await start()
    const id = server.register(order)
    const registry = registryAt({ url: server.url })
    const expected = { type: 'AVRO', schema: order, references: [] }
    assert.deepEqual(await Promise.all([registry.loadSchema(id), registry.loadSchema(id)]), [expected, expected])
    assert.deepEqual(await registry.loadSchema(id), expected)
    assert.deepEqual(server.requests, ['/schemas/ids/1'])
  })

  it('retries after a failure', async () => {
    const server = await start()
    const registry = registryAt({ url: server.url })
    await assert.rejects(registry.loadSchema(1))
    server.register(order)
    assert.equal((await registry.loadSchema(1)).schema, order)
  })

  it('keeps at most 100 schemas', async () => {
    const server = await start()
    const registry = registryAt({ url: server.url })
    for (let id = 1; id <= 101; id++) {
      server.register(order)
      await registry.loadSchema(id)
    }
    await registry.loadSchema(101)
    assert.equal(server.requests.length, 101)
    await registry.loadSchema(1)
    assert.equal(server.requests.length, 102)
  })

  it('finds the registry below the path of its url, with or without a slash at the end', async () => {
    const server = await start({ pathPrefix: '/apis/ccompat/v7' })
    server.register(order)
    for (const url of [server.url, `${server.url}/`]) {
      assert.equal((await registryAt({ url }).loadSchema(1)).schema, order)
    }
    assert.deepEqual(new Set(server.requests), new Set(['/apis/ccompat/v7/schemas/ids/1']))
  })

  it('loads references once each, the innermost first', async () => {
    const server = await start()
    server.register('"inmost"', 'JSON', [], 'in/most')
    const inmost = { name: 'inmost', subject: 'in/most', version: 1 }
    server.register('"left"', 'JSON', [inmost], 'left')
    server.register('"right"', 'JSON', [inmost], 'right')
    const references = ['left', 'right'].map((name) => ({ name, subject: name, version: 1 }))
    const id = server.register('"outer"', 'JSON', references, 'outer')
    const loaded = await registryAt({ url: server.url }).loadSchema(id)
    assert.equal(loaded.type, 'JSON')
    assert.deepEqual(
      loaded.references.map(({ name, schema }) => [name, schema]),
      [
        ['inmost', '"inmost"'],
        ['left', '"left"'],
        ['right', '"right"'],
      ],
    )
    assert.equal(server.requests.length, 4)
  })

  it('handles circular references, and rejects too many', async () => {
    const server = await start()
    server.register('1', 'JSON', [{ name: 'two', subject: 'two', version: 1 }], 'one')
    server.register('2', 'JSON', [{ name: 'one', subject: 'one', version: 1 }], 'two')
    assert.equal((await registryAt({ url: server.url }).loadSchema(1)).references.length, 2)
    for (let level = 3; level <= 20; level++) {
      const next = `level-${level + 1}`
      server.register('0', 'JSON', [{ name: next, subject: next, version: 1 }], `level-${level}`)
    }
    await fails(asking({ url: server.url }, 3), 'source_failed', 'url')
    assert.ok(server.requests.length < 20)
  })

  it('authenticates', async () => {
    const server = await start({ credentials: login })
    server.register(order)
    assert.equal((await registryAt({ url: server.url, credentials: login }).loadSchema(1)).schema, order)
  })

  it('trusts the given authority, and those of the operator', async () => {
    const server = await start({ certificate: certificates.server, credentials: login })
    server.register(order)
    const { url } = server
    const registries = [
      registryAt({ url, credentials: login, caCertificate: certificates.ca }, { allowPlaintext: false }),
      registryAt({ url, credentials: login }, { caCertificates: certificates.ca, allowPlaintext: false }),
    ]
    for (const registry of registries) assert.equal((await registry.loadSchema(1)).schema, order)
  })
})

describe('failures of a schema registry', () => {
  it('report an unknown id', async () => {
    const server = await start()
    const reason = await fails(asking({ url: server.url }, 17), 'not_found', 'url')
    assert.equal(reason, 'record 2 names schema 17, which the schema registry does not have')
  })

  it('report an unknown reference', async () => {
    const server = await start()
    server.register(order, 'AVRO', [{ name: 'gone', subject: 'gone', version: 3 }])
    await fails(asking({ url: server.url }), 'not_found', 'url')
  })

  it('report wrong and missing credentials', async () => {
    const server = await start({ credentials: login })
    server.register(order)
    const wrong = { username: login.username, password: 'wrong-password' }
    const secrets = [login.username, login.password, wrong.password]
    const { url } = server
    assert.equal(
      await fails(asking({ url, credentials: wrong }), 'credentials_refused', 'credentials', { secrets }),
      `the schema registry at http://127.0.0.1:${server.port} does not accept the user name and password`,
    )
    assert.match(await fails(asking({ url }), 'credentials_refused', 'credentials'), /asks for a user name/)
  })

  it('include a password over http unless the operator allows it', async () => {
    const server = await start({ credentials: login })
    server.register(order)
    const source = asking({ url: server.url, credentials: login }, 1, { allowPlaintext: false })
    await fails(source, 'tls_refused', 'url')
    assert.deepEqual(server.requests, [])
  })

  it('report a schema without permission', async () => {
    const server = await start({ credentials: login })
    server.forbid(server.register(order))
    await fails(asking({ url: server.url, credentials: login }), 'permission_missing', 'credentials')
  })

  it('report certificate errors', async () => {
    const { expired, otherHost, server: good, ca: caCertificate } = certificates
    const url = async (certificate: typeof good): Promise<string> => (await start({ certificate })).url
    await fails(asking({ url: await url(expired), caCertificate }), 'certificate_expired', 'url')
    await fails(asking({ url: await url(otherHost), caCertificate }), 'certificate_of_other_host', 'url')
    await fails(asking({ url: await url(good) }), 'certificate_untrusted', 'caCertificate')
    const unreadable = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'
    const source = asking({ url: await url(good), caCertificate: unreadable })
    await fails(source, 'certificate_untrusted', 'caCertificate')
  })

  it('report denied, unknown and unreachable hosts', async () => {
    const server = await start()
    server.register(order)
    const { url, port } = server
    await fails(asking({ url }), 'address_denied', 'url', { egress: strictEgress })
    assert.deepEqual(server.requests, [])
    await fails(asking({ url: 'http://no-such-host.invalid' }), 'host_unknown', 'url')
    await fails(asking({ url: `https://127.0.0.1:${port}` }), 'tls_refused', 'url')
    const closed = await start()
    await closed.stop()
    servers.pop()
    await fails(asking({ url: closed.url }), 'connection_refused', 'url')
  })

  it('include the timeout of the probe', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const started = performance.now()
    await fails(asking({ url: `http://127.0.0.1:${port}` }), 'timed_out', 'url', { timeoutMs: 300 })
    assert.ok(performance.now() - started < 8_000)
    silent.close()
    // Emitted only when all connections are closed.
    await once(silent, 'close')
  })

  it('report answers of other servers', async () => {
    const server = await start()
    const { url } = server
    const failsWith = async (code: FailureCode, ...answer: Parameters<typeof server.answerWith>): Promise<string> => {
      server.answerWith(...answer)
      return fails(asking({ url }), code, 'url')
    }
    await failsWith('protocol_mismatch', 200, '<html>')
    await failsWith('protocol_mismatch', 200, '{"schema":1}')
    await failsWith('protocol_mismatch', 200, '{"schema":"","schemaType":"THRIFT"}')
    await failsWith('protocol_mismatch', 200, '{"schema":"","references":[{}]}')
    const lone = '{"schema":"","references":[{"name":"a","subject":"\\ud800","version":1}]}'
    await failsWith('protocol_mismatch', 200, lone)
    await failsWith('protocol_mismatch', 404, 'not here')
    await failsWith('protocol_mismatch', 418, '')
    await failsWith('protocol_mismatch', 200, JSON.stringify({ schema: 'x'.repeat(1024 * 1024) }))
    await failsWith('source_failed', 429, '')
    const reason = await failsWith('source_failed', 500, 'stack trace of registry-password')
    assert.match(reason, /with status 500/)
    const before = server.requests.length
    await failsWith('protocol_mismatch', 302, '', { location: `${url}/subjects` })
    assert.equal(server.requests.length, before + 1, 'a redirect is not followed')
  })
})
