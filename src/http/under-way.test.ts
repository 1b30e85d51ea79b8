import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { basic, openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { limits } from './request.ts'
import { RequestsUnderWay } from './under-way.ts'

const connections = 25
const perConnection = 100

// Independent of the database: writes are held before they reach it.
describe('requests beyond the limit', () => {
  let app: TestApp
  before(async () => {
    app = await openTestApp('sqlite')
  })
  after(() => app.close())

  it('are refused, while those within the limit are served and the server recovers', async (t) => {
    const origin = await app.app.listen()
    const port = Number(new URL(origin).port)
    const { organizationId, userId } = app.sample
    const path = `/v1/organizations/${organizationId}/members/${userId}`
    const body = '{"role":"developer"}'
    const type = ['content-type: application/json', `content-length: ${body.length}`]
    const start = ['host: penstock', `authorization: ${basic(app.admin)}`]
    const change = [`PATCH ${path} HTTP/1.1`, ...start, ...type, '', body].join('\r\n')
    const health = ['GET /health HTTP/1.1', ...start, 'connection: close', '', ''].join('\r\n')

    const look = (): Promise<Response> =>
      fetch(origin + path, { headers: { authorization: basic(app.admin), connection: 'close' } })

    // Holds writes until all requests have arrived; a database lock would time out after five seconds.
    const { database } = app.app
    const write = database.write.bind(database) as (...args: unknown[]) => Promise<unknown>
    const { promise: letGo, resolve: go } = Promise.withResolvers<void>()
    t.mock.method(database, 'write', (async (...args: unknown[]) => {
      await letGo
      return write(...args)
    }) as typeof database.write)
    try {
      const answers = Array.from({ length: connections }, () => answersTo(port, change.repeat(perConnection) + health))
      // Until the limit is reached.
      let refused = await look()
      const endsAtMs = performance.now() + 30_000
      while (refused.status === 200 && performance.now() < endsAtMs) refused = await look()
      assert.equal(refused.status, 503)
      const { error } = (await refused.json()) as { error: string }
      assert.equal(error, 'UNAVAILABLE: too many concurrent requests; try again in a second')
      assert.equal(refused.headers.get('retry-after'), '1')
      assert.equal((await fetch(`${origin}/health`)).status, 200)
      const refusedAgain = `GET ${path} HTTP/1.1\r\n${start.join('\r\n')}\r\n\r\n`
      const begunAtMs = performance.now()
      assert.deepEqual(await answersTo(port, refusedAgain, health), [503, 200])
      assert.ok(performance.now() - begunAtMs >= 900, 'a refused connection is not read from until Retry-After is over')
      go()

      const statuses = await Promise.all(answers)
      // A refusal does not close the connection: later requests on it are answered too.
      for (const list of statuses) assert.equal(list.length, perConnection + 1)
      const all = statuses.flat()
      const count = (status: number): number => all.filter((each) => each === status).length
      assert.equal(count(200) + count(503), all.length)
      assert.ok(count(503) > 0)
      // One of them may have been a request of `look`.
      assert.ok(count(200) >= limits.requestsUnderWay - 1 + connections, `${count(200)} were done`)
    } finally {
      go()
    }
    assert.equal((await look()).status, 200)
  })

  it('are not started for a client that has disconnected', async () => {
    const underWay = new RequestsUnderWay(1_000)
    const gone = { destroyed: false } as Socket
    const here = { destroyed: false } as Socket
    const begun = { gone: 0, here: 0 }
    const send = (socket: Socket, whose: keyof typeof begun): Promise<boolean> =>
      underWay.begin(socket, async () => {
        begun[whose]++
      })
    const ofGone = Array.from({ length: 500 }, () => send(gone, 'gone'))
    const ofHere = Array.from({ length: 100 }, () => send(here, 'here'))
    // A disconnect is noticed only after the first requests have started.
    await Promise.all(ofGone.slice(0, 1))
    ;(gone as { destroyed: boolean }).destroyed = true
    assert.deepEqual(await Promise.all(ofHere), Array(100).fill(true))
    const done = await Promise.all(ofGone)
    assert.equal(begun.here, 100)
    assert.equal(begun.gone, 128)
    assert.equal(done.filter((isBegun) => isBegun).length, 128)
  })
})

/** Sends raw text on one connection, then `later` after the first response; returns the statuses in order. */
async function answersTo(port: number, text: string, later = ''): Promise<number[]> {
  const received = await new Promise<string>((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1')
      .on('data', (chunk) => chunks.push(chunk))
      .on('error', reject)
      .on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.once('data', () => socket.write(later))
    socket.write(text)
  })
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}
