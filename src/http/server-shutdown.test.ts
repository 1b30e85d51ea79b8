// The HTTP server: the end of connections at a shutdown.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { basic, openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import type { Dialect } from '../database/sql.ts'

describe('the shutdown', () => {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    it(`finishes requests in progress and accepts no new ones, on ${dialect}`, async () => {
      const { app, port, client } = await openWithClient(dialect)
      const body = '{"role":"admin"}'
      client.socket.write(patchHead(app, body) + body.slice(0, 5))
      await until(() => client.received().includes('100 Continue'))
      const closed = app.close()
      try {
        await until(() => refuses(port))
        assert.ok(!client.received().includes('HTTP/1.1 200'))
        client.socket.write(body.slice(5))
        await until(() => client.received().includes('"status":200}'))
        assert.match(client.received(), /"role":"admin"/)
      } finally {
        client.socket.destroy()
        await closed
      }
    })

    it(`closes a connection after its response, on ${dialect}`, async () => {
      const { app, port, client } = await openWithClient(dialect)
      const body = '{"role":"admin"}'
      client.socket.write(patchHead(app, body) + body.slice(0, 5))
      await until(() => client.received().includes('100 Continue'))
      const closed = app.close()
      try {
        await until(() => refuses(port))
        client.socket.write(body.slice(5))
        await until(() => client.received().includes('"status":200}'))
        assert.match(client.received(), /\r\nconnection: close\r\n/i)
        assert.ok(await within(5_000, closed), 'still waiting for a client that has its answer')
      } finally {
        client.socket.destroy()
        await closed
      }
    })

    it(`does not wait for idle clients, on ${dialect}`, async () => {
      const { app, port, client } = await openWithClient(dialect)
      const silent = connect(port, '127.0.0.1')
      silent.on('error', () => undefined)
      client.socket.write('GET /health HTTP/1.1\r\nHost: penstock\r\n\r\n')
      await until(() => client.received().includes('"status":"ok"}'))
      const closed = app.close()
      try {
        assert.ok(await within(5_000, closed), 'still waiting for a client that asks nothing')
      } finally {
        client.socket.destroy()
        silent.destroy()
        await closed
      }
    })
  }
})

async function openWithClient(dialect: Dialect) {
  const app = await openTestApp(dialect)
  const port = Number(new URL(await app.app.listen()).port)
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  return { app, port, client: { socket, received: () => text } }
}

/** The response `100 Continue` shows that the server has begun the request. */
function patchHead(app: TestApp, body: string): string {
  const { organizationId, userId } = app.sample
  return [
    `PATCH /v1/organizations/${organizationId}/members/${userId} HTTP/1.1`,
    'Host: penstock',
    `Authorization: ${basic(app.admin)}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
    '',
    '',
  ].join('\r\n')
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, 'waited in vain')
    await sleep(5)
  }
}

/** Whether the promise settles in time. A shutdown that waits for a client takes ten seconds. */
async function within(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  const over = new AbortController()
  const late = sleep(milliseconds, false, { signal: over.signal }).catch(() => false)
  return Promise.race([promise.then(() => true), late]).finally(() => over.abort())
}

/** Whether the port is closed. */
async function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })
}
