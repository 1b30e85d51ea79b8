import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endpointRequests, usualId } from '../../test/harness/private-endpoints.ts'
import { onBothDatabases, type TestResponse } from '../../test/harness/test-app.ts'
import type { Provider } from './service.ts'

onBothDatabases('createPrivateEndpoint', (app) => {
  const { setUp } = endpointRequests(app)

  describe('200', () => {
    it('returns the endpoint with the provider and region of the service', async () => {
      const { create, list } = await setUp('gcp')
      const { status, body, headers } = await create({ id: '1234567890', description: 'Analytics' })
      assert.equal(status, 200)
      const result = { cloudProvider: 'gcp', description: 'Analytics', id: '1234567890', region: 'eu-west-1' }
      assert.deepEqual(body, { requestId: headers['x-request-id'], result, status: 200 })
      assert.deepEqual(await list(), [result])
    })

    it('treats a missing description as empty', async () => {
      const { create } = await setUp()
      const { status, body } = await create({ id: usualId })
      assert.equal(status, 200)
      assert.equal(body.result.description, '')
      assert.equal((await create({ id: usualId, description: '' })).status, 200)
    })

    it('records the endpoint and its service', async () => {
      const { serviceId, create, activities } = await setUp()
      const { body } = await create({ id: usualId, description: 'Analytics' })
      const [row, ...more] = await activities()
      assert.deepEqual(more, [])
      assert.equal(row!.type, 'private_endpoint_created')
      assert.equal(row!.request_id, body.requestId)
      assert.deepEqual(JSON.parse(row!.target), { type: 'private_endpoint', id: usualId, serviceId })
      assert.deepEqual(JSON.parse(row!.changes), [
        { field: 'privateEndpoint', to: { id: usualId, description: 'Analytics' } },
      ])
    })

    it('returns the same response for a repeated request, and records it once', async () => {
      const { create, list, activities } = await setUp()
      for (const id of [usualId, 'of-another-form']) {
        const first = await create({ id, description: 'Analytics' })
        const again = await create({ id, description: 'Analytics' })
        assert.equal(again.status, 200)
        assert.deepEqual(again.body.result, first.body.result)
        assert.equal(again.headers.warning, first.headers.warning)
        assert.notEqual(again.body.requestId, first.body.requestId)
      }
      assert.equal((await list()).length, 2)
      assert.equal((await activities()).length, 2)
    })

    it('attaches once for concurrent identical requests', async () => {
      const { create, list, activities } = await setUp()
      const answers = await Promise.all(Array.from({ length: 8 }, () => create({ id: usualId })))
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.equal((await list()).length, 1)
      assert.equal((await activities()).length, 1)
    })

    it('attaches the same endpoint to another service of the organization', async () => {
      const { organizationId, admin, serviceId, url, create, list, activities } = await setUp()
      const secondId = await app().addService(organizationId, 'gcp')
      await create({ id: usualId, description: 'Analytics' })
      const { status, body } = await app().request('POST', url(secondId), {
        key: admin,
        body: { id: usualId, description: 'Analytics' },
      })
      assert.equal(status, 200)
      assert.deepEqual(body.result, {
        cloudProvider: 'gcp',
        description: 'Analytics',
        id: usualId,
        region: 'eu-west-1',
      })
      assert.equal((await list()).length, 1)
      assert.equal((await list(secondId)).length, 1)
      assert.deepEqual(
        (await activities()).map(({ target }) => JSON.parse(target).serviceId),
        [serviceId, secondId],
      )
    })

    it('lets another organization use the same id with another description', async () => {
      const first = await setUp()
      const second = await setUp()
      assert.equal((await first.create({ id: usualId, description: 'Ours' })).status, 200)
      const { status, body } = await second.create({ id: usualId, description: 'Theirs' })
      assert.equal(status, 200)
      assert.equal(body.result.description, 'Theirs')
      assert.equal((await first.list())[0]!.description, 'Ours')
      assert.equal((await first.activities()).length, 1)
    })

    it('accepts 255 characters, however many bytes they have', async () => {
      const { create, list } = await setUp()
      const description = '🚰'.repeat(255)
      const id = 'a'.repeat(255)
      const { status, body } = await create({ id, description })
      assert.equal(status, 200)
      assert.equal(body.result.id, id)
      assert.equal(body.result.description, description)
      assert.equal((await list())[0]!.description, description)
    })

    it('keeps every printable character of an id and any text of a description', async () => {
      const { create, list } = await setUp()
      const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('')
      const description = ' two\nlines\t\u00a0\u202e "quoted" \\ '
      const { status, body } = await create({ id: printable, description })
      assert.equal(status, 200)
      assert.equal(body.result.id, printable)
      assert.equal(body.result.description, description)
      assert.deepEqual((await list())[0], body.result)
    })

    it('treats ids as different that differ only in case', async () => {
      const { create, list } = await setUp()
      await create({ id: 'Endpoint', description: 'one' })
      assert.equal((await create({ id: 'endpoint', description: 'other' })).status, 200)
      assert.equal((await list()).length, 2)
    })

    it('accepts a service id in capitals and a trailing slash', async () => {
      const { organizationId, admin, serviceId, list } = await setUp()
      const url = `/v1/organizations/${organizationId.toUpperCase()}/services/${serviceId.toUpperCase()}/privateEndpoint/`
      assert.equal((await app().request('POST', url, { key: admin, body: { id: usualId } })).status, 200)
      assert.equal((await list()).length, 1)
    })
  })

  describe('200 with or without a Warning', () => {
    const resourceId =
      '/subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/rg/providers/Microsoft.Network/privateEndpoints/pe'
    const ids: Record<Provider, { usual: string[]; unusual: string[] }> = {
      aws: {
        usual: ['vpce-0a1b2c3d', 'vpce-0a1b2c3d4e5f67890'],
        unusual: [
          'vpce-',
          'vpce-0a1b2c3',
          'vpce-0a1b2c3d4',
          'vpce-0a1b2c3d4e5f6789',
          'vpce-zzzzzzzz',
          'x-vpce-0a1b2c3d',
        ],
      },
      gcp: { usual: ['7', '12345678901234567890'], unusual: ['12345a', '-1', '1.5', usualId] },
      azure: {
        usual: [resourceId, '0b1f6471-1bf0-4dda-aec3-cb9272f09590', '0B1F6471-1BF0-4DDA-AEC3-CB9272F09590'],
        unusual: ['pe', '12345', resourceId.slice(1), '0b1f6471-1bf0-4dda-aec3-cb9272f0959', usualId],
      },
    }
    for (const [provider, { usual, unusual }] of Object.entries(ids) as [Provider, (typeof ids)['aws']][]) {
      it(`knows the ids of ${provider}`, async () => {
        const { create } = await setUp(provider)
        for (const id of usual) {
          for (const query of ['', '?strict=true']) {
            const { status, headers } = await create({ id }, { query })
            assert.equal(status, 200, id)
            assert.equal(headers.warning, undefined, id)
          }
        }
        for (const id of unusual) {
          const { status, headers, body } = await create({ id })
          assert.equal(status, 200, id)
          assert.equal(body.result.id, id)
          const sentence = warningOf(headers)
          assert.ok(sentence.startsWith(`id ${JSON.stringify(id)} does not look like an endpoint of ${provider}`))
        }
      })
    }

    it('quotes an id with quotation marks and backslashes so that the header stays well-formed', async () => {
      const { create } = await setUp()
      const id = 'a"b\\c'
      const { headers } = await create({ id })
      assert.ok(warningOf(headers).startsWith(`id ${JSON.stringify(id)} does not look like`))
    })

    it('accepts strict=false', async () => {
      const { create } = await setUp()
      const { status, headers } = await create({ id: 'my-endpoint' }, { query: '?strict=false' })
      assert.equal(status, 200)
      assert.notEqual(headers.warning, undefined)
    })
  })
})

/** The sentence of a `Warning: 199 - "…"` header, whose quoted string must be well-formed. */
function warningOf(headers: TestResponse['headers']): string {
  const match = /^199 - "((?:[^"\\]|\\["\\])*)"$/.exec(String(headers.warning))
  assert.ok(match, `Warning: ${headers.warning}`)
  return match[1]!.replaceAll(/\\(["\\])/g, '$1')
}
