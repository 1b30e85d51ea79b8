import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { createServer as createTlsServer, type TlsOptions as ServerOptions } from 'node:tls'
import { type Certificates, makeCertificates } from '../../test/sources/certificates.ts'
import { Egress, EgressError } from './egress.ts'
import { tlsFailureOf, trustWith } from './egress-tls.ts'

const egress = new Egress({ allowLoopback: true, deniedAddresses: [] })

describe('TLS of the egress', () => {
  let certificates: Certificates
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  before(async () => {
    certificates = await makeCertificates()
  })
  after(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })

  async function listen(server: Server): Promise<number> {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
    })
    server.on('tlsClientError', () => undefined)
    servers.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }
  const listenTls = (options: ServerOptions) => listen(createTlsServer(options))

  async function failureOf(
    port: number,
    tls: object = { ca: certificates.ca },
    timeoutMs = 10_000,
  ): Promise<EgressError> {
    const failure = await egress.connectTls('127.0.0.1', port, { timeoutMs, tls }).then(
      (socket) => void socket.destroy(),
      (error: unknown) => error,
    )
    assert.ok(failure instanceof EgressError, 'it should have failed')
    return failure
  }

  it('connects to a trusted server, with its own authority alone or added to the default ones', async () => {
    const port = await listenTls(certificates.server)
    for (const tls of [{ ca: certificates.ca }, trustWith(certificates.ca)]) {
      const socket = await egress.connectTls('127.0.0.1', port, { timeoutMs: 10_000, tls })
      assert.equal(socket.authorized, true)
      socket.destroy()
    }
    assert.deepEqual(trustWith(undefined), {})
  })

  it('distinguishes certificate errors', async () => {
    assert.equal((await failureOf(await listenTls(certificates.expired))).tls, 'expired')
    assert.equal((await failureOf(await listenTls(certificates.otherHost))).tls, 'other host')
    const port = await listenTls(certificates.server)
    assert.equal((await failureOf(port, {})).tls, 'untrusted')
    for (const code of ['UNSPECIFIED', 'PATH_LENGTH_EXCEEDED', 'CERT_REVOKED', 'SELF_SIGNED_CERT_IN_CHAIN']) {
      assert.equal(tlsFailureOf(code), 'untrusted')
    }
    for (const code of ['ECONNRESET', 'EPIPE', 'ERR_SSL_WRONG_VERSION_NUMBER', undefined]) {
      assert.equal(tlsFailureOf(code), 'no tls')
    }
  })

  it('distinguishes a server without TLS from one that does not answer', async () => {
    const other = await listen(createPlainServer((socket) => socket.end('220 mail\r\n')))
    assert.equal((await failureOf(other)).tls, 'no tls')
    const silent = await listen(createPlainServer((socket) => socket.resume()))
    assert.equal((await failureOf(silent, undefined, 500)).tls, 'silent')
  })

  it('rejects a certificate even if the environment disables the check', async () => {
    const port = await listenTls(certificates.server)
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      assert.equal((await failureOf(port, {})).tls, 'untrusted')
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    }
  })
})
