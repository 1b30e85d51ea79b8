import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { type Certificates, makeCertificates } from '../../../test/sources/certificates.ts'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { EgressError } from '../../lib/egress.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import type { DirectBody } from './direct-body.ts'
import { type DirectAnswer, type DirectClient, type DirectOptions, makeDirectClient } from './direct-client.ts'

const large = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 251))
const headOf = (sizeBytes: number, more = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${sizeBytes}\r\n${more}\r\n`

/** Answers one request; `index` counts the requests. */
type Answerer = (socket: Socket, request: string, index: number) => void

describe('a body that is read into a buffer', { timeout: 60_000 }, () => {
  let certificates: Certificates
  let clients: DirectClient[] = []
  let servers: Server[] = []
  let sockets: Socket[] = []
  before(async () => {
    certificates = await makeCertificates()
  })
  afterEach(() => {
    for (const client of clients) client.close()
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
    clients = []
    servers = []
    sockets = []
  })

  async function listen(answer: Answerer, isTls = false): Promise<number> {
    const server = isTls ? createTlsServer(certificates.server) : createServer()
    let index = 0
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      sockets.push(socket)
      socket.on('error', () => undefined)
      let text = ''
      socket.on('data', (piece: Buffer) => {
        text += String(piece)
        for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
          const request = text.slice(0, end)
          text = text.slice(end + 4)
          answer(socket, request, index++)
        }
      })
    })
    servers.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }

  function makeClient(options: Partial<DirectOptions> = {}): DirectClient {
    const client = makeDirectClient(loopbackEgress, {
      timeoutMs: 10_000,
      headMs: 10_000,
      tls: { ca: certificates.ca },
      ...options,
    })
    clients.push(client)
    return client
  }

  const asked = {
    method: 'GET',
    protocol: 'http',
    host: '127.0.0.1',
    path: '/a?b=c',
    headers: { host: 'here', 'x-one': '1' },
  } as const

  async function bodyFrom(
    client: DirectClient,
    port: number,
    more: { signal?: AbortSignal } = {},
  ): Promise<DirectBody> {
    const answer = await client.ask({ ...asked, port, ...more })
    assert.ok(answer, 'it is simple enough')
    return answer.body
  }

  async function readWhole(body: DirectBody, stepBytes: number): Promise<Buffer> {
    const target = Buffer.alloc(body.sizeBytes)
    let at = 0
    while (body.leftBytes > 0) at += await body.readInto(target.subarray(at, at + stepBytes))
    assert.equal(at, body.sizeBytes)
    assert.equal(await body.readInto(Buffer.alloc(1)), 0, 'nothing is left')
    return target
  }

  const givesLarge: Answerer = (socket) => {
    socket.write(headOf(large.length))
    socket.write(large)
  }

  for (const protocol of ['http', 'https'] as const) {
    it(`is complete over ${protocol}, in steps of any size and as a stream, over one connection`, async () => {
      const requests: string[] = []
      const port = await listen((socket, request, index) => {
        requests.push(request)
        givesLarge(socket, request, index)
      }, protocol === 'https')
      const client = makeClient()
      for (const stepBytes of [large.length, 99_991, 1_000_000]) {
        const { body, status, headers } = (await client.ask({ ...asked, protocol, port }))!
        assert.deepEqual([status, headers['content-length'], body.sizeBytes], [200, String(large.length), large.length])
        assert.ok((await readWhole(body, stepBytes)).equals(large))
      }
      const { body } = (await client.ask({ ...asked, protocol, port }))!
      assert.ok((await buffer(body)).equals(large))
      assert.equal(sockets.length, 1)
      assert.equal(requests.length, 4)
      assert.equal(requests[0], 'GET /a?b=c HTTP/1.1\r\nhost: here\r\nx-one: 1')
    })
  }

  it('is complete for any chunk sizes', async () => {
    const whole = Buffer.concat([Buffer.from(headOf(300)), large.subarray(0, 300)])
    const port = await listen(async (socket) => {
      for (const byte of whole) {
        socket.write(Buffer.from([byte]))
        if (byte % 16 === 0) await wait(1)
      }
    })
    const client = makeClient()
    for (const stepBytes of [7, 300]) {
      assert.ok((await readWhole(await bodyFrom(client, port), stepBytes)).equals(large.subarray(0, 300)))
    }
  })

  it('waits for a slow reader', async () => {
    const port = await listen(givesLarge)
    const body = await bodyFrom(makeClient({ stallMs: 1_500 }), port)
    const target = Buffer.alloc(large.length)
    await body.readInto(target.subarray(0, 10))
    await wait(3_000)
    await body.readInto(target.subarray(10))
    assert.ok(target.equals(large))
  })

  for (const protocol of ['http', 'https'] as const) {
    it(`is complete when the store closes the connection over ${protocol} before it was read`, async () => {
      for (const bytes of [large, large.subarray(0, 300)]) {
        const port = await listen(
          (socket) => void socket.end(Buffer.concat([Buffer.from(headOf(bytes.length)), bytes])),
          protocol === 'https',
        )
        const { body } = (await makeClient().ask({ ...asked, protocol, port }))!
        const target = Buffer.alloc(bytes.length)
        await wait(300)
        await body.readInto(target.subarray(0, 10))
        await wait(300)
        await body.readInto(target.subarray(10))
        assert.ok(target.equals(bytes))
      }
    })
  }

  it('fails when it is truncated or stalls', async () => {
    const cut = await listen((socket) => socket.end(`${headOf(1_000)}abc`))
    const reset = await listen((socket) => {
      socket.write(`${headOf(1_000)}abc`, () => socket.resetAndDestroy())
    })
    const stalled = await listen((socket) => void socket.write(`${headOf(1_000)}abc`))
    for (const port of [cut, reset, stalled]) {
      const client = makeClient({ stallMs: 300 })
      const body = await client.ask({ ...asked, port }).then(
        (answer) => answer?.body,
        () => undefined,
      )
      // A reset may also lose the head.
      if (!body && port === reset) continue
      await assert.rejects(body!.readInto(Buffer.alloc(1_000)), NotConnected)
      await assert.rejects(body!.readInto(Buffer.alloc(1_000)), NotConnected)
      assert.ok(body!.destroyed)
      if (port === stalled) continue
      const other = await client.ask({ ...asked, port }).then(
        (answer) => answer?.body,
        () => undefined,
      )
      if (other) await assert.rejects(buffer(other), NotConnected)
    }
  })

  it('writes nothing to the buffer after destroy', async () => {
    const port = await listen(async (socket) => {
      for (const letter of 'ab') {
        socket.write(letter === 'a' ? `${headOf(1_000)}${'a'.repeat(100)}` : 'b'.repeat(100))
        await wait(50)
      }
      await wait(300)
      socket.write('c'.repeat(800))
    })
    const body = await bodyFrom(makeClient(), port)
    const target = Buffer.alloc(1_000)
    const reading = body.readInto(target)
    // Later data is read directly into the target.
    while (!target.includes('b')) await wait(1)
    body.destroy()
    await assert.rejects(reading, NotConnected)
    target.fill('d')
    await wait(600)
    assert.ok(target.equals(Buffer.alloc(1_000, 'd')))
  })

  it('ends with its client', async () => {
    const port = await listen((socket) => void socket.write(headOf(10)))
    const client = makeClient()
    const body = await bodyFrom(client, port)
    const reading = body.readInto(Buffer.alloc(10))
    client.close()
    await assert.rejects(reading, NotConnected)
    await assert.rejects(client.ask({ ...asked, port }))
  })

  it('returns undefined for unsupported answers', async () => {
    const odd = [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na',
      'HTTP/1.1 200 OK\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n folded\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\nX: y\r\n\r\nabc',
      'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na',
      'HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc',
      'SSH-2.0-OpenSSH\r\n\r\n',
      `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\nContent-Length: 1\r\n\r\na`,
      'x'.repeat(20_000),
    ]
    const port = await listen((socket, _request, index) => void socket.write(odd[index]!))
    const client = makeClient()
    for (const text of odd) assert.equal(await client.ask({ ...asked, port }), undefined, text.slice(0, 100))
    assert.equal(sockets.length, odd.length, 'none of these connections is used again')
  })

  it('returns undefined for unsupported requests, without sending them', async () => {
    const port = await listen(() => assert.fail('nothing is asked'))
    const client = makeClient()
    for (const more of [{ path: '/a b' }, { path: 'a' }, { path: '/a\r\nX: y' }, { path: '/ü' }]) {
      assert.equal(await client.ask({ ...asked, port, ...more }), undefined)
    }
    for (const value of ['a\r\nX: y', 'ü', 'a\0']) {
      assert.equal(await client.ask({ ...asked, port, headers: { x: value } }), undefined)
    }
    assert.equal(sockets.length, 0)
  })

  it('sends a body, and reuses the connection', async () => {
    const requests: string[] = []
    const port = await listen((socket, request) => {
      requests.push(request)
      // This server parses the body as another head, because it ends with an empty line.
      if (!request.startsWith('POST')) socket.write(`${headOf(3)}abc`)
    })
    const client = makeClient()
    const body = Buffer.from('{"größe":1}\r\n\r\n')
    const headers = { host: 'here', 'content-length': String(body.length) }
    for (const path of ['/one', '/two']) {
      const answer = await client.ask({ ...asked, method: 'POST', path, headers, body, port })
      assert.equal(String(await buffer(answer!.body)), 'abc')
    }
    assert.deepEqual(
      requests.filter((_, index) => index % 2 === 0).map((request) => request.split('\r\n')),
      ['/one', '/two'].map((path) => [`POST ${path} HTTP/1.1`, 'host: here', `content-length: ${body.length}`]),
    )
    assert.equal(requests[1], '{"größe":1}')
    assert.equal(sockets.length, 1)
  })

  it('returns error answers with headers by name', async () => {
    const port = await listen((socket) => {
      socket.write('HTTP/1.1 404 Not Found\r\nX-A:  b \r\nx-a: c\r\n__proto__: d\r\ncontent-length: 3\r\n\r\nabc')
    })
    const { status, headers, body } = (await makeClient().ask({ ...asked, port }))!
    assert.deepEqual(
      [status, headers['x-a'], Object.keys(headers)],
      [404, 'b, c', ['x-a', '__proto__', 'content-length']],
    )
    assert.equal(String(await buffer(body)), 'abc')
  })

  it('does not reuse a connection that was closed, will be closed, or has unexpected data', async () => {
    const ways: Answerer[] = [
      (socket) => void socket.write(`${headOf(3, 'Connection: close\r\n')}abc`),
      (socket) => void socket.write(`${headOf(3)}abcHTTP/1.1 200 OK\r\n`),
      (socket) => void socket.end(`${headOf(3)}abc`),
      (socket) => {
        socket.write(`${headOf(3)}abc`)
        setTimeout(() => socket.write('more'), 50)
      },
    ]
    for (const way of ways) {
      const port = await listen((socket, request, index) =>
        index === 0 ? way(socket, request, index) : socket.write(`${headOf(3)}def`),
      )
      const client = makeClient()
      assert.equal(String(await buffer(await bodyFrom(client, port))), 'abc')
      const first = sockets.at(-1)!
      if (!first.closed) await once(first, 'close')
      assert.equal(String(await buffer(await bodyFrom(client, port))), 'def')
    }
    assert.equal(sockets.length, 2 * ways.length)
  })

  it('can be empty', async () => {
    const port = await listen((socket) => void socket.write(headOf(0)))
    const client = makeClient()
    assert.equal((await buffer(await bodyFrom(client, port))).length, 0)
    assert.equal(await (await bodyFrom(client, port)).readInto(Buffer.alloc(5)), 0)
    assert.equal(sockets.length, 1)
  })

  it('rejects with error names that the AWS SDK knows', async () => {
    const failureOf = (promise: Promise<DirectAnswer | undefined>): Promise<Error & { code?: string }> =>
      promise.then(
        () => assert.fail('it should have failed'),
        (error: Error) => error,
      )
    const silent = await listen(() => undefined)
    assert.equal((await failureOf(makeClient({ headMs: 100 }).ask({ ...asked, port: silent }))).name, 'TimeoutError')
    const gone = await listen((socket) => void socket.destroy())
    assert.equal((await failureOf(makeClient().ask({ ...asked, port: gone }))).code, 'ECONNRESET')
    const stopping = new AbortController()
    const stopped = failureOf(makeClient().ask({ ...asked, port: silent, signal: stopping.signal }))
    setTimeout(() => stopping.abort(), 50)
    assert.equal((await stopped).name, 'AbortError')
    const late = failureOf(makeClient().ask({ ...asked, port: silent, signal: stopping.signal }))
    assert.equal((await late).name, 'AbortError')
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    assert.ok((await failureOf(makeClient().ask({ ...asked, port }))) instanceof EgressError)
    const plain = await listen(givesLarge)
    const untrusted = await failureOf(makeClient({ timeoutMs: 300 }).ask({ ...asked, protocol: 'https', port: plain }))
    assert.ok(untrusted instanceof EgressError)
  })
})
