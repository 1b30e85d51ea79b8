// The API client and servers that fail: retries, timeouts, invalid responses.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import type * as api from '../../src/client/client.ts'
import { PenstockClient, PenstockError } from '../../src/client/client.ts'
import { close, listen, refusal } from '../harness/client-servers.ts'

const problem = (status: number, code: string, headers: Record<string, string> = {}): Script => {
  const body = JSON.stringify({ type: `/problems/${code}`, status, detail: `about ${code}`, code, errors: [] })
  return (response) =>
    response
      .writeHead(status, { 'content-type': 'application/problem+json', 'x-request-id': 'r-1', ...headers })
      .end(body)
}
const text = (status: number, type: string, body: string, headers: Record<string, string> = {}): Script => {
  return (response) => response.writeHead(status, { 'content-type': type, ...headers }).end(body)
}
const success = text(200, 'application/json', '{"requestId":"r-2","result":{"role":"admin"},"status":200}')
const cut: Script = (_response, request) => request.socket.destroy()

describe('the client and a failing server', () => {
  const servers: ReturnType<typeof createServer>[] = []
  after(async () => {
    for (const server of servers) await close(server)
  })

  /** Plays the script; the last step repeats. */
  async function play(...script: Script[]): Promise<{ url: string; seen: Seen[] }> {
    const seen: Seen[] = []
    const server = createServer(async (request, response) => {
      const atMs = performance.now()
      let body = ''
      for await (const chunk of request) body += chunk
      const line = script[Math.min(seen.length, script.length - 1)]!
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, body, atMs })
      line(response, request)
    })
    servers.push(server)
    return { url: await listen(server), seen }
  }

  const credentials = { keyId: 'key', keySecret: 'hidden-secret' }
  const params = { organizationId: 'o', userId: 'u' }
  const update = (client: PenstockClient, options?: api.VersionedWriteOptions) =>
    client.updateMember(params, { role: 'admin' }, options)

  describe('retries', { concurrency: true }, () => {
    for (const [name, passing] of [
      ['429', problem(429, 'too_many_requests')],
      ['503', problem(503, 'unavailable')],
      ['502 of a proxy', text(502, 'text/html', '<h1>Bad gateway</h1>')],
      ['504 of a proxy', text(504, 'text/html', '')],
      ['a connection that is cut', cut],
      [
        'half an answer',
        (response) => void response.writeHead(200, { 'content-length': '999' }).write('{', () => response.destroy()),
      ],
      ['a first attempt that is still running', problem(409, 'idempotency_key_in_use')],
    ] as [string, Script][]) {
      it(`after ${name}, a write with one and the same key`, async () => {
        const { url, seen } = await play(passing, passing, success)
        const { result } = await update(new PenstockClient({ url, ...credentials }))
        assert.equal(result.role, 'admin')
        assert.equal(seen.length, 3)
        assert.match(String(seen[0]!.headers['idempotency-key']), /^[0-9a-f-]{36}$/)
        const alike = ({ method, url: path, body, headers }: Seen) => [method, path, body, headers['idempotency-key']]
        assert.deepEqual(alike(seen[1]!), alike(seen[0]!))
        assert.deepEqual(alike(seen[2]!), alike(seen[0]!))
        assert.ok(seen[1]!.atMs - seen[0]!.atMs >= 120, 'waits')
        assert.ok(seen[2]!.atMs - seen[1]!.atMs >= 245, 'waits longer')
      })
    }

    it('a read, without a key', async () => {
      const { url, seen } = await play(cut, success)
      await new PenstockClient({ url, ...credentials }).getMember(params)
      assert.equal(seen.length, 2)
      assert.equal(seen[1]!.headers['idempotency-key'], undefined)
    })

    it('with a new key for another call, and with the given key', async () => {
      const { url, seen } = await play(success)
      const client = new PenstockClient({ url, ...credentials })
      await update(client)
      await update(client)
      await update(client, { idempotencyKey: 'mine' })
      const keys = seen.map(({ headers }) => headers['idempotency-key'])
      assert.equal(new Set(keys).size, 3)
      assert.equal(keys[2], 'mine')
    })

    it('not before Retry-After, in seconds', async () => {
      const { url, seen } = await play(problem(429, 'too_many_requests', { 'retry-after': '1' }), success)
      await update(new PenstockClient({ url, ...credentials }))
      assert.ok(seen[1]!.atMs - seen[0]!.atMs >= 990)
    })

    it('not before Retry-After, as a date', async () => {
      const date = new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000)
      const { url, seen } = await play(problem(503, 'unavailable', { 'retry-after': date.toUTCString() }), success)
      await update(new PenstockClient({ url, ...credentials }))
      assert.equal(seen.length, 2)
      assert.ok(Date.now() >= date.getTime() - 10)
    })

    it('three times by default', async () => {
      const always = await play(problem(503, 'unavailable'))
      const error = await refusal(update(new PenstockClient({ url: always.url, ...credentials })))
      assert.deepEqual(
        [error.status, error.code, error.message, error.requestId],
        [503, 'unavailable', 'about unavailable', 'r-1'],
      )
      assert.equal(always.seen.length, 4)
      const once = await play(problem(503, 'unavailable'))
      await refusal(update(new PenstockClient({ url: once.url, ...credentials, retries: 0 })))
      assert.equal(once.seen.length, 1)
    })
  })

  describe('does not retry', () => {
    for (const [status, code] of [
      [400, 'invalid_body'],
      [401, 'unauthorized'],
      [404, 'not_found'],
      [409, 'last_admin'],
      [412, 'version_mismatch'],
      [500, 'internal'],
    ] as const) {
      it(`after ${status} ${code}`, async () => {
        const { url, seen } = await play(problem(status, code))
        const error = await refusal(update(new PenstockClient({ url, ...credentials })))
        assert.deepEqual([error.status, error.code], [status, code])
        assert.equal(seen.length, 1)
      })
    }

    it('when Retry-After is later than the call may take', async () => {
      const { url, seen } = await play(problem(429, 'too_many_requests', { 'retry-after': '3600' }))
      const error = await refusal(update(new PenstockClient({ url, ...credentials })))
      assert.deepEqual([error.status, error.retryAfterSeconds, seen.length], [429, 3600, 1])
    })

    it('when its caller has given up', async () => {
      const { url, seen } = await play(problem(503, 'unavailable', { 'retry-after': '30' }))
      const controller = new AbortController()
      const call = update(new PenstockClient({ url, ...credentials }), { signal: controller.signal })
      const rejected = assert.rejects(call, /^Error: enough$/)
      while (seen.length === 0) await new Promise((next) => setTimeout(next, 5))
      setTimeout(() => controller.abort(new Error('enough')), 100)
      await rejected
      assert.equal(seen.length, 1)
      await assert.rejects(update(new PenstockClient({ url, ...credentials }), { signal: controller.signal }), /enough/)
      assert.equal(seen.length, 1)
    })
  })

  it('fails in time without an answer', async () => {
    const { url, seen } = await play(() => undefined)
    const startedAtMs = performance.now()
    // The last third is for the second attempt: enough to send it on a busy machine.
    const error = await refusal(update(new PenstockClient({ url, ...credentials, timeoutMs: 4_500 })))
    assert.ok(performance.now() - startedAtMs < 20_000)
    assert.deepEqual([error.status, error.code], [0, 'no_answer'])
    assert.match(error.message, /cannot be reached: no answer came in time$/)
    assert.equal(seen.length, 2)
  })

  it('names the unreachable address, not the secret', async () => {
    const { url } = await play(success)
    await close(servers.pop()!)
    const error = await refusal(update(new PenstockClient({ url, ...credentials, retries: 1 })))
    assert.equal(error.message, `Penstock at ${url} cannot be reached: ECONNREFUSED`)
    assert.deepEqual([error.status, error.code], [0, 'no_answer'])
    const shown = inspect(error, { depth: 9, showHidden: true })
    assert.ok(!shown.includes('hidden-secret') && !shown.includes(btoa('key:hidden-secret')), shown)
  })

  describe('does not accept as an answer', () => {
    for (const [name, script, status] of [
      ['a page', text(200, 'text/html', '<h1>Welcome</h1>'), 200],
      ['other JSON', text(200, 'application/json', '[1]'), 200],
      ['broken JSON', text(200, 'application/json', '{"requestId":'), 200],
      ['null', text(200, 'application/json', 'null'), 200],
      ['a page that says 404', text(404, 'text/html', '<h1>Not found</h1>'), 404],
      ['a redirect', text(307, 'text/plain', '', { location: 'http://127.0.0.1:1/login?token=x' }), 307],
    ] as const) {
      it(name, async () => {
        const { url, seen } = await play(script)
        const error = await refusal(update(new PenstockClient({ url, ...credentials })))
        assert.deepEqual([error.status, error.code, seen.length], [status, 'invalid_answer', 1])
        if (status === 307) assert.match(error.message, /it points to http:\/\/127\.0\.0\.1:1\/login; check the URL$/)
      })
    }
  })

  it('understands the short form of an error', async () => {
    const body = JSON.stringify({ error: 'CONFLICT: member u is the only admin: make another one', status: 409 })
    const { url } = await play(text(409, 'application/json', body))
    const error = await refusal(update(new PenstockClient({ url, ...credentials })))
    assert.deepEqual(
      [error.status, error.code, error.message],
      [409, 'conflict', 'member u is the only admin: make another one'],
    )
  })

  it('sends the given request to the given path', async () => {
    const { url, seen } = await play(success)
    const client = new PenstockClient({ url: `${url}/penstock/`, keyId: 'kéy', keySecret: 'a:b', userAgent: 'tests' })
    await client.updateMember({ organizationId: 'a/b', userId: 'c d?' }, { role: 'admin' }, { ifMatch: '"1.1"' })
    await client.listPrivateEndpoints({ organizationId: 'o', serviceId: 's', limit: 2, cursor: undefined })
    const [write, read] = seen
    assert.equal(write!.url, '/penstock/v1/organizations/a%2Fb/members/c%20d%3F')
    assert.equal(write!.body, '{"role":"admin"}')
    assert.equal(write!.headers['content-type'], 'application/json')
    assert.equal(write!.headers['if-match'], '"1.1"')
    assert.equal(write!.headers['user-agent'], 'tests')
    assert.match(write!.headers.accept!, /application\/problem\+json/)
    assert.equal(write!.headers.authorization, `Basic ${Buffer.from('kéy:a:b').toString('base64')}`)
    assert.equal(read!.url, '/penstock/v1/organizations/o/services/s/privateEndpoint?limit=2')
    assert.deepEqual([read!.body, read!.headers['content-type']], ['', undefined])
  })

  it('uses only the cursor of a Link header: credentials are not sent to another server', async () => {
    const page = (result: string, headers = {}) =>
      text(200, 'application/json', `{"requestId":"r","result":[${result}],"status":200}`, headers)
    const { url, seen } = await play(
      page('{"id":"a"}', {
        link: '</first>; rel="first", <http://elsewhere.invalid/x?limit=9&cursor=n%2B1>; rel="next"',
      }),
      page('{"id":"b"}'),
    )
    const client = new PenstockClient({ url, ...credentials })
    const ids: string[] = []
    for await (const { id } of client.all('listPrivateEndpoints', { organizationId: 'o', serviceId: 's', limit: 1 }))
      ids.push(id)
    assert.deepEqual(ids, ['a', 'b'])
    assert.equal(seen[1]!.url, '/v1/organizations/o/services/s/privateEndpoint?limit=1&cursor=n%2B1')
  })

  it('sends nothing if an id would change the path', async () => {
    const { url, seen } = await play(success)
    const client = new PenstockClient({ url, ...credentials })
    for (const userId of ['', '.', '..', undefined as unknown as string]) {
      const error = await refusal(client.getMember({ organizationId: 'o', userId }))
      assert.deepEqual([error.status, error.code], [0, 'invalid_request'])
      assert.match(error.message, /^userId must be/)
    }
    const error = await refusal(update(client, { idempotencyKey: 'two\nlines' }))
    assert.equal(error.code, 'invalid_request')
    assert.equal(seen.length, 0)
  })

  it('refuses an invalid URL without quoting it', () => {
    for (const url of [
      'pst_a-secret',
      'ftp://127.0.0.1',
      'http://a:pst_a-secret@127.0.0.1',
      'http://127.0.0.1/?key=pst_a-secret',
    ]) {
      assert.throws(
        () => new PenstockClient({ url, ...credentials }),
        (error: unknown) => error instanceof PenstockError && !inspect(error).includes('pst_a-secret'),
      )
    }
  })
})

interface Seen {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
  atMs: number
}

type Script = (response: ServerResponse, request: IncomingMessage) => void
