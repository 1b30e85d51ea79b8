import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import { checkEngine, type EngineAccess, type EngineCheck } from './check.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
const canary = 'canary-in-the-answer'

describe('checkEngine', () => {
  const closing: (() => void)[] = []
  after(() => {
    for (const close of closing) close()
  })

  async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }

  const check = (
    port: number,
    more: Partial<EngineAccess> = {},
    by = egress,
    timeoutMs = 10_000,
  ): Promise<EngineCheck> =>
    checkEngine(
      by,
      { protocol: 'http', host: '127.0.0.1', port, username: 'penstock', password: new Secret('s3cret'), ...more },
      { timeoutMs },
    )

  async function fails(work: Promise<EngineCheck>, failure: string, reason: string): Promise<void> {
    const outcome = await work
    assert.deepEqual(outcome, { failure, reason })
    assert.ok(!inspect(outcome).includes('s3cret') && !inspect(outcome).includes(canary))
  }

  it('asks for the version, with user and password in headers of their own', async () => {
    let seen: IncomingMessage | undefined
    const port = await serve((request, response) => {
      seen = request
      response.end('26.5.1.882\n')
    })
    assert.deepEqual(await check(port), { version: '26.5.1.882' })
    assert.equal(seen!.method, 'GET')
    assert.equal(new URL(seen!.url!, 'http://x').searchParams.get('query'), 'SELECT version() FORMAT TabSeparated')
    assert.equal(seen!.headers['x-clickhouse-user'], 'penstock')
    assert.equal(seen!.headers['x-clickhouse-key'], 's3cret')
    assert.equal(seen!.headers.host, `127.0.0.1:${port}`)
    assert.ok(!seen!.url!.includes('s3cret'))
  })

  it('sends names and passwords beyond ASCII as UTF-8, and an empty password as it is', async () => {
    let seen: IncomingMessage | undefined
    const port = await serve((request, response) => {
      seen = request
      response.end('24.8.4.13')
    })
    await check(port, { username: 'jürgen', password: new Secret('пароль 漢') })
    const decode = (value: unknown) => Buffer.from(String(value), 'latin1').toString('utf8')
    assert.equal(decode(seen!.headers['x-clickhouse-user']), 'jürgen')
    assert.equal(decode(seen!.headers['x-clickhouse-key']), 'пароль 漢')
    assert.deepEqual(await check(port, { password: new Secret('') }), { version: '24.8.4.13' })
    assert.equal(seen!.headers['x-clickhouse-key'], '')
  })

  it('detects a failed authentication by status or by error code', async () => {
    for (const [status, code] of [
      [401, undefined],
      [403, '516'],
      [500, '193'],
      [200, '194'],
    ] as const) {
      const port = await serve((_request, response) => {
        response.writeHead(status, code ? { 'x-clickhouse-exception-code': code } : {}).end(canary)
      })
      const reason = `the engine at 127.0.0.1:${port} refused the user name or the password`
      await fails(check(port), 'authentication', reason)
    }
  })

  it('reports the meaning and the code of another ClickHouse error, also under status 200, but not its text', async () => {
    for (const status of [200, 500]) {
      const port = await serve((_request, response) => {
        response.writeHead(status, { 'x-clickhouse-exception-code': '241' }).end(canary)
      })
      await fails(
        check(port),
        'engine error',
        `the engine at 127.0.0.1:${port} has too little memory for this right now (its error 241)`,
      )
    }
  })

  it('detects a server that is not ClickHouse', async () => {
    for (const [status, body] of [
      [200, canary],
      [200, ''],
      [200, '26.5.1\n26.5.1'],
      [200, '<b>1.2</b>'],
      [200, `26.5.${'1'.repeat(40)}`],
      [302, '26.5.1.882'],
      [404, '26.5.1.882'],
      [503, canary],
    ] as const) {
      const port = await serve((_request, response) => {
        response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body)
      })
      const reason = `what answers at 127.0.0.1:${port} is not ClickHouse over HTTP (it answered with status ${status})`
      await fails(check(port), 'not an engine', reason)
    }
    const long = await serve((_request, response) => response.end('1'.repeat(100_000)))
    await fails(check(long), 'not an engine', `what answers at 127.0.0.1:${long} is not ClickHouse over HTTP`)
    const tcp = createTcpServer((socket) => socket.end(`${canary}\r\n\r\n`)).listen(0, '127.0.0.1')
    await once(tcp, 'listening')
    closing.push(() => tcp.close())
    const { port } = tcp.address() as AddressInfo
    await fails(check(port), 'not an engine', `what answers at 127.0.0.1:${port} is not ClickHouse over HTTP`)
  })

  it('detects refused connections, timeouts, unresolved names and servers without TLS', async () => {
    const silent = await serve(() => undefined)
    await fails(check(silent, {}, egress, 400), 'timed out', `127.0.0.1:${silent} did not answer in time`)
    const plain = await serve((_request, response) => response.end('26.5.1.882'))
    await fails(
      check(plain, { protocol: 'https' }),
      'unreachable',
      `no TLS connection with 127.0.0.1:${plain}: it does not speak TLS, or its certificate is not trusted for 127.0.0.1`,
    )
    const closed = createTcpServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    await fails(check(port), 'refused', `nothing accepts connections at 127.0.0.1:${port}`)
    const nowhere = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] }, async () => [])
    await fails(
      check(port, { host: 'nothing.example' }, nowhere),
      'unreachable',
      'the host name nothing.example does not resolve',
    )
  })

  it('reports a forbidden address by the name that the user gave', async () => {
    let reached = 0
    const port = await serve((_request, response) => {
      reached++
      response.end('26.5.1.882')
    })
    const strict = new Egress({ allowLoopback: false, allowPlaintext: true, deniedAddresses: [] }, async (name) =>
      name === 'metadata.example' ? ['169.254.169.254'] : ['127.0.0.1'],
    )
    await fails(
      check(port, { host: 'engine.example' }, strict),
      'denied',
      `engine.example:${port} is on the machine of Penstock itself; its operator can allow that with PENSTOCK_ALLOW_LOOPBACK=true`,
    )
    await fails(
      check(port, { host: 'metadata.example' }, strict),
      'denied',
      `metadata.example:${port} has an address that Penstock never connects to`,
    )
    const ownDatabase = new Egress({
      allowLoopback: true,
      allowPlaintext: true,
      deniedAddresses: [{ host: '127.0.0.1', port }],
    })
    await fails(check(port, {}, ownDatabase), 'denied', `127.0.0.1:${port} is Penstock's own database`)
    assert.equal(reached, 0)
  })

  it('sends no password over http without the permission of the operator', async () => {
    let reached = 0
    const port = await serve((_request, response) => {
      reached++
      response.end('26.5.1.882')
    })
    const strict = new Egress({ allowLoopback: true, deniedAddresses: [] })
    await fails(
      check(port, {}, strict),
      'denied',
      `127.0.0.1:${port} is to be used over http, which sends the password in the clear; ` +
        'use https in endpoint.url, or its operator can allow that with PENSTOCK_ALLOW_PLAINTEXT=true',
    )
    assert.equal(reached, 0)
    assert.deepEqual(await check(port, { password: new Secret('') }, strict), { version: '26.5.1.882' })
  })
})
