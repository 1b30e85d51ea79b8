import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopClock } from '../../test/harness/stopped-clock.ts'
import {
  basic,
  type Key,
  onBothDatabases,
  openTestApp,
  type RequestOptions,
  type TestApp,
  type TestResponse,
} from '../../test/harness/test-app.ts'
import type { Dialect } from '../database/sql.ts'
import { hashSecret, newKey } from '../keys/key.ts'
import { newId } from '../lib/id.ts'
import { problems } from '../lib/problem.ts'
import { Secret } from '../lib/secret.ts'
import { operations } from '../operations.ts'

const nobody = '00000000-0000-4000-8000-000000000000'
const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const problemJson = { accept: 'application/problem+json' }
const mebibyte = 1_048_576

let lastAddress = 0
/** Failed authentications are counted by address: tests that fail some use their own address. */
function freshAddress(): string {
  lastAddress++
  return `198.18.${lastAddress >> 8}.${lastAddress & 255}`
}

/** The parts that must be equal in two identical responses. */
function comparable({ status, headers, text }: TestResponse): Pick<TestResponse, 'status' | 'headers' | 'text'> {
  return { status, text, headers: { ...headers, 'x-request-id': '', date: '' } }
}

onBothDatabases('the server', (app) => {
  const memberPath = (organizationId = app().sample.organizationId, userId = app().sample.userId) =>
    `/v1/organizations/${organizationId}/members/${userId}`
  const endpointPath = (serviceId = app().sample.serviceId) =>
    `/v1/organizations/${app().sample.organizationId}/services/${serviceId}/privateEndpoint`
  /** Changes nothing: the member already has this role. */
  const patch = (options: RequestOptions = {}) =>
    app().request('PATCH', memberPath(), {
      ...(options.text === undefined ? { body: { role: 'developer' } } : {}),
      ...options,
    })

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
          title: 'The body is invalid',
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
        error: `INTERNAL: something went wrong on our side; the log has it under request ${requestId}`,
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

  describe('401', () => {
    it('is the same response for every error in the credentials', async () => {
      const { organizationId } = app().sample
      const { admin } = app()
      const yesterday = new Date(Date.now() - 86_400_000).toISOString()
      const send = (authorization: string | undefined) =>
        app().request('GET', memberPath(), {
          key: null,
          address: freshAddress(),
          headers: authorization === undefined ? {} : { authorization },
        })
      const encoded = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
      const wrong: Record<string, string | undefined> = {
        'no header': undefined,
        'an empty header': '',
        'an unknown key': basic({ ...admin, keyId: 'x'.repeat(20) }),
        'a wrong secret': basic({ ...admin, secret: newKey(app().app.vault).secret.reveal() }),
        'another key’s secret': basic({ ...admin, secret: app().developer.secret }),
        'a secret cut short': basic({ ...admin, secret: admin.secret.slice(0, -1) }),
        'a secret with more': basic({ ...admin, secret: `${admin.secret} ` }),
        'no secret': encoded(`${admin.keyId}:`),
        'no key id': encoded(`:${admin.secret}`),
        'no colon': encoded(admin.keyId),
        'a key id in other letters': basic({ ...admin, keyId: swapCase(admin.keyId) }),
        'a disabled key': basic(await app().addKey(organizationId, 'admin', { state: 'disabled' })),
        'an expired key': basic(await app().addKey(organizationId, 'admin', { expireAt: yesterday })),
        Bearer: `Bearer ${admin.secret}`,
        'another scheme with the same value': basic(admin).replace('Basic', 'Digest'),
        'no scheme': basic(admin).replace('Basic ', ''),
        'nothing after the scheme': 'Basic',
        'bad base64': `${basic(admin)}!`,
        'base64 without its padding': 'Basic YTpiYw',
        'base64 in two pieces': basic(admin).replace(/.{4}$/, ' $&'),
        'bytes that are not UTF-8': `Basic ${Buffer.from([0x61, 0x3a, 0xff]).toString('base64')}`,
        'a NUL in the secret': encoded(`${admin.keyId}:${admin.secret}\u0000`),
        'a key id of a thousand characters': encoded(`${'a'.repeat(1_000)}:b`),
        'a header of three thousand': encoded(`${admin.keyId}:${'a'.repeat(2_000)}`),
        'a NUL in the key id': encoded(`a\u0000b:${admin.secret}`),
      }
      const expected = comparable(await send(undefined))
      assert.equal(expected.status, 401)
      assert.equal(expected.headers['www-authenticate'], 'Basic realm="penstock"')
      for (const [name, authorization] of Object.entries(wrong)) {
        assert.deepEqual(comparable(await send(authorization)), expected, name)
      }
    })

    it('is not answered to a key that expires later', async () => {
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
      const key = await app().addKey(app().sample.organizationId, 'developer', { expireAt: tomorrow })
      assert.equal((await app().request('GET', memberPath(), { key })).status, 200)
    })

    it('is answered from the next request on when a key is disabled', async () => {
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const send = () => app().request('GET', memberPath(), { key, address: '198.18.255.1' })
      assert.equal((await send()).status, 200)
      await app().query(`UPDATE api_keys SET state = 'disabled' WHERE key_id = '${key.keyId}'`)
      assert.equal((await send()).status, 401)
    })

    it('is not answered for the scheme in other letters, or for more spaces', async () => {
      for (const scheme of ['basic ', 'BASIC ', 'bAsIc ', 'Basic   ']) {
        const headers = { authorization: basic(app().admin).replace('Basic ', scheme) }
        assert.equal((await app().request('GET', memberPath(), { key: null, headers })).status, 200, scheme)
      }
    })

    it('is not answered for a secret with colons in it', async () => {
      const secret = 'pst_:with:colons::'
      const made = newKey(app().app.vault)
      const key = { ...made, secret: new Secret(secret), secretHash: hashSecret(app().app.vault, secret) }
      await app().addKey(app().sample.organizationId, 'developer', { key })
      const send = (text: string) =>
        app().request('GET', memberPath(), { key: { keyId: made.keyId, secret: text }, address: '198.18.255.2' })
      assert.equal((await send(secret)).status, 200)
      assert.equal((await send('pst_')).status, 401)
      assert.equal((await send('pst_:with:colons:')).status, 401)
    })
  })

  describe('403', () => {
    it('is for addresses outside the key’s IP access list', async () => {
      const { organizationId } = app().sample
      const sources = ['192.0.2.7', '10.20.0.0/16', '2001:db8::1', 'fd00:1234::/32']
      const ipAccessList = sources.map((source) => ({ source, description: 'test' }))
      const key = await app().addKey(organizationId, 'admin', { ipAccessList })
      const send = (address: string) => app().request('GET', memberPath(), { key, address })
      for (const address of [
        '192.0.2.7',
        '10.20.0.0',
        '10.20.255.255',
        '2001:db8::1',
        '2001:db8:0:0:0:0:0:1',
        'fd00:1234:ffff::9',
        '::ffff:192.0.2.7',
        '::ffff:10.20.3.4',
      ]) {
        assert.equal((await send(address)).status, 200, address)
      }
      for (const [address, told] of [
        ['192.0.2.8', '192.0.2.8'],
        ['10.21.0.1', '10.21.0.1'],
        ['2001:db8::2', '2001:db8::2'],
        ['fd00:1235::1', 'fd00:1235::1'],
        ['::ffff:192.0.2.8', '192.0.2.8'],
        ['127.0.0.1', '127.0.0.1'],
        ['::1', '::1'],
      ] as const) {
        const { status, body } = await send(address)
        assert.equal(status, 403, address)
        assert.equal(body.error, `FORBIDDEN: the key may not be used from ${told}; its IP access list does not have it`)
      }
    })

    it('does not believe X-Forwarded-For of a proxy that the operator has not named', async () => {
      const ipAccessList = [{ source: '192.0.2.7', description: 'test' }]
      const key = await app().addKey(app().sample.organizationId, 'admin', { ipAccessList })
      const headers = { 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.7', 'x-real-ip': '192.0.2.7' }
      assert.equal((await app().request('GET', memberPath(), { key, headers })).status, 403)
    })

    it('is not returned for a wrong secret', async () => {
      const ipAccessList = [{ source: '192.0.2.7', description: 'test' }]
      const key = await app().addKey(app().sample.organizationId, 'admin', { ipAccessList })
      const send = (address: string) =>
        app().request('GET', memberPath(), { key: { ...key, secret: 'pst_wrong' }, address })
      assert.equal((await send(freshAddress())).status, 401)
      assert.equal((await send('192.0.2.7')).status, 401)
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
          assert.equal(body.error, `NOT_FOUND: there is nothing at ${method} ${url}; GET /v1 describes what there is`)
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
      assert.equal(body.detail, 'PUT is not offered here; offered: GET, PATCH, DELETE')
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

  describe('the body', () => {
    it('may have at most 1 MiB', async () => {
      const text = '{"role":"developer"}'
      assert.equal((await patch({ text: text.padEnd(mebibyte) })).status, 200)
      const { status, body } = await patch({ text: text.padEnd(mebibyte + 1) })
      assert.equal(status, 413)
      assert.equal(body.error, `PAYLOAD_TOO_LARGE: the body is larger than ${mebibyte} bytes`)
    })

    it('may come as JSON or as a merge patch, in UTF-8', async () => {
      for (const contentType of [
        'application/json',
        'Application/JSON',
        'application/json; charset=utf-8',
        'application/json;charset="UTF-8"',
        'application/merge-patch+json',
        'application/merge-patch+json; charset=utf-8',
      ]) {
        assert.equal((await patch({ headers: { 'content-type': contentType } })).status, 200, contentType)
      }
      assert.equal((await patch({ headers: { 'content-encoding': 'identity' } })).status, 200)
    })

    it('may not have another content type or encoding', async () => {
      for (const contentType of [
        '',
        'json',
        'text/plain',
        'text/json',
        'application/jsonp',
        'application/json-patch+json',
        'application/problem+json',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/json, text/plain',
        'application/json; charset=iso-8859-1',
        'application/json; charset=utf-16',
      ]) {
        const { status, body } = await patch({ headers: { 'content-type': contentType } })
        assert.equal(status, 415, contentType)
        assert.match(body.error, /^UNSUPPORTED_MEDIA_TYPE: /)
      }
      for (const encoding of ['gzip', 'br', 'identity, gzip']) {
        const { status, body } = await patch({ headers: { 'content-encoding': encoding } })
        assert.equal(status, 415, encoding)
        assert.ok(body.error.includes(encoding), body.error)
      }
    })

    it('must be strictly valid JSON', async () => {
      const deep = (levels: number) => `{"role":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
      const refused: [string | Buffer, string | RegExp][] = [
        ['', 'the body is empty; send a JSON object'],
        ['   ', 'the body is empty; send a JSON object'],
        ['{"role":}', 'the body is not valid JSON at line 1, column 9 (in role): expected a value'],
        ["{'role':'developer'}", /^the body is not valid JSON at line 1, column 2/],
        ['{"role":"developer",}', /^the body is not valid JSON at line 1, column 21/],
        ['{"role":"developer"}{}', 'the body is not valid JSON at line 1, column 21: expected nothing after the value'],
        ['{"role":"admin","role":"developer"}', 'role is sent twice (line 1, column 17)'],
        ['{"role":"admin","ro\\u006ce":"developer"}', 'role is sent twice (line 1, column 17)'],
        ['{"role":"developer","__proto__":{}}', /__proto__ is not allowed/],
        ['{"role":"developer","\\u005f_proto__":{}}', /__proto__ is not allowed/],
        ['{"role":"\\u0000"}', /^role contains the character U\+0000/],
        ['{"role":"\\ud800"}', /^role contains half a character/],
        ['{"role":9007199254740993}', /^role is an integer beyond/],
        ['{"role":1e999}', /^role is too large a number/],
        ['{"role":NaN}', /^the body is not valid JSON/],
        [deep(33), /^the body is nested deeper than 32 levels/],
        [deep(100_000), /^the body is nested deeper than 32 levels/],
        [Buffer.from('{"role":"developer\xff"}', 'latin1'), 'the body is not valid UTF-8'],
        [Buffer.from('{"role":"developer"}', 'utf16le'), /^the body is not valid/],
        ['\ufeff{"role":"developer"}', /^the body is not valid JSON at line 1, column 1/],
      ]
      for (const [text, sentence] of refused) {
        const { status, body } = await patch({ text, headers: problemJson })
        const name = String(text).slice(0, 50)
        assert.equal(status, 400, name)
        assert.equal(body.code, 'invalid_json', name)
        if (typeof sentence === 'string') assert.equal(body.detail, sentence)
        else assert.match(body.detail, sentence)
      }
      // At the limit it is valid JSON, but not a valid role.
      assert.equal((await patch({ text: deep(32), headers: problemJson })).body.code, 'invalid_body')
    })
  })

  describe('an operation without a body', () => {
    const endpoint = (id: string) => `${endpointPath()}/${id}`

    it('may have a content type, as many clients send one', async () => {
      await app().request('POST', endpointPath(), { body: { id: 'vpce-00000001' } })
      const headers = { 'content-type': 'application/json', 'content-length': '0' }
      assert.equal((await app().request('DELETE', endpoint('vpce-00000001'), { headers })).status, 200)
    })

    it('refuses a body instead of ignoring it', async () => {
      await app().request('POST', endpointPath(), { body: { id: 'vpce-00000002' } })
      const { status, body } = await app().request('DELETE', endpoint('vpce-00000002'), { body: { force: true } })
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: Delete private endpoint takes no body; send none')
    })

    it('refuses If-Match where there is no version to compare it with', async () => {
      const request = { headers: { 'if-match': '*' }, body: { id: 'vpce-00000003' } }
      const { status, body } = await app().request('POST', endpointPath(), request)
      assert.equal(status, 400)
      assert.match(body.error, /has no version to compare If-Match with; leave it out$/)
    })
  })

  describe('the URL and the headers', () => {
    it('may have a URL of at most 2 KiB', async () => {
      const url = (length: number) => `${memberPath()}?`.padEnd(length, 'a')
      assert.match((await app().request('GET', url(2_048))).body.error, /is not a known/)
      const { status, body } = await app().request('GET', url(2_049))
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: the URL is longer than 2048 bytes')
    })

    it('has the same limit at unknown paths', async () => {
      assert.equal((await app().request('GET', `/v2/${'a'.repeat(2_048)}`)).status, 400)
    })

    describe('on a socket', () => {
      let port: number
      before(async () => {
        port = Number(new URL(await app().app.listen()).port)
      })
      const head = (method: string, url: string, ...lines: string[]) =>
        [`${method} ${url} HTTP/1.1`, 'Host: penstock', `Authorization: ${basic(app().admin)}`, ...lines, '', ''].join(
          '\r\n',
        )

      it('refuses duplicate singleton headers', async () => {
        const body = '{"role":"developer"}'
        for (const name of [
          'Authorization',
          'Content-Type',
          'Content-Encoding',
          'Idempotency-Key',
          'Host',
          'User-Agent',
        ]) {
          const values: Record<string, string> = {
            Authorization: basic(app().admin),
            Host: 'penstock',
            'Content-Type': 'application/json',
            'Content-Length': String(body.length),
            Connection: 'close',
            'Content-Encoding': 'identity',
            'Idempotency-Key': newId(),
            'User-Agent': 'test',
          }
          const lines = Object.entries(values).map(([key, value]) => `${key}: ${value}`)
          const send = (more: string[]) =>
            exchange(port, [`PATCH ${memberPath()} HTTP/1.1`, ...lines, ...more, '', body].join('\r\n'))
          assert.equal((await send([])).status, 200)
          const answer = await send([`${name.toUpperCase()}: ${values[name]}`])
          assert.equal(answer.status, 400, name)
          assert.deepEqual(JSON.parse(answer.body), {
            error: `BAD_REQUEST: the header ${name.toLowerCase()} is sent more than once`,
            status: 400,
          })
        }
      })

      it('answers invalid HTTP with the same kind of error', async () => {
        const length = 'Content-Length'
        for (const [name, text] of [
          ['no HTTP at all', 'HELLO\r\n\r\n'],
          ['an unknown method', head('FETCH', memberPath())],
          ['another version', head('GET', memberPath()).replace('HTTP/1.1', 'HTTP/3.0')],
          ['a header without a colon', head('GET', memberPath(), 'Nonsense')],
          ['a header with a NUL', head('GET', memberPath(), 'X-Test: a\u0000b')],
          ['two lengths', `${head('PATCH', memberPath(), `${length}: 2`, `${length}: 3`)}{}`],
          ['a length that is no number', head('PATCH', memberPath(), `${length}: two`)],
          ['a length and chunks', `${head('PATCH', memberPath(), `${length}: 2`, 'Transfer-Encoding: chunked')}{}`],
          ['headers over 16 KiB', head('GET', memberPath(), `X-Test: ${'a'.repeat(16_384)}`)],
        ] as const) {
          const { status, headers, body } = await exchange(port, text)
          assert.equal(status, 400, name)
          assert.match(headers['content-type'] ?? '', /^application\/json/, name)
          assert.match(headers['x-request-id'] ?? '', uuidV4, name)
          const parsed = JSON.parse(body)
          assert.deepEqual(Object.keys(parsed), ['error', 'status'])
          assert.match(parsed.error, /^BAD_REQUEST: /)
          assert.equal(parsed.status, 400)
        }
      })

      it('answers a request without a Host with the same kind of error', async () => {
        const { status, body } = await exchange(port, `GET ${memberPath()} HTTP/1.1\r\nConnection: close\r\n\r\n`)
        assert.equal(status, 400)
        assert.notEqual(body, '')
        assert.equal(JSON.parse(body).status, 400)
      })

      it('answers an expectation that it does not know in JSON', async () => {
        const answer = await exchange(port, head('GET', memberPath(), 'Expect: wonders', 'Connection: close'))
        assert.notEqual(answer.body, '')
        assert.equal(JSON.parse(answer.body).status, answer.status)
      })

      it('does not wait for a body that it will not read', async () => {
        const length = `Content-Length: ${mebibyte}`
        const unread: [number, string][] = [
          [401, head('PATCH', memberPath(), length).replace(/Authorization: .*\r\n/, '')],
          [403, head('PATCH', memberPath(), length).replace(basic(app().admin), basic(app().developer))],
          [404, head('PATCH', memberPath(nobody), length)],
          [405, head('PUT', memberPath(), length)],
          [413, head('PATCH', memberPath(), `Content-Length: ${mebibyte + 1}`, 'Content-Type: application/json')],
          [415, head('PATCH', memberPath(), length, 'Content-Type: text/plain')],
        ]
        for (const [status, text] of unread) {
          const answer = await exchange(port, text)
          assert.equal(answer.status, status)
          assert.equal(answer.headers.connection, 'close')
        }
      })

      it('counts the bytes of a body without Content-Length', async () => {
        const size = mebibyte + 1
        const chunk = `${size.toString(16)}\r\n${' '.repeat(size)}\r\n0\r\n\r\n`
        const text = head('PATCH', memberPath(), 'Transfer-Encoding: chunked', 'Content-Type: application/json')
        assert.equal((await exchange(port, text + chunk)).status, 413)
      })

      it('keeps the connection after an error without a body', async () => {
        for (const [status, first] of [
          [404, head('GET', '/v1/nothing')],
          [405, head('PUT', memberPath())],
          [404, head('GET', memberPath(undefined, nobody))],
        ] as const) {
          const answer = await exchange(port, first, head('GET', '/health', 'Connection: close'))
          assert.equal(answer.status, status)
          assert.ok(answer.rest.startsWith('HTTP/1.1 200 '), `${status}: ${answer.rest}`)
        }
      })
    })
  })

  describe('Idempotency-Key', () => {
    const create = (body: unknown, idempotencyKey: string, options: RequestOptions = {}) =>
      app().request('POST', endpointPath(), { body, headers: { 'idempotency-key': idempotencyKey }, ...options })
    const activitiesOf = (endpointId: string) =>
      app().query(`SELECT id FROM activities WHERE target LIKE '%"${endpointId}"%'`)

    it('gives the same answer to the same POST, and applies it once', async () => {
      const id = newId()
      const key = newId()
      const first = await create({ id, description: 'Analytics' }, key)
      assert.equal(first.status, 200)
      assert.match(String(first.headers.warning), /^199 /)
      // Detached in between: running the request again would attach it again.
      await app().query(`DELETE FROM service_private_endpoints WHERE endpoint_id = '${id}'`)
      const again = await create({ id, description: 'Analytics' }, key)
      assert.equal(again.status, 200)
      assert.deepEqual(again.body.result, first.body.result)
      assert.deepEqual(comparable(again).headers, comparable(first).headers)
      assert.equal((await activitiesOf(id)).length, 1)
      const rows = await app().query(`SELECT * FROM service_private_endpoints WHERE endpoint_id = '${id}'`)
      assert.deepEqual(rows, [])
    })

    it('gives the same answer to the same PATCH, and applies it once', async () => {
      const { organizationId } = app().sample
      const url = memberPath(organizationId, await app().addMember(organizationId, 'developer'))
      const promote = () =>
        app().request('PATCH', url, {
          body: { role: 'admin' },
          headers: { 'idempotency-key': `once ${url.slice(-36)}` },
        })
      const first = await promote()
      assert.equal(first.status, 200)
      await app().request('PATCH', url, { body: { role: 'developer' } })
      const again = await promote()
      assert.equal(again.status, 200)
      assert.deepEqual(again.body.result, first.body.result)
      assert.equal(again.headers.etag, first.headers.etag)
      assert.equal((await app().request('GET', url)).body.result.role, 'developer')
    })

    it('ignores white space in a body', async () => {
      const id = newId()
      const key = newId()
      await create({ id, description: '' }, key)
      const again = await create(undefined, key, {
        text: ` { "id" : "${id}", "description": "" } `,
        headers: { 'idempotency-key': key, 'content-type': 'application/json; charset=utf-8' },
      })
      assert.equal(again.status, 200)
    })

    it('is refused with 409 for another request', async () => {
      const id = newId()
      const key = newId()
      const headers = { 'idempotency-key': key }
      await create({ id }, key)
      const secondService = await app().addService(app().sample.organizationId)
      for (const send of [
        () => create({ id: newId() }, key),
        () => create({ id, description: '' }, key),
        () => app().request('POST', `${endpointPath()}?strict=false`, { body: { id }, headers }),
        () => app().request('POST', endpointPath(secondService), { body: { id }, headers }),
        () => patch({ headers }),
      ]) {
        const { status, body } = await send()
        assert.equal(status, 409)
        assert.equal(
          body.error,
          'CONFLICT: the Idempotency-Key was used before for another request; use a new key for a new request',
        )
      }
      const rich = await create({ id: newId() }, key, { headers: { ...headers, ...problemJson } })
      assert.equal(rich.body.code, 'idempotency_key_reused')
    })

    it('belongs to the API key that used it', async () => {
      const key = newId()
      const other = await app().addKey(app().sample.organizationId, 'admin')
      const id = newId()
      assert.equal((await create({ id: newId() }, key)).status, 200)
      const { status, body } = await create({ id }, key, { key: other })
      assert.equal(status, 200)
      assert.equal(body.result.id, id)
    })

    it('is not spent by a request that failed', async () => {
      const key = newId()
      const taken = newId()
      await create({ id: taken, description: 'Analytics' }, newId())
      assert.equal((await create({ id: '' }, key)).status, 400)
      assert.equal((await create({ id: taken }, key)).status, 409)
      assert.equal((await create({ id: newId() }, key)).status, 200)
    })

    it('is forgotten after 24 hours', async () => {
      const key = newId()
      await create({ id: newId() }, key)
      const age = async (hours: number) => {
        const then = new Date(Date.now() - hours * 3_600_000).toISOString()
        await app().query(`UPDATE idempotency_records SET created_at = '${then}' WHERE idempotency_key = '${key}'`)
      }
      await age(23.9)
      assert.equal((await create({ id: newId() }, key)).status, 409)
      await age(24.1)
      assert.equal((await create({ id: newId() }, key)).status, 200)
    })

    it('is refused with 409 while the first request with it is still running', async () => {
      const id = newId()
      const key = newId()
      const hold = { sqlite: 'BEGIN IMMEDIATE', postgres: 'BEGIN; LOCK TABLE private_endpoints IN EXCLUSIVE MODE' }
      await app().query(hold[app().dialect])
      const both = [create({ id }, key), create({ id }, key)]
      const early = await Promise.race(both).finally(() => app().query('ROLLBACK'))
      assert.equal(early.status, 409)
      assert.equal(
        early.body.error,
        'CONFLICT: a request with this Idempotency-Key is still running; try again in a second',
      )
      assert.equal(early.headers['retry-after'], '1')
      const answers = await Promise.all(both)
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
      assert.equal((await create({ id }, key)).status, 200)
    })

    it('applies concurrent requests once; each gets the result or a 409', async () => {
      const id = newId()
      const key = newId()
      const answers = await Promise.all(Array.from({ length: 10 }, () => create({ id }, key)))
      for (const { status, body, headers } of answers) {
        if (status === 200) assert.equal(body.result.id, id)
        else {
          assert.equal(status, 409)
          assert.match(body.error, /^CONFLICT: a request with this Idempotency-Key is still running/)
          assert.equal(headers['retry-after'], '1')
        }
      }
      assert.ok(answers.some(({ status }) => status === 200))
      assert.equal((await activitiesOf(id)).length, 1)
      assert.equal((await create({ id }, key)).status, 200)
    })

    it('has 1 to 255 printable characters', async () => {
      for (const key of ['a', '~!@#$%^&*() with spaces', 'k'.repeat(255)]) {
        assert.equal((await create({ id: newId() }, key)).status, 200, key)
      }
      for (const key of ['', 'k'.repeat(256), 'clé', 'a\tb', ' a', 'a\u007f']) {
        const { status, body } = await create({ id: newId() }, key)
        assert.equal(status, 400, JSON.stringify(key))
        assert.equal(body.error, 'BAD_REQUEST: Idempotency-Key must have 1 to 255 printable ASCII characters')
      }
    })
  })

  describe('the rate limit', () => {
    it('is off by default, without rate-limit headers', async () => {
      for (const answer of [await app().request('GET', memberPath()), await patch({ body: {} })]) {
        assert.deepEqual(
          Object.keys(answer.headers).filter((name) => name.includes('ratelimit')),
          [],
        )
      }
    })
  })

  describe('failed authentications', () => {
    const guess = (key: Key | null, address: string) => app().request('GET', memberPath(), { key, address })
    const wrong = () => ({ keyId: newKey(app().app.vault).keyId, secret: 'pst_wrong' })

    it('are counted by address: 20 at once, then one per second', async (t) => {
      const clock = stopClock(t)
      const address = freshAddress()
      for (let count = 0; count < 20; count++) {
        assert.equal((await guess(wrong(), address)).status, 401, `guess ${count}`)
      }
      const { status, body, headers } = await guess(wrong(), address)
      assert.equal(status, 429)
      assert.match(body.error, /^TOO_MANY_REQUESTS: too many failed authentications/)
      assert.equal(headers['retry-after'], '1')
      assert.match(String(headers['x-request-id']), uuidV4)
      assert.equal((await guess(wrong(), freshAddress())).status, 401)

      clock.advance(1_000)
      assert.equal((await guess(wrong(), address)).status, 401)
      assert.equal((await guess(wrong(), address)).status, 429)
    })

    it('do not block valid keys or sessions', async (t) => {
      stopClock(t)
      const address = freshAddress()
      const session = await app().addSession(app().sample.userId)
      const guesses = Array.from({ length: 60 }, () => guess(wrong(), address))
      const right = Array.from({ length: 5 }, () => guess(app().admin, address))
      const inConsole = app().request('GET', memberPath(), { session, address })
      const statuses = (await Promise.all(guesses)).map(({ status }) => status)
      assert.deepEqual(statuses.toSorted(), [...Array(20).fill(401), ...Array(40).fill(429)])
      for (const answer of await Promise.all([...right, inConsole, guess(app().admin, address)])) {
        assert.equal(answer.status, 200)
      }
    })

    it('expire by the monotonic clock, not by the system time', async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
      const clock = stopClock(t)
      const address = freshAddress()
      for (let count = 0; count < 20; count++) await guess(wrong(), address)
      t.mock.timers.setTime(Date.now() - 3_600_000)
      clock.advance(1_000)
      assert.equal((await guess(wrong(), address)).status, 401)
      t.mock.timers.setTime(Date.now() + 7_200_000)
      assert.equal((await guess(wrong(), address)).status, 429)
    })

    it('are counted for an IPv4 address and its IPv6 form together', async (t) => {
      stopClock(t)
      const address = freshAddress()
      for (let count = 0; count < 20; count++) await guess(wrong(), count % 2 ? address : `::ffff:${address}`)
      assert.equal((await guess(wrong(), address)).status, 429)
      assert.equal((await guess(wrong(), `::ffff:${address}`)).status, 429)
    })

    it('are counted by key id too, without blocking the valid secret', async (t) => {
      stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const attack = () => guess({ ...key, secret: 'pst_wrong' }, freshAddress())
      for (let count = 0; count < 20; count++) assert.equal((await attack()).status, 401, `guess ${count}`)
      assert.equal((await attack()).status, 429)
      assert.equal((await guess(key, freshAddress())).status, 200)
      assert.equal((await attack()).status, 429)
    })

    it('do not include requests without credentials', async (t) => {
      stopClock(t)
      const address = freshAddress()
      const sent = async (authorization: string) =>
        (await app().request('GET', memberPath(), { key: null, address, headers: { authorization } })).status
      for (let count = 0; count < 25; count++) assert.equal((await guess(null, address)).status, 401)
      for (let count = 0; count < 20; count++) assert.equal(await sent(count % 2 ? '' : 'Bearer x'), 401)
      assert.equal(await sent('Bearer x'), 429)
      assert.equal((await guess(null, address)).status, 401)
    })

    it('do not include requests that were authenticated and then refused', async () => {
      const address = freshAddress()
      for (let count = 0; count < 25; count++) {
        assert.equal((await patch({ key: app().developer, address })).status, 403)
      }
      assert.equal((await guess(app().developer, address)).status, 200)
    })
  })

  describe('pages without authentication', () => {
    const get = (url: string) => app().request('GET', url, { key: null })

    it('/health and /ready answer 200', async () => {
      const health = await get('/health')
      assert.equal(health.status, 200)
      assert.deepEqual(health.body, { status: 'ok' })
      const ready = await get('/ready')
      assert.equal(ready.status, 200)
      assert.deepEqual(ready.body, { status: 'ready' })
    })

    it('/metrics counts the requests under way', async (t) => {
      const underWay = async () =>
        Number(/^penstock_http_requests_under_way (\d+)$/m.exec((await get('/metrics')).text)![1])
      const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const { database } = app().app
      const write = database.write.bind(database)
      t.mock.method(database, 'write', async (...given: Parameters<typeof write>) => {
        if (given[0] === 'writeOperation') begun.resolve()
        await held.promise
        return write(...given)
      })
      const patched = patch()
      await begun.promise
      assert.equal(await underWay(), 1)
      held.resolve()
      assert.equal((await patched).status, 200)
      assert.equal(await underWay(), 0)
    })

    it('/metrics counts requests by operation and status, and the writes of each commit', async (t) => {
      // Excludes periodic writes: seals every five seconds, and the last use of keys every minute.
      await app().app.sealer.sealTouched()
      await app().app.keyUses.settled()
      t.mock.method(app().app.sealer, 'sealTouched', async () => undefined)
      t.mock.method(app().app.keyUses, 'note', () => undefined)
      const value = async (series: string) => {
        const { status, headers, text } = await get('/metrics')
        assert.equal(status, 200)
        assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
        const line = text.split('\n').find((each) => each.startsWith(`${series} `))
        return line ? Number(line.slice(series.length + 1)) : 0
      }
      const grows = async (series: string, by: number, act: () => Promise<unknown>) => {
        const start = await value(series)
        await act()
        assert.equal((await value(series)) - start, by, series)
      }
      const requests = (operation: string, status: number) =>
        `penstock_http_requests_total{operation="${operation}",status="${status}"}`
      await grows(requests('getMember', 200), 1, () => app().request('GET', memberPath()))
      await grows(requests('getMember', 404), 1, () => app().request('GET', memberPath(undefined, nobody)))
      await grows(requests('updateMember', 403), 1, () => patch({ key: app().developer }))
      await grows(requests('none', 404), 1, () => app().request('GET', '/v1/nothing'))
      await grows('penstock_http_request_duration_seconds_count{operation="updateMember"}', 1, () => patch())
      const wrong = { ...app().admin, secret: 'pst_wrong' }
      await grows('penstock_http_failed_authentications_total', 1, () => patch({ key: wrong, address: freshAddress() }))
      await grows('penstock_http_failed_authentications_total', 0, () => patch({ key: null, address: freshAddress() }))
      await grows('penstock_database_commit_writes_sum', 1, () => patch())
      await grows('penstock_database_commit_writes_count', 1, () => patch())
      await grows('penstock_database_commit_writes_bucket{le="1"}', 1, () => patch())
      await grows('penstock_database_commit_writes_sum', 8, () => Promise.all(Array.from({ length: 8 }, () => patch())))
    })

    it('/metrics is well-formed, with a type for every series and cumulative buckets', async () => {
      await patch()
      const lines = (await get('/metrics')).text.trimEnd().split('\n')
      const types = new Set<string>()
      for (const line of lines) {
        const type = /^# TYPE (\w+) (?:counter|gauge|histogram)$/.exec(line)?.[1]
        if (type) types.add(type)
        if (line.startsWith('#')) continue
        const name = /^(\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? [\d.e+-]+$/.exec(line)?.[1]
        assert.ok(name, line)
        assert.ok(types.has(name) || types.has(name.replace(/_(?:bucket|sum|count)$/, '')), line)
      }
      const buckets = lines
        .filter((line) => line.startsWith('penstock_database_commit_writes_bucket'))
        .map((line) => Number(line.split(' ')[1]))
      assert.ok(buckets.length > 2)
      assert.deepEqual(
        buckets,
        buckets.toSorted((a, b) => a - b),
      )
    })

    it('/v1 is an OpenAPI 3.1 document of every operation', async () => {
      for (const url of ['/v1', '/v1/']) {
        const { status, body, headers } = await get(url)
        assert.equal(status, 200)
        assert.match(String(headers['content-type']), /^application\/json/)
        assert.match(body.openapi, /^3\.1\.\d+$/)
        assert.equal(body.info.version, '1.0')
        for (const operation of operations) {
          const described = body.paths[operation.path][operation.method.toLowerCase()]
          assert.equal(described.operationId, operation.id)
          assert.deepEqual(described.tags, [operation.tag])
          assert.equal(described['x-stability'], operation.path.includes('/pipes') ? 'beta' : undefined)
        }
      }
    })

    it('/docs and its assets come from this server', async () => {
      const docs = await get('/docs')
      assert.equal(docs.status, 200)
      assert.match(String(docs.headers['content-type']), /^text\/html/)
      const policy = String(docs.headers['content-security-policy'])
      assert.match(policy, /default-src 'none'/)
      assert.ok(!policy.includes('unsafe'), policy)
      for (const operation of operations) assert.ok(docs.text.includes(operation.summary), operation.summary)

      const loaded = [...docs.text.matchAll(/<(?:script|link|img)\b[^>]*?\b(?:src|href)="([^"]+)"/g)].map(
        (match) => new URL(match[1]!, 'http://penstock/docs'),
      )
      assert.ok(loaded.length > 0)
      for (const url of loaded) {
        if (url.protocol === 'data:') continue
        assert.equal(url.origin, 'http://penstock')
        assert.equal((await get(url.pathname)).status, 200, url.pathname)
      }
      const css = await get('/docs/reference.css')
      assert.equal(css.status, 200)
      assert.match(String(css.headers['content-type']), /^text\/css/)
      assert.equal(css.headers['x-content-type-options'], 'nosniff')
      const home = await get('/')
      assert.equal(home.status, 302)
      assert.equal(home.headers.location, '/console')
    })

    it('/problems has a page for every problem', async () => {
      const index = await get('/problems')
      assert.equal(index.status, 200)
      assert.match(String(index.headers['content-type']), /^text\/html/)
      for (const code of Object.keys(problems)) {
        assert.ok(index.text.includes(`/problems/${code}`) || index.text.includes(code), code)
        const page = await get(`/problems/${code}`)
        assert.equal(page.status, 200, code)
        assert.match(String(page.headers['content-type']), /^text\/html/)
      }
      assert.equal((await get('/problems/no_such_problem')).status, 404)
    })
  })
})

onBothDatabases(
  'the server with a rate limit',
  (app) => {
    const memberPath = (organizationId = app().sample.organizationId, userId = app().sample.userId) =>
      `/v1/organizations/${organizationId}/members/${userId}`
    const rateOf = ({ headers }: TestResponse) =>
      ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`])

    it('has headers in every response, also in errors', async (t) => {
      const clock = stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const ok = await app().request('GET', memberPath(), { key })
      assert.equal(ok.status, 200)
      assert.deepEqual(rateOf(ok), ['3', '2', '10'])
      assert.equal(ok.headers['retry-after'], undefined)
      clock.advance(3_500)
      const notFound = await app().request('GET', memberPath(undefined, nobody), { key })
      assert.equal(notFound.status, 404)
      assert.deepEqual(rateOf(notFound), ['3', '1', '7'])
      const forbidden = await app().request('PATCH', memberPath(), { key, body: {} })
      assert.equal(forbidden.status, 403)
      assert.deepEqual(rateOf(forbidden), ['3', '0', '7'])
    })

    it('answers 429 when the limit is used up, until the window ends', async (t) => {
      const clock = stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const send = (headers = {}) => app().request('GET', memberPath(), { key, headers })
      for (let count = 0; count < 3; count++) assert.equal((await send()).status, 200)
      clock.advance(6_000)
      const limited = await send()
      assert.equal(limited.status, 429)
      assert.deepEqual(limited.body, {
        error: 'TOO_MANY_REQUESTS: the key may make 3 requests in 10 s; try again in 4 s',
        status: 429,
      })
      assert.deepEqual(rateOf(limited), ['3', '0', '4'])
      assert.equal(limited.headers['retry-after'], '4')
      assert.match(String(limited.headers['x-request-id']), uuidV4)
      assert.equal((await send(problemJson)).body.code, 'too_many_requests')

      clock.advance(3_999)
      assert.equal((await send()).status, 429)
      clock.advance(1)
      const again = await send()
      assert.equal(again.status, 200)
      assert.deepEqual(rateOf(again), ['3', '2', '10'])
    })

    it('counts each key separately, from all addresses together', async (t) => {
      stopClock(t)
      const { organizationId } = app().sample
      const keys = [await app().addKey(organizationId, 'developer'), await app().addKey(organizationId, 'developer')]
      const send = (key: Key) => app().request('GET', memberPath(), { key, address: freshAddress() })
      for (let count = 0; count < 3; count++) await send(keys[0]!)
      assert.equal((await send(keys[0]!)).status, 429)
      assert.deepEqual(rateOf(await send(keys[1]!)).slice(0, 2), ['3', '2'])
    })

    it('comes after authentication and before everything else', async (t) => {
      stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      for (let count = 0; count < 3; count++) await app().request('GET', memberPath(), { key })
      for (const url of [memberPath(nobody), memberPath(undefined, 'malformed')]) {
        assert.equal((await app().request('PATCH', url, { key, text: '{' })).status, 429)
      }
      const guess = await app().request('GET', memberPath(), {
        key: { ...key, secret: 'pst_wrong' },
        address: freshAddress(),
      })
      assert.equal(guess.status, 401)
      assert.deepEqual(rateOf(guess), [undefined, undefined, undefined])
    })

    it('does not count guesses against the key', async () => {
      const key = await app().addKey(app().sample.organizationId, 'developer')
      for (let count = 0; count < 5; count++) {
        await app().request('GET', memberPath(), { key: { ...key, secret: 'pst_wrong' }, address: freshAddress() })
      }
      assert.equal((await app().request('GET', memberPath(), { key })).headers['x-ratelimit-remaining'], '2')
    })
  },
  { rateLimit: { requests: 3, windowSeconds: 10 } },
)

onBothDatabases(
  'the server behind a proxy',
  (app) => {
    it('uses the address from the trusted proxy only', async () => {
      const { organizationId, userId } = app().sample
      const ipAccessList = [{ source: '192.0.2.7', description: 'test' }]
      const key = await app().addKey(organizationId, 'developer', { ipAccessList })
      const send = (address: string, forwardedFor: string) =>
        app().request('GET', `/v1/organizations/${organizationId}/members/${userId}`, {
          key,
          address,
          headers: { 'x-forwarded-for': forwardedFor },
        })
      assert.equal((await send('10.0.0.1', '192.0.2.7')).status, 200)
      assert.equal((await send('10.0.0.1', '203.0.113.1, 192.0.2.7')).status, 200)
      assert.equal((await send('10.0.0.1', '192.0.2.7, 203.0.113.1')).status, 403)
      assert.equal((await send('10.0.0.2', '192.0.2.7')).status, 403)
      for (const nonsense of ['unknown', '192.0.2.7:4711', '', ',', '[', '999.0.0.1']) {
        assert.equal((await send('10.0.0.1', nonsense)).status, 403, nonsense)
      }
    })
  },
  { trustedProxies: ['10.0.0.1'] },
)

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

function swapCase(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}

interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** Everything after the first response. */
  rest: string
}

/** Sends raw text and reads until the server closes the connection. */
async function exchange(port: number, ...texts: string[]): Promise<RawAnswer> {
  const received = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.setTimeout(20_000, () => socket.destroy(new Error('the server neither answered nor closed')))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close before it has read everything.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.write(texts.join(''), 'latin1')
  })
  const end = received.indexOf('\r\n\r\n')
  const [first, ...lines] = received.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = Number(headers['content-length'] ?? 0)
  const content = Buffer.from(received.slice(end + 4))
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(first ?? '')?.[1]),
    headers,
    body: content.subarray(0, length).toString(),
    rest: content.subarray(length).toString(),
  }
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
