// Listeners on this machine show what is reached: only what a route names, and never our own database.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { type Certificates, makeCertificates } from '../../test/sources/certificates.ts'
import { Egress, EgressError, type EgressPolicy } from './egress.ts'
import { routedEgress } from './egress-routes.ts'
import { parseReversePrivateEndpoints, type Routes } from './reverse-private-endpoints.ts'

const strict: EgressPolicy = { allowLoopback: false, deniedAddresses: [] }
const nothingResolves = async (): Promise<string[]> => []

function routesOf(routes: Record<string, string>): Routes {
  const file = { 'rpe-1': { organizationId: '1b4e28ba-2fa1-41d2-883f-0016d3cca427', routes } }
  const endpoints = parseReversePrivateEndpoints(JSON.stringify(file), (problem) => assert.fail(problem))
  return endpoints.get('rpe-1')!.routes
}

describe('an egress with routes', () => {
  const servers: Server[] = []
  let certificates: Certificates
  let onePort: number
  let otherPort: number
  let tlsPort: number

  const listen = async (server: Server): Promise<number> => {
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  before(async () => {
    certificates = await makeCertificates()
    onePort = await listen(createServer((socket) => socket.end('one')))
    otherPort = await listen(createServer((socket) => socket.end('other')))
    tlsPort = await listen(createTlsServer(certificates.otherHost, (socket) => socket.end('secured')))
  })
  after(async () => {
    const closed = servers.map((server) => once(server, 'close'))
    for (const server of servers) server.close()
    await Promise.all(closed)
  })

  interface Setup {
    routes: Record<string, string>[]
    policy?: EgressPolicy
    resolve?: (name: string) => Promise<string[]>
  }
  const egressWith = ({ routes, policy = strict, resolve = nothingResolves }: Setup): Egress =>
    routedEgress(new Egress(policy, resolve), routes.map(routesOf))

  /** The answer of the listener, or the failure. */
  const ask = async (egress: Egress, host: string, port: number): Promise<string> => {
    try {
      const socket = await egress.connect(host, port, { timeoutMs: 10_000 })
      return (await socket.setEncoding('utf8').toArray()).join('')
    } catch (error) {
      assert.ok(error instanceof EgressError, String(error))
      return error.message
    }
  }

  it('dials the address of the route, also on this machine', async () => {
    const egress = egressWith({ routes: [{ 'b-1.internal:9092': `127.0.0.1:${onePort}` }] })
    assert.equal(await ask(egress, 'b-1.internal', 9092), 'one')
    assert.equal(await ask(egress, 'B-1.INTERNAL', 9092), 'one')
  })

  it('uses the requested port when the address has no port', async () => {
    const egress = egressWith({ routes: [{ [`b-1.internal:${onePort}`]: '127.0.0.1' }] })
    assert.equal(await ask(egress, 'b-1.internal', onePort), 'one')
  })

  it('connects directly to all other hosts', async () => {
    const egress = egressWith({ routes: [{ 'b-1.internal:9092': `127.0.0.1:${onePort}` }] })
    assert.equal(await ask(egress, 'b-1.internal', 9093), 'egress: unresolved')
    assert.equal(await ask(egress, 'b-2.internal', 9092), 'egress: unresolved')
    assert.equal(await ask(egress, '127.0.0.1', onePort), 'egress: denied (loopback)')
    assert.equal(await ask(egress, 'b 1', 9092), 'egress: denied (host)')
    const open = egressWith({ routes: [{ a: 'b' }], policy: { ...strict, allowLoopback: true } })
    assert.equal(await ask(open, '127.0.0.1', onePort), 'one')
  })

  it('prefers a route with the port, then the first match', async () => {
    const one = `127.0.0.1:${onePort}`
    const other = `127.0.0.1:${otherPort}`
    const exactLast = egressWith({ routes: [{ 'b-1': one }, { 'b-1:9092': other, 'b-1': other }] })
    assert.equal(await ask(exactLast, 'b-1', 9092), 'other')
    assert.equal(await ask(exactLast, 'b-1', 9093), 'one')
    const twice = egressWith({ routes: [{ 'b-1:9092': one }, { 'b-1:9092': other }] })
    assert.equal(await ask(twice, 'b-1', 9092), 'one')
  })

  it('does not open ports of this machine that the operator has not named', async () => {
    const egress = egressWith({ routes: [{ 'b-1': '127.0.0.1' }] })
    assert.equal(await ask(egress, 'b-1', onePort), 'egress: denied (loopback)')
  })

  it('never dials our own database, nor a name with a forbidden address', async () => {
    const policy = { ...strict, deniedAddresses: [{ host: '127.0.0.1', port: onePort }] }
    const routes = [{ 'b-1:9092': `127.0.0.1:${onePort}`, 'b-2:9092': `proxy.example:${onePort}`, 'b-3': 'cloud:80' }]
    const resolve = async (name: string): Promise<string[]> =>
      name === 'cloud' ? ['10.0.0.1', '169.254.169.254'] : ['127.0.0.1']
    const egress = egressWith({ routes, policy, resolve })
    assert.equal(await ask(egress, 'b-1', 9092), 'egress: denied (database)')
    assert.equal(await ask(egress, 'b-2', 9092), 'egress: denied (database)')
    assert.equal(await ask(egress, 'b-3', 9092), 'egress: denied (address)')
  })

  it('checks the certificate by the name, not by the address', async () => {
    const to = `127.0.0.1:${tlsPort}`
    const egress = egressWith({ routes: [{ 'elsewhere.example:9094': to, 'b-1.internal:9094': to }] })
    const options = { timeoutMs: 10_000, tls: { ca: certificates.ca } }
    const socket = await egress.connectTls('elsewhere.example', 9094, options)
    assert.equal(socket.servername, 'elsewhere.example')
    assert.equal((await socket.setEncoding('utf8').toArray()).join(''), 'secured')
    await assert.rejects(egress.connectTls('b-1.internal', 9094, options), { failure: 'tls', tls: 'other host' })
    await assert.rejects(egress.connectTls('elsewhere.example', 9094, { timeoutMs: 10_000 }), { tls: 'untrusted' })
  })

  it('applies routes to HTTP requests', async () => {
    const port = await listen(createHttpServer((request, response) => response.end(request.headers.host)))
    const egress = egressWith({ routes: [{ 'registry.internal:80': `127.0.0.1:${port}` }] })
    const { status, body } = await egress.request({
      protocol: 'http',
      host: 'registry.internal',
      port: 80,
      method: 'GET',
      path: '/',
      headers: {},
      maxAnswerBytes: 1_000,
      timeoutMs: 10_000,
    })
    assert.deepEqual([status, body.toString()], [200, 'registry.internal:80'])
  })
})
