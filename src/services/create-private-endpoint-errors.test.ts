// Refused private endpoints.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endpointRequests, usualId } from '../../test/harness/private-endpoints.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const unknownId = '00000000-0000-4000-8000-000000000000'
const problemJson = { accept: 'application/problem+json' }

onBothDatabases('createPrivateEndpoint', (app) => {
  const { setUp } = endpointRequests(app)

  describe('400', () => {
    const refused: [string, unknown, string | RegExp][] = [
      ['an empty object', {}, 'id is required'],
      ['only a description', { description: 'Analytics' }, 'id is required'],
      ['an empty id', { id: '' }, 'id must have 1 to 255 characters, not 0'],
      ['an id of 256 characters', { id: 'a'.repeat(256) }, 'id must have 1 to 255 characters, not 256'],
      ['an id that is null', { id: null }, /^id must be .+, not null$/],
      ['an id that is a number', { id: 12345 }, /^id must be .+, not 12345$/],
      ['an id that is a list', { id: [usualId] }, /^id must be .+, not a list$/],
      [
        'a description of 256 characters',
        { id: usualId, description: 'é'.repeat(256) },
        'description must have at most 255 characters, not 256',
      ],
      ['a description that is null', { id: usualId, description: null }, 'description must be a string, not null'],
      ['a description that is a number', { id: usualId, description: 7 }, 'description must be a string, not 7'],
      [
        'a misspelt field',
        { id: usualId, descripton: 'Analytics' },
        'descripton is not a known field, did you mean "description"?',
      ],
      ['a field of the result', { id: usualId, region: 'eu-west-1' }, 'region is not a known field'],
      [
        'several things at once',
        { id: '', description: 7, cloudProvider: 'aws' },
        /^(?=.*id must have 1 to 255 characters)(?=.*description must be a string)(?=.*cloudProvider is not a known field)/,
      ],
      ['a list for a body', [], 'the body must be an object, not a list'],
    ]
    for (const [name, body, sentence] of refused) {
      it(`refuses ${name}`, async () => {
        const { create, list, activities } = await setUp()
        const answer = await create(body)
        assert.equal(answer.status, 400)
        assert.deepEqual(Object.keys(answer.body), ['error', 'status'])
        const message = String(answer.body.error).replace(/^BAD_REQUEST: /, '')
        if (typeof sentence === 'string') assert.equal(message, sentence)
        else assert.match(message, sentence)
        assert.deepEqual(await list(), [])
        assert.deepEqual(await activities(), [])
      })
    }

    it('refuses white space, control characters and what is not ASCII in an id', async () => {
      const { create, list } = await setUp()
      for (const bad of [
        ' ',
        '\t',
        '\n',
        '\r',
        '\u00a0',
        '\u2028',
        '\u0001',
        '\u001f',
        '\u007f',
        'é',
        '端',
        '🚰',
        '\u200b',
      ]) {
        for (const id of [bad, `vpce${bad}1`, `${bad}vpce-1`, `vpce-1${bad}`]) {
          const { status, body } = await create({ id })
          assert.equal(status, 400, JSON.stringify(id))
          assert.match(body.error, /^BAD_REQUEST: id must be .*without white space/)
        }
      }
      assert.deepEqual(await list(), [])
    })

    it('refuses U+0000 in an id and in a description', async () => {
      const { create } = await setUp()
      for (const body of [{ id: 'a\u0000b' }, { id: usualId, description: 'a\u0000b' }]) {
        assert.equal((await create(body)).status, 400)
      }
    })

    it('refuses an unusual id with strict=true, and registers nothing', async () => {
      const { create, list, activities } = await setUp()
      const { status, body, headers } = await create(
        { id: 'my-endpoint' },
        { query: '?strict=true', headers: problemJson },
      )
      assert.equal(status, 400)
      assert.equal(headers.warning, undefined)
      assert.equal(body.code, 'unusual_endpoint_id')
      assert.match(body.detail, /^id "my-endpoint" does not look like an endpoint of aws/)
      assert.equal(body.errors.length, 1)
      assert.equal(body.errors[0].pointer, '#/id')
      assert.deepEqual(await list(), [])
      assert.deepEqual(await activities(), [])

      const plain = await create({ id: 'my-endpoint' }, { query: '?strict=true' })
      assert.match(plain.body.error, /^BAD_REQUEST: id "my-endpoint" does not look like/)
      // Also registered with another description: validation comes first.
      await create({ id: 'my-endpoint', description: 'Analytics' })
      assert.equal((await create({ id: 'my-endpoint' }, { query: '?strict=true' })).status, 400)
    })

    it('refuses every other value of strict', async () => {
      const { create, list } = await setUp()
      for (const value of ['yes', '1', '', 'TRUE', 'True', 'true%20', 'null']) {
        const { status, body } = await create({ id: usualId }, { query: `?strict=${value}` })
        assert.equal(status, 400, value)
        assert.match(body.error, /^BAD_REQUEST: strict must be a boolean, not "/)
      }
      assert.deepEqual(await list(), [])
    })

    it('refuses unknown query parameters', async () => {
      const { create, list } = await setUp()
      for (const name of ['dryRun', 'Strict', 'strict%5B%5D', 'constructor', '__proto__']) {
        const { status, body } = await create({ id: usualId }, { query: `?${name}=true`, headers: problemJson })
        assert.equal(status, 400, name)
        assert.equal(body.code, 'invalid_query')
        assert.ok(body.detail.includes(decodeURIComponent(name)), body.detail)
      }
      assert.deepEqual(await list(), [])
    })

    it('refuses a query parameter that comes twice', async () => {
      const { create, list } = await setUp()
      for (const query of ['?strict=true&strict=true', '?strict=true&strict=false', '?strict=false&%73trict=false']) {
        const { status, body } = await create({ id: usualId }, { query })
        assert.equal(status, 400, query)
        assert.match(body.error, /^BAD_REQUEST: .*"strict" is sent more than once/)
      }
      assert.deepEqual(await list(), [])
    })

    it('refuses a malformed service id', async () => {
      const { organizationId, admin } = await setUp()
      const url = `/v1/organizations/${organizationId}/services/analytics/privateEndpoint`
      const { status, body } = await app().request('POST', url, { key: admin, body: { id: usualId } })
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: serviceId must be a uuid, not "analytics"')
    })
  })

  describe('403', () => {
    it('refuses a developer key', async () => {
      const { organizationId, create, list } = await setUp()
      const key = await app().addKey(organizationId, 'developer')
      const { status, body } = await create({ id: usualId }, { key })
      assert.equal(status, 403)
      assert.match(body.error, /^FORBIDDEN: Create private endpoint needs a key with the role admin/)
      assert.deepEqual(await list(), [])
    })
  })

  describe('404', () => {
    it('names the missing service', async () => {
      const { organizationId, admin, url } = await setUp()
      const { status, body } = await app().request('POST', url(unknownId), { key: admin, body: { id: usualId } })
      assert.equal(status, 404)
      assert.deepEqual(body, {
        error: `NOT_FOUND: service ${unknownId} was not found in organization ${organizationId}`,
        status: 404,
      })
    })

    it('reports a service of another organization as missing', async () => {
      const { admin, url } = await setUp()
      const other = await setUp()
      const send = (serviceId: string) =>
        app().request('POST', url(serviceId), { key: admin, body: { id: 'my-endpoint' } })
      const foreign = await send(other.serviceId)
      const missing = await send(unknownId)
      assert.equal(foreign.status, 404)
      assert.equal(foreign.text.replaceAll(other.serviceId, unknownId), missing.text)
      assert.equal(foreign.headers.warning, missing.headers.warning)
      assert.deepEqual(await other.list(), [])
      assert.deepEqual(await other.activities(), [])
    })
  })

  describe('409', () => {
    it('rejects the same id with another description, and returns the stored one', async () => {
      const { create, list, activities } = await setUp()
      await create({ id: usualId, description: 'Analytics "blue"' })
      for (const description of [undefined, '', 'analytics "blue"', 'Analytics "blue" ']) {
        const { status, body } = await create({ id: usualId, description })
        assert.equal(status, 409)
        assert.equal(
          body.error,
          `CONFLICT: private endpoint ${usualId} is already registered with the description "Analytics \\"blue\\""; ` +
            'send that description',
        )
      }
      const rich = await create({ id: usualId, description: 'other' }, { headers: problemJson })
      assert.equal(rich.body.code, 'private_endpoint_exists')
      assert.deepEqual(
        (await list()).map(({ description }) => description),
        ['Analytics "blue"'],
      )
      assert.equal((await activities()).length, 1)
    })

    it('refuses another description for another service too', async () => {
      const { organizationId, admin, url, create, list } = await setUp()
      const secondId = await app().addService(organizationId)
      await create({ id: usualId, description: 'Analytics' })
      const { status } = await app().request('POST', url(secondId), {
        key: admin,
        body: { id: usualId, description: 'Reporting' },
      })
      assert.equal(status, 409)
      assert.deepEqual(await list(secondId), [])
    })

    it('keeps one of two concurrent descriptions', async () => {
      const { create, list, activities } = await setUp()
      for (let round = 0; round < 5; round++) {
        const id = `${usualId}-${round}`
        const answers = await Promise.all(['one', 'other'].map((description) => create({ id, description })))
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
        const winner = answers.find(({ status }) => status === 200)!.body.result
        assert.deepEqual(
          (await list()).find((endpoint) => endpoint.id === id),
          winner,
        )
      }
      assert.equal((await activities()).length, 5)
    })
  })
})
