// S8: no host that a user can name leads to a forbidden connection. Listeners on this machine count connections.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, before, describe, it } from 'node:test'
import { forbiddenHosts } from '../../test/harness/forbidden-hosts.ts'
import { Egress, EgressError, type EgressPolicy } from './egress.ts'
import { isHost } from './host.ts'

const strict: EgressPolicy = { allowLoopback: false, deniedAddresses: [] }

describe('S8 egress', () => {
  const listeners: Server[] = []
  let accepted = 0
  let port = 0

  before(async () => {
    const listen = async (host: string) => {
      const server = createServer((socket) => {
        accepted++
        socket.destroy()
      })
      server.listen({ host, port })
      await once(server, 'listening')
      port ||= (server.address() as AddressInfo).port
      listeners.push(server)
    }
    await listen('127.0.0.1')
    await listen('127.0.0.2')
    await listen('::1').catch(() => undefined)
  })
  after(() => {
    for (const server of listeners) server.close()
  })

  const connect = (host: string, resolve?: (name: string) => Promise<string[]>, policy = strict, timeoutMs = 10_000) =>
    new Egress(policy, resolve).connect(host, port, { timeoutMs })

  /** The listener counts a connection after the client has made it. */
  async function countedOne(): Promise<void> {
    for (let tries = 0; accepted === 0 && tries < 2_000; tries++) await new Promise((done) => setTimeout(done, 5))
    assert.equal(accepted, 1)
    accepted = 0
  }

  async function refused(work: Promise<unknown>, what: string): Promise<EgressError> {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof EgressError, `${JSON.stringify(what)} was reached or failed otherwise: ${error}`)
    return error
  }

  it('S8 reaches a listener when the operator allows it, which proves the counting', async () => {
    const socket = await connect('127.0.0.1', undefined, { ...strict, allowLoopback: true })
    socket.destroy()
    await countedOne()
  })

  it(`S8 refuses ${forbiddenHosts.length} forbiddenHosts of forbidden targets, without a connection`, async () => {
    assert.ok(forbiddenHosts.length >= 80)
    for (const host of forbiddenHosts) {
      const { failure } = await refused(connect(host), host)
      assert.equal(failure, 'denied', JSON.stringify(host))
    }
    assert.equal(accepted, 0)
  })

  it('S8 refuses them over HTTP too', async () => {
    const egress = new Egress(strict)
    for (const protocol of ['http', 'https'] as const) {
      for (const host of forbiddenHosts) {
        const request = { protocol, host, port, method: 'GET', path: '/', headers: {} } as const
        await refused(egress.request({ ...request, timeoutMs: 10_000, maxAnswerBytes: 1000 }), host)
      }
    }
    assert.equal(accepted, 0)
  })

  it('S8 refuses names that resolve to forbidden addresses, whatever else they resolve to', async () => {
    const answers = [
      ['127.0.0.1'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['0.0.0.0'],
      ['64:ff9b::7f00:1'],
      ['192.0.2.1', '127.0.0.1'],
      ['127.0.0.1', '192.0.2.1'],
      ['2001:db8::1', '::1'],
      ['169.254.169.254'],
      ['fe80::1%lo'],
      ['::1%lo'],
      ['2130706433'],
      ['localhost'],
    ]
    for (const answer of answers) {
      const { failure } = await refused(
        connect('engine.example', async () => answer),
        answer.join(),
      )
      assert.equal(failure, 'denied', answer.join())
    }
    assert.equal(accepted, 0)
  })

  it('S8 resolves once and connects to that answer: a second answer changes nothing', async () => {
    let asked = 0
    const rebinding = async () => (asked++ === 0 ? ['192.0.2.1'] : ['127.0.0.1'])
    // The first address is not assigned, but a network may still answer for it.
    await connect('rebinding.example', rebinding, strict, 300).then(
      (socket) => socket.destroy(),
      () => undefined,
    )
    assert.equal(asked, 1)
    let askedOverHttp = 0
    const egress = new Egress(strict, async () => (askedOverHttp++ === 0 ? ['192.0.2.1'] : ['127.0.0.1']))
    const request = {
      protocol: 'http',
      host: 'rebinding.example',
      port,
      method: 'GET',
      path: '/',
      headers: {},
    } as const
    await egress.request({ ...request, timeoutMs: 200, maxAnswerBytes: 1000 }).catch(() => undefined)
    assert.equal(askedOverHttp, 1)
    assert.equal(accepted, 0)
  })

  it('S8 never reaches our own database, by whatever name, also where this machine is allowed', async () => {
    const resolve = async (name: string) => (name === 'db.internal' || name === 'alias.example' ? ['127.0.0.1'] : [])
    for (const databaseHost of ['127.0.0.1', '::1', 'db.internal']) {
      const policy = { allowLoopback: true, deniedAddresses: [{ host: databaseHost, port }] }
      for (const host of ['127.0.0.1', '127.0.0.2', '::1', '::ffff:127.0.0.1', 'alias.example', 'db.internal']) {
        const error = await refused(connect(host, resolve, policy), host)
        assert.equal(error.denial, 'database', host)
      }
    }
    assert.equal(accepted, 0)
    const elsewhere = { allowLoopback: true, deniedAddresses: [{ host: '127.0.0.1', port: port + 1 }] }
    ;(await connect('127.0.0.1', resolve, elsewhere)).destroy()
    await countedOne()
  })

  it('S8 refuses the other addresses of this machine as it refuses loopback', async () => {
    const own = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, address }) => !internal && !/^(?:fe80|169\.254\.)/.test(address))
    for (const { address, family } of own) {
      let reached = 0
      const server = createServer((socket) => {
        reached++
        socket.destroy()
      }).listen(0, address)
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const spelled = family === 'IPv4' ? [address, `::ffff:${address}`, `64:ff9b::${address}`] : [address]
      for (const host of spelled) {
        const error = await refused(new Egress(strict).connect(host, port, { timeoutMs: 10_000 }), host)
        assert.equal(error.denial, 'loopback', host)
        const named = new Egress(strict, async () => [host])
        assert.equal((await refused(named.connect('a.example', port, { timeoutMs: 10_000 }), host)).denial, 'loopback')
      }
      assert.equal(reached, 0)
      const allowed = new Egress({ ...strict, allowLoopback: true })
      ;(await allowed.connect(address, port, { timeoutMs: 10_000 })).destroy()
      server.close()
    }
  })

  it('S8 does not follow a redirect', async () => {
    accepted = 0
    const front = createHttpServer((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.2:${port}/` }).end('x')
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    const answer = await new Egress({ ...strict, allowLoopback: true }).request({
      protocol: 'http',
      host: '127.0.0.1',
      port: (front.address() as AddressInfo).port,
      method: 'GET',
      path: '/',
      headers: {},
      timeoutMs: 10_000,
      maxAnswerBytes: 1000,
    })
    front.close()
    assert.equal(answer.status, 302)
    assert.equal(accepted, 0)
  })
})

describe('egress', () => {
  it('takes host names and plain addresses', () => {
    for (const host of [
      'clickhouse',
      'clickhouse.example.com',
      'click_house-1.internal',
      'xn--bcher-kva.example',
      '1.example',
      '3com',
      '10.0.0.7',
      '192.168.1.1',
      '172.16.0.1',
      '100.64.0.1',
      'fd12:3456::1',
      '2001:db8::1',
      'a'.repeat(63),
    ]) {
      assert.ok(isHost(host), host)
    }
    for (const host of ['a'.repeat(64), `${'a.'.repeat(126)}aa`, 'a..b', '-a', 'a-', 'a.-b', 'example.1', 'a.0x1f']) {
      assert.ok(!isHost(host), host)
    }
  })

  it('lets private addresses through', async () => {
    for (const address of ['10.255.255.1', '172.16.255.1', '192.168.255.1', '100.64.255.1', 'fd12:3456::1']) {
      const error = await new Egress(strict).connect(address, 9, { timeoutMs: 30 }).then(
        (socket) => void socket.destroy(),
        (thrown: EgressError) => thrown,
      )
      assert.notEqual(error?.failure, 'denied', address)
    }
  })

  it('reports what failed', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    const allowed = { ...strict, allowLoopback: true }
    const failure = (egress: Egress, host: string, timeoutMs = 10_000) =>
      egress.connect(host, port, { timeoutMs }).then(
        () => 'connected',
        (error: EgressError) => error.failure,
      )
    assert.equal(await failure(new Egress(allowed), '127.0.0.1'), 'refused')
    const nothing = new Egress(allowed, async () => [])
    assert.equal(await failure(nothing, 'nothing.example'), 'unresolved')
    const broken = new Egress(allowed, async () => {
      throw new Error('SERVFAIL for secret.example')
    })
    assert.equal(await failure(broken, 'broken.example'), 'unresolved')
    const slow = new Egress(allowed, () => new Promise(() => undefined))
    assert.equal(await failure(slow, 'slow.example', 200), 'timed out')
  })

  it('tries the next address when one refuses', async () => {
    // A port that is free at both: other tests listen at the first address.
    const refusing = createServer().listen(0, '127.0.0.1')
    await once(refusing, 'listening')
    const { port } = refusing.address() as AddressInfo
    const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.2')
    await once(server, 'listening')
    refusing.close()
    await once(refusing, 'close')
    const egress = new Egress({ ...strict, allowLoopback: true }, async () => ['127.0.0.1', '127.0.0.2'])
    const socket = await egress.connect('two.example', port, { timeoutMs: 10_000 })
    assert.equal(socket.remoteAddress, '127.0.0.2')
    socket.destroy()
    server.close()
  })

  it('breaks off an answer that is too long, cut, or slow', async () => {
    const server = createHttpServer((request, response) => {
      if (request.url === '/long') response.end('x'.repeat(2000))
      else if (request.url === '/cut') {
        response.writeHead(200, { 'content-length': '100' }).write('x')
        setTimeout(() => response.destroy(), 20)
      } else if (request.url === '/slow') response.writeHead(200).write('x')
      else response.end('short')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const egress = new Egress({ ...strict, allowLoopback: true })
    const get = (path: string, timeoutMs = 10_000) =>
      egress
        .request({
          protocol: 'http',
          host: '127.0.0.1',
          port,
          method: 'GET',
          path,
          headers: {},
          timeoutMs,
          maxAnswerBytes: 1000,
        })
        .then(
          ({ body }) => body.toString(),
          (error: EgressError) => error.failure,
        )
    assert.equal(await get('/'), 'short')
    assert.equal(await get('/long'), 'broken')
    assert.equal(await get('/cut'), 'broken')
    assert.equal(await get('/slow', 300), 'timed out')
    server.closeAllConnections()
    server.close()
  })
})
