import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { basic, openTestApp, type TestApp } from '../../test/harness/test-app.ts'

/** The server checks for late requests every second. */
const lateMs = 100
const checkMs = 1_000

const get = (path: string, ...lines: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: penstock', ...lines, '', ''].join('\r\n')
const health = get('/health')

describe('a connection', { timeout: 60_000 }, () => {
  let app: TestApp
  let port: number
  let sockets: Socket[] = []
  before(async () => {
    app = await openTestApp('sqlite')
    port = Number(new URL(await app.app.listen()).port)
    Object.assign(app.app.server.server, { headersTimeout: lateMs, requestTimeout: lateMs })
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    sockets = []
    await app.close()
  })

  interface Client {
    socket: Socket
    received(): string
    closed: Promise<unknown>
    isClosed(): boolean
  }

  function open(): Client {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    let text = ''
    let isClosed = false
    socket.on('data', (piece) => {
      text += piece.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.once('close', () => {
      isClosed = true
    })
    return { socket, received: () => text, closed: once(socket, 'close'), isClosed: () => isClosed }
  }

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await sleep(5)
  }

  const statusLines = (text: string): string[] => text.match(/HTTP\/1\.1 \d{3} /g) ?? []
  const isLate = /^BAD_REQUEST: the request did not arrive in time$/
  const errorIn = (text: string): string => JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4)).error

  it('without a request is closed without a response', async () => {
    const clients = [open(), open()]
    await Promise.all(clients.map(({ closed }) => closed))
    assert.deepEqual(
      clients.map(({ received }) => received()),
      ['', ''],
    )
  })

  it('with an incomplete request gets a response, for head and body, for the first request and later ones', async () => {
    const body = get('/health', 'Content-Length: 10')
    const sendHalf = async (first: string, half: string): Promise<void> => {
      const client = open()
      client.socket.write(first)
      if (first) await until(() => client.received().endsWith('}'))
      client.socket.write(half)
      await client.closed
      const text = client.received()
      assert.equal(statusLines(text).length, (first ? 1 : 0) + 1, text)
      // /health needs no body and has been answered already.
      if (!half.startsWith(body)) assert.match(errorIn(text), isLate)
    }
    const halves = ['G', health.slice(0, 20), body, `${body}12345`]
    await Promise.all(['', health].flatMap((first) => halves.map((half) => sendHalf(first, half))))
  })

  it('stays open between two requests, and nothing is sent', async () => {
    const client = open()
    client.socket.write(health)
    await until(() => client.received().endsWith('}'))
    const first = client.received()
    await sleep(2 * checkMs + 2 * lateMs)
    assert.equal(client.received(), first)
    assert.equal(client.isClosed(), false)
    client.socket.write(get('/health', 'Connection: close'))
    await client.closed
    assert.deepEqual(statusLines(client.received()), ['HTTP/1.1 200 ', 'HTTP/1.1 200 '])
  })

  it('never gets the error of invalid input as the response to an earlier request', async () => {
    const { organizationId } = app.sample
    const slow = get(`/v1/organizations/${organizationId}/members`, `Authorization: ${basic(app.admin)}`)
    for (const nonsense of ['NONSENSE\r\n\r\n', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`]) {
      const client = open()
      client.socket.write(slow + nonsense)
      await client.closed
      const [first = 'HTTP/1.1 200 '] = statusLines(client.received())
      assert.equal(first, 'HTTP/1.1 200 ', client.received())
    }
  })

  it('gets the error of invalid input after the response to an earlier request', async () => {
    const client = open()
    client.socket.write(health)
    await until(() => client.received().endsWith('}'))
    client.socket.write('NONSENSE\r\n\r\n')
    await client.closed
    assert.deepEqual(statusLines(client.received()), ['HTTP/1.1 200 ', 'HTTP/1.1 400 '])
    assert.match(errorIn(client.received()), /^BAD_REQUEST: the request is not valid HTTP\/1\.1$/)
  })

  it('serves HTTP/1.0 and HTTP/1.1, and is closed after a request of another version', async () => {
    const answerTo = async (text: string): Promise<string> => {
      const client = open()
      client.socket.write(text)
      await client.closed
      return client.received()
    }
    for (const line of ['GET /health HTTP/1.0\r\n\r\n', get('/health', 'Connection: close')]) {
      assert.deepEqual(statusLines(await answerTo(line)), ['HTTP/1.1 200 '])
    }
    for (const path of ['/health', '/v1', '/v1/organizations', '/console', '/nothing']) {
      for (const line of [
        `GET ${path}\r\n\r\n`,
        `GET ${path} HTTP/0.9\r\n\r\n`,
        `GET ${path} HTTP/2.0\r\nHost: a\r\n\r\n`,
      ]) {
        const text = await answerTo(line + health)
        assert.deepEqual(statusLines(text), ['HTTP/1.1 400 '], line)
        assert.match(errorIn(text), /^BAD_REQUEST: the request is HTTP\/(?:0\.9|2\.0); send HTTP\/1\.1$/)
      }
    }
  })
})
