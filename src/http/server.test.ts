import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mebibyte, nobody, problemJson, serverRequests, uuidV4 } from '../../test/harness/server.ts'
import { onBothDatabases, type TestResponse } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { newId } from '../lib/id.ts'

onBothDatabases('the server', (app) => {
  const { memberPath, endpointPath, patch } = serverRequests(app)

  describe('the answer', () => {
    it('is an envelope of three fields, with the request id in body and header', async () => {
      for (const { status, body, headers } of [
        await app().request('GET', memberPath()),
        await app().request('GET', endpointPath()),
        await patch(),
      ]) {
        assert.equal(status, 200)
        assert.deepEqual(Object.keys(body).sort(), ['requestId', 'result', 'status'])
        assert.equal(body.status, 200)
        assert.match(body.requestId, uuidV4)
        assert.equal(headers['x-request-id'], body.requestId)
        assert.match(String(headers['content-type']), /^application\/json(?:; charset=utf-8)?$/)
        assert.equal(headers['cache-control'], 'no-store')
        assert.equal(headers['x-content-type-options'], 'nosniff')
      }
    })

    it('has a new request id every time, whatever the client sends', async () => {
      const seen = new Set<unknown>()
      for (let count = 0; count < 20; count++) {
        const url = count % 2 ? memberPath() : memberPath(undefined, nobody)
        const { headers } = await app().request('GET', url, { headers: { 'x-request-id': nobody } })
        assert.match(String(headers['x-request-id']), uuidV4)
        seen.add(headers['x-request-id'])
      }
      assert.equal(seen.size, 20)
      assert.ok(!seen.has(nobody))
    })
  })

  describe('an error', () => {
    const failing: [number, string, () => Promise<TestResponse>][] = [
      [400, 'BAD_REQUEST', () => patch({ text: '{' })],
      [401, 'UNAUTHORIZED', () => patch({ key: null, address: freshAddress() })],
      [403, 'FORBIDDEN', () => patch({ key: app().developer })],
      [404, 'NOT_FOUND', () => app().request('GET', memberPath(undefined, nobody))],
      [404, 'NOT_FOUND', () => app().request('GET', '/v1/nothing')],
      [405, 'BAD_REQUEST', () => app().request('PUT', memberPath())],
      [412, 'PRECONDITION_FAILED', () => patch({ headers: { 'if-match': '"0.0"' } })],
      [413, 'PAYLOAD_TOO_LARGE', () => patch({ text: ' '.repeat(mebibyte + 1) })],
      [415, 'UNSUPPORTED_MEDIA_TYPE', () => patch({ headers: { 'content-type': 'text/plain' } })],
    ]
    for (const [status, code, send] of failing) {
      it(`${status} has exactly {error, status} and a request id in its header`, async () => {
        const answer = await send()
        assert.equal(answer.status, status)
        assert.deepEqual(Object.keys(answer.body).sort(), ['error', 'status'])
        assert.equal(answer.body.status, status)
        assert.match(answer.body.error, new RegExp(`^${code}: \\S.*[^.\\s]$`))
        assert.match(String(answer.headers['x-request-id']), uuidV4)
        assert.match(String(answer.headers['content-type']), /^application\/json(?:; charset=utf-8)?$/)
      })
    }

    it('is RFC 9457 for a client that asks for it', async () => {
      const body = { role: 'owner', team: 'blue' }
      const plain = await patch({ body })
      for (const accept of ['application/problem+json', 'application/json, Application/Problem+JSON;q=0.9']) {
        const rich = await patch({ body, headers: { accept } })
        assert.equal(rich.status, 400)
        assert.match(String(rich.headers['content-type']), /^application\/problem\+json/)
        assert.deepEqual(rich.body, {
          type: '/problems/invalid_body',
          title: 'The request body is invalid',
          status: 400,
          detail: plain.body.error.replace('BAD_REQUEST: ', ''),
          instance: `urn:uuid:${rich.headers['x-request-id']}`,
          code: 'invalid_body',
          errors: [
            { pointer: '#/role', detail: 'role must be one of admin, developer, not "owner"' },
            { pointer: '#/team', detail: 'team is not a known field' },
          ],
        })
      }
    })

    it('is plain for all other clients', async () => {
      for (const accept of ['*/*', 'application/json', 'application/*', 'text/html', 'application/problem+jsonx']) {
        const { body } = await patch({ body: {}, headers: { accept } })
        assert.deepEqual(Object.keys(body), ['error', 'status'], accept)
      }
    })

    it('points to a field whatever its name is', async () => {
      const names = ['first-name', 'a.b', 'a/b', 'a~b', '0']
      const body = Object.fromEntries([['role', 'developer'], ...names.map((name) => [name, 1])])
      const { errors } = (await patch({ body, headers: problemJson })).body
      assert.deepEqual(
        errors.map(({ pointer }: { pointer: string }) => pointer).sort(),
        ['#/first-name', '#/a.b', '#/a~1b', '#/a~0b', '#/0'].sort(),
      )
    })

    it('points into lists', async () => {
      const { organizationId, serviceId, pipeIds } = app().sample
      const url = `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds.kafka}`
      const { status, body } = await app().request('PATCH', url, {
        body: { fieldMappings: [{ sourceField: 'a', destinationField: 7 }] },
        headers: problemJson,
      })
      assert.equal(status, 400)
      assert.equal(body.errors[0].pointer, '#/fieldMappings/0/destinationField')
      assert.match(body.errors[0].detail, /^fieldMappings\[0\]\.destinationField must be/)
    })

    it('has a page of its own for its type', async () => {
      for (const send of [
        () => patch({ body: {}, headers: problemJson }),
        () => patch({ key: null, headers: problemJson, address: freshAddress() }),
        () => app().request('GET', '/v1/nothing', { headers: problemJson }),
      ]) {
        const { type, title } = (await send()).body
        const page = await app().request('GET', type, { key: null })
        assert.equal(page.status, 200)
        assert.match(String(page.headers['content-type']), /^text\/html/)
        assert.ok(page.text.includes(title), type)
      }
    })

    it('of an internal failure returns the request id only; the log has the details', async () => {
      const options = { body: { id: newId() }, headers: { 'idempotency-key': newId() } }
      assert.equal((await app().request('POST', endpointPath(), options)).status, 200)
      await app().query(
        `UPDATE idempotency_records SET answer = 'damaged' WHERE idempotency_key = '${options.headers['idempotency-key']}'`,
      )
      const { status, body, headers } = await app().request('POST', endpointPath(), options)
      const requestId = headers['x-request-id']
      assert.equal(status, 500)
      assert.deepEqual(body, {
        error: `INTERNAL: internal error; the log has the details under request ${requestId}`,
        status: 500,
      })
      const logged = app()
        .logged.map((line) => JSON.parse(line))
        .find((line) => line.requestId === requestId && line.error)
      assert.equal(logged.status, 500)
      assert.equal(logged.operation, 'createPrivateEndpoint')
      assert.ok(
        logged.error.at.some((frame: string) => frame.includes('vault.ts')),
        JSON.stringify(logged),
      )
    })
  })

  describe('404 and 405', () => {
    it('answers 404 at an unknown path, with or without credentials', async () => {
      for (const [method, url] of [
        ['GET', '/v2'],
        ['GET', '/v1/organisations'],
        ['POST', '/v1/organization'],
        ['GET', `${memberPath()}/role`],
        ['GET', memberPath().replace('/v1', '/V1')],
        ['GET', memberPath().replace('/members', '//members')],
      ] as const) {
        for (const key of [app().admin, null]) {
          const { status, body } = await app().request(method, url, { key })
          assert.equal(status, 404, url)
          assert.equal(body.error, `NOT_FOUND: there is no operation ${method} ${url}; GET /v1 lists all operations`)
        }
      }
    })

    it('does not repeat the query of such a request', async () => {
      const { text } = await app().request('GET', '/v1/nothing?secret=hush')
      assert.ok(!text.includes('hush'))
    })

    it('lists the methods that a path has', async () => {
      for (const [method, url, allow] of [
        ['PUT', memberPath(), 'GET, PATCH, DELETE'],
        ['POST', memberPath(), 'GET, PATCH, DELETE'],
        ['HEAD', memberPath(), 'GET, PATCH, DELETE'],
        ['OPTIONS', memberPath(), 'GET, PATCH, DELETE'],
        ['PATCH', endpointPath(), 'GET, POST'],
      ] as const) {
        for (const key of [app().admin, null]) {
          const { status, headers } = await app().request(method, url, { key })
          assert.equal(status, 405, `${method} ${url}`)
          assert.equal(headers.allow, allow)
        }
      }
      const { body } = await app().request('PUT', memberPath(), { headers: problemJson })
      assert.equal(body.code, 'method_not_allowed')
      assert.equal(body.detail, 'PUT is not allowed here; allowed: GET, PATCH, DELETE')
    })

    it('answers 405 also for rare methods', async () => {
      for (const method of ['TRACE', 'PROPFIND', 'OPTIONS']) {
        for (const [url, allow] of [
          [memberPath(), 'GET, PATCH, DELETE'],
          [`${memberPath()}/?a=b`, 'GET, PATCH, DELETE'],
          [memberPath().replace('members', '%6dembers'), 'GET, PATCH, DELETE'],
          [`/v1/organizations/${app().sample.organizationId}/keys/current`, 'GET'],
          ['/health', 'GET, HEAD'],
        ] as const) {
          const { status, headers } = await app().request(method, url)
          assert.equal(status, 405, `${method} ${url}`)
          assert.equal(headers.allow, allow)
        }
        for (const url of ['/v1/nothing', '/console/api/nothing']) {
          assert.equal((await app().request(method, url)).status, 404, `${method} ${url}`)
        }
        assert.equal((await app().request(method, '/console/api/session')).status, 405, method)
      }
    })

    it('answers 405 for the pages too', async () => {
      for (const url of ['/health', '/v1', '/docs']) {
        const { status, headers } = await app().request('POST', url)
        assert.equal(status, 405, url)
        assert.match(String(headers.allow), /\bGET\b/)
      }
    })

    it('refuses a path that does not decode', async () => {
      for (const url of ['/v1/%zz', memberPath(undefined, '%ff')]) {
        const { status, body } = await app().request('GET', url)
        assert.equal(status, 400)
        assert.match(body.error, /^BAD_REQUEST: /)
      }
    })
  })

  describe('the order of the checks', () => {
    const malformed = { text: '{"role":' }
    const wrongType = { headers: { 'content-type': 'text/plain' } }
    const tooLarge = { text: ' '.repeat(mebibyte + 1) }

    const cases: [string, number, () => Promise<TestResponse>][] = [
      ['no such method before no credentials', 405, () => app().request('PUT', memberPath('x', 'y'), { key: null })],
      [
        'wrong credentials before a malformed id',
        401,
        () => app().request('GET', memberPath(undefined, 'x'), { key: null, address: freshAddress() }),
      ],
      [
        'wrong credentials before a body that is too large',
        401,
        () => patch({ ...tooLarge, key: null, address: freshAddress() }),
      ],
      [
        'wrong credentials before the wrong type of a body',
        401,
        () => patch({ ...wrongType, key: null, address: freshAddress() }),
      ],
      ['another organization before a malformed id', 404, () => app().request('GET', memberPath(nobody, 'x'))],
      [
        'a malformed organization before the role',
        400,
        () => app().request('PATCH', memberPath('x'), { key: app().developer, body: { role: 'admin' } }),
      ],
      [
        'the role before a malformed id',
        403,
        () => app().request('PATCH', memberPath(undefined, 'x'), { key: app().developer, body: { role: 'admin' } }),
      ],
      [
        'another organization before the role',
        404,
        () => app().request('PATCH', memberPath(nobody), { key: app().developer, body: { role: 'admin' } }),
      ],
      [
        'another organization before a malformed body',
        404,
        () => app().request('PATCH', memberPath(nobody), malformed),
      ],
      [
        'another organization before a body that is too large',
        404,
        () => app().request('PATCH', memberPath(nobody), tooLarge),
      ],
      [
        'another organization before the wrong type of a body',
        404,
        () => app().request('PATCH', memberPath(nobody), { body: {}, ...wrongType }),
      ],
      ['another organization before an unknown query', 404, () => app().request('GET', `${memberPath(nobody)}?x=1`)],
      ['the role before a malformed body', 403, () => patch({ ...malformed, key: app().developer })],
      ['the role before a body that is too large', 403, () => patch({ ...tooLarge, key: app().developer })],
      ['the role before the wrong type of a body', 403, () => patch({ ...wrongType, key: app().developer })],
      [
        'the role before an unknown query',
        403,
        () => app().request('POST', `${endpointPath()}?x=1`, { key: app().developer, body: { id: 'x' } }),
      ],
      [
        'the role before a member that is not there',
        403,
        () => app().request('PATCH', memberPath(undefined, nobody), { key: app().developer, body: { role: 'admin' } }),
      ],
      ['the wrong type of a body before its size', 415, () => patch({ ...tooLarge, ...wrongType })],
      ['a malformed body before If-Match', 400, () => patch({ ...malformed, headers: { 'if-match': '"0.0"' } })],
      ['a wrong field before If-Match', 400, () => patch({ body: { role: 'x' }, headers: { 'if-match': '"0.0"' } })],
      [
        'If-Match before the last admin',
        412,
        () =>
          app().request('PATCH', memberPath(undefined, app().sample.adminUserId), {
            body: { role: 'developer' },
            headers: { 'if-match': '"0.0"' },
          }),
      ],
    ]
    for (const [name, status, send] of cases) {
      it(`is ${name}: ${status}`, async () => {
        const answer = await send()
        assert.equal(answer.status, status, answer.text)
      })
    }
  })
})
