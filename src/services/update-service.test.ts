import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases, type RequestOptions, type TestResponse } from '../../test/harness/test-app.ts'
import { passwordContext } from './service.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('updateService', (app) => {
  /** An organization of its own for each test, with a service that is running. */
  async function setUp() {
    const { organizationId, admin, serviceId: bareId } = await app().addOrganization()
    const services = `/v1/organizations/${organizationId}/services`
    const created = await app().request('POST', services, {
      key: admin,
      body: {
        name: 'analytics',
        provider: 'aws',
        region: 'eu-west-1',
        endpoint: { url: 'https://clickhouse.example:8443', username: 'penstock', password: 'first-secret' },
        ipAccessList: [{ source: '10.0.0.0/8', description: 'office' }],
      },
    })
    assert.equal(created.status, 200)
    const serviceId: string = created.body.result.id
    const url = `${services}/${serviceId}`
    await app().query(
      `UPDATE services SET state = 'running', engine_version = '26.5.1.882', next_check_at = '2099-01-01T00:00:00.000Z'
       WHERE id = '${serviceId}'`,
    )
    const attach = async (id: string, service = serviceId) => {
      const path = `${services}/${service}/privateEndpoint`
      assert.equal((await app().request('POST', path, { key: admin, body: { id } })).status, 200)
      await sleep(2)
    }
    const patch = (body: unknown, options: RequestOptions = {}, service = serviceId) =>
      app().request('PATCH', `${services}/${service}`, { key: admin, body, ...options })
    const get = (service = serviceId) => app().request('GET', `${services}/${service}`, { key: admin })
    const row = async () =>
      (
        await app().query<{ version: number; endpoint_password: string; next_check_at: string; state: string }>(
          `SELECT * FROM services WHERE id = '${serviceId}'`,
        )
      )[0]!
    const password = async () =>
      app().app.vault.open((await row()).endpoint_password, passwordContext({ id: serviceId, organizationId }))
    const activities = async () =>
      (
        await app().query<{ type: string; target: string; changes: string }>(
          `SELECT type, target, changes FROM activities
           WHERE organization_id = '${organizationId}' AND type = 'service_updated' ORDER BY id`,
        )
      ).map(({ target, changes }) => ({ target: JSON.parse(target), changes: JSON.parse(changes) }))
    const registered = async () =>
      (
        await app().query<{ id: string }>(
          `SELECT id FROM private_endpoints WHERE organization_id = '${organizationId}' ORDER BY id`,
        )
      ).map(({ id }) => id)
    return { organizationId, admin, serviceId, bareId, url, attach, patch, get, row, password, activities, registered }
  }

  async function assertUntouched({ get, activities }: Awaited<ReturnType<typeof setUp>>, before: TestResponse) {
    const after = await get()
    assert.deepEqual(after.body.result, before.body.result)
    assert.equal(after.headers.etag, before.headers.etag)
    assert.deepEqual(await activities(), [])
  }

  describe('200', () => {
    it('changes the name and nothing else', async () => {
      const { serviceId, patch, get, activities, row } = await setUp()
      const before = (await get()).body.result
      const { status, body, headers } = await patch({ name: 'analytics (eu)' })
      assert.equal(status, 200)
      assert.deepEqual(body.result, { ...before, name: 'analytics (eu)' })
      assert.deepEqual((await get()).body.result, body.result)
      assert.equal((await get()).headers.etag, headers.etag)
      assert.deepEqual(await activities(), [
        {
          target: { type: 'service', id: serviceId },
          changes: [{ field: 'name', from: 'analytics', to: 'analytics (eu)' }],
        },
      ])
      assert.ok((await row()).next_check_at <= new Date().toISOString(), 'due at once')
    })

    it('merges the endpoint: a new password keeps URL and user name, and each the others', async () => {
      const { patch, password, activities } = await setUp()
      const endpoint = { protocol: 'https', host: 'clickhouse.example', port: 8443, username: 'penstock' }
      const first = await patch({ endpoint: { password: 'second-secret' } })
      assert.deepEqual(first.body.result.endpoints, [endpoint])
      assert.equal(await password(), 'second-secret')
      const second = await patch({ endpoint: { username: 'other' } })
      assert.deepEqual(second.body.result.endpoints, [{ ...endpoint, username: 'other' }])
      assert.equal(await password(), 'second-secret')
      const third = await patch({ endpoint: { url: 'http://Elsewhere.example', password: 'third-secret' } })
      assert.deepEqual(third.body.result.endpoints, [
        { protocol: 'http', host: 'elsewhere.example', port: 8123, username: 'other' },
      ])
      assert.equal(await password(), 'third-secret')
      const fourth = await patch({ endpoint: { password: '' } })
      assert.equal(fourth.status, 200)
      assert.equal(await password(), '')
      assert.deepEqual(
        (await activities()).map(({ changes }) => changes),
        [
          [{ field: 'endpoint.password', to: 'changed' }],
          [{ field: 'endpoint.username', from: 'penstock', to: 'other' }],
          [
            { field: 'endpoint.url', from: 'https://clickhouse.example:8443', to: 'http://elsewhere.example:8123' },
            { field: 'endpoint.password', to: 'changed' },
          ],
          [{ field: 'endpoint.password', to: 'changed' }],
        ],
      )
    })

    it('resets the state of the engine when the endpoint changes, and only then', async () => {
      const { patch } = await setUp()
      assert.equal((await patch({ name: 'x' })).body.result.state, 'running')
      const signedIn = (await patch({ endpoint: { password: 'x' } })).body.result
      assert.deepEqual([signedIn.state, signedIn.engineVersion], ['provisioning', '26.5.1.882'])
      assert.equal(signedIn.stateReason, 'the engine has not been checked yet')
      const moved = (await patch({ endpoint: { url: 'http://elsewhere.example', password: 'x' } })).body.result
      assert.deepEqual([moved.state, moved.engineVersion], ['provisioning', null])
    })

    it('registers an endpoint for a service that has none', async () => {
      const { bareId, patch } = await setUp()
      const endpoint = { url: 'http://clickhouse.example', username: 'u', password: 'p' }
      const { status, body } = await patch({ endpoint }, {}, bareId)
      assert.equal(status, 200)
      assert.equal(body.result.endpoints.length, 1)
      assert.equal(body.result.stateReason, 'the engine has not been checked yet')
    })

    it('adds to the access list, replaces descriptions and removes', async () => {
      const { patch, activities } = await setUp()
      const added = await patch({
        ipAccessList: { add: [{ source: '192.0.2.1' }, { source: '::1', description: 'me' }] },
      })
      assert.deepEqual(added.body.result.ipAccessList, [
        { source: '10.0.0.0/8', description: 'office' },
        { source: '192.0.2.1', description: '' },
        { source: '::1', description: 'me' },
      ])
      const changed = await patch({
        ipAccessList: {
          add: [{ source: '10.0.0.0/8', description: 'all offices' }],
          remove: [{ source: '192.0.2.1' }],
        },
      })
      assert.deepEqual(changed.body.result.ipAccessList, [
        { source: '10.0.0.0/8', description: 'all offices' },
        { source: '::1', description: 'me' },
      ])
      const { changes } = (await activities())[1]!
      assert.equal(changes.length, 1)
      assert.equal(changes[0].field, 'ipAccessList')
      assert.deepEqual(changes[0].to, changed.body.result.ipAccessList)
      const emptied = await patch({ ipAccessList: { remove: [{ source: '10.0.0.0/8' }, { source: '::1' }] } })
      assert.deepEqual(emptied.body.result.ipAccessList, [])
    })

    it('attaches and detaches private endpoints; unused ones leave the organization', async () => {
      const { bareId, attach, patch, get, activities, registered } = await setUp()
      await attach('shared', bareId)
      await attach('other', bareId)
      await attach('own')
      const { status, body, headers } = await patch({ privateEndpointIds: { add: ['shared'], remove: ['own'] } })
      assert.equal(status, 200)
      assert.deepEqual(body.result.privateEndpointIds, ['shared'])
      assert.equal((await get()).headers.etag, headers.etag)
      assert.deepEqual(await registered(), ['other', 'shared'])
      assert.deepEqual((await activities())[0]!.changes, [
        { field: 'privateEndpointIds', from: 'own' },
        { field: 'privateEndpointIds', to: 'shared' },
      ])
      assert.equal(body.result.state, 'running')
      assert.equal((await patch({ privateEndpointIds: { remove: ['shared'] } })).status, 200)
      assert.deepEqual(await registered(), ['other', 'shared'])
      assert.deepEqual((await get(bareId)).body.result.privateEndpointIds, ['other', 'shared'])
    })

    it('changes nothing and records nothing when all values are the same', async () => {
      const context = await setUp()
      const { attach, patch, get } = context
      await attach('own')
      const before = await get()
      for (const body of [
        { name: 'analytics' },
        { endpoint: { url: 'https://CLICKHOUSE.example', username: 'penstock' } },
        { ipAccessList: { add: [{ source: '10.0.0.0/8', description: 'office' }] } },
        { ipAccessList: { add: [], remove: [] } },
        { privateEndpointIds: { add: ['own'] } },
        { privateEndpointIds: { add: [], remove: [] } },
      ]) {
        const { status, body: answer, headers } = await patch(body)
        assert.equal(status, 200, JSON.stringify(body))
        assert.deepEqual(answer.result, before.body.result)
        assert.equal(headers.etag, before.headers.etag)
      }
      await assertUntouched(context, before)
    })

    it('accepts the complete service as it was read, also with one change', async () => {
      const context = await setUp()
      const { attach, patch, get, activities } = context
      await attach('a')
      await attach('b')
      const before = await get()
      const same = await patch(before.body.result)
      assert.equal(same.status, 200, same.text)
      await assertUntouched(context, before)
      const renamed = await patch({ ...before.body.result, name: 'renamed' })
      assert.equal(renamed.status, 200)
      assert.deepEqual(renamed.body.result, { ...before.body.result, name: 'renamed' })
      assert.equal((await activities()).length, 1)
    })

    it('accepts a complete service that was checked since it was read', async () => {
      const { patch, get, row, serviceId, activities } = await setUp()
      const read = (await get()).body.result
      await app().query(
        `UPDATE services SET state = 'degraded', state_reason = 'late', engine_version = '26.6' WHERE id = '${serviceId}'`,
      )
      const { status, body, text } = await patch({ ...read, name: 'renamed' })
      assert.equal(status, 200, text)
      const checked = { state: 'degraded', stateReason: 'late', engineVersion: '26.6' }
      assert.deepEqual(body.result, { ...read, name: 'renamed', ...checked })
      const running = await patch({ name: 'x', state: 'running', stateReason: null, engineVersion: null })
      assert.deepEqual(running.body.result, { ...body.result, name: 'x' })
      assert.equal((await row()).state, 'degraded')
      assert.deepEqual(
        (await activities()).map(({ changes }) => changes.map(({ field }: { field: string }) => field)),
        [['name'], ['name']],
      )
    })

    it('accepts a service as a list shows it, with the newest of its private endpoints', async () => {
      const { organizationId, admin, serviceId, attach, patch, get } = await setUp()
      for (let index = 0; index < 11; index++) await attach(`e-${index}`)
      const list = await app().request('GET', `/v1/organizations/${organizationId}/services`, { key: admin })
      const listed = list.body.result.find(({ id }: { id: string }) => id === serviceId)
      assert.equal(listed.privateEndpointIds.length, 10)
      const { status, body } = await patch({ ...listed, name: 'renamed' })
      assert.equal(status, 200)
      assert.equal(body.result.privateEndpointIds.length, 11)
      assert.deepEqual((await get()).body.result, body.result)
      assert.equal((await patch({ privateEndpointIds: listed.privateEndpointIds.slice(1) })).status, 400)
    })

    it('merges two changes that come at once', async () => {
      const { patch, get, activities } = await setUp()
      const answers = await Promise.all([
        patch({ name: 'x' }),
        patch({ endpoint: { username: 'y' } }),
        patch({ ipAccessList: { add: [{ source: '192.0.2.1' }] } }),
      ])
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200],
      )
      const { name, endpoints, ipAccessList } = (await get()).body.result
      assert.deepEqual([name, endpoints[0].username, ipAccessList.length], ['x', 'y', 2])
      assert.equal((await activities()).length, 3)
    })

    it('keeps If-Match', async () => {
      const { attach, patch, get } = await setUp()
      const { etag } = (await get()).headers
      const headers = { 'if-match': String(etag) }
      assert.equal((await patch({ name: 'x' }, { headers })).status, 200)
      assert.equal((await patch({ name: 'y' }, { headers })).status, 412)
      const later = { 'if-match': String((await get()).headers.etag) }
      await attach('a')
      assert.equal((await patch({ name: 'y' }, { headers: later })).status, 412)
      assert.equal((await get()).body.result.name, 'x')
    })
  })

  describe('400', () => {
    it('refuses a body with nothing to update', async () => {
      const context = await setUp()
      const before = await context.get()
      for (const body of [
        {},
        { endpoint: {} },
        { ipAccessList: {} },
        { privateEndpointIds: {} },
        { state: 'stopped', stateReason: null, engineVersion: '1' },
      ]) {
        const { status, body: answer } = await context.patch(body, { headers: { accept: 'application/problem+json' } })
        assert.equal(status, 400)
        assert.equal(answer.code, 'nothing_to_update', JSON.stringify(body))
      }
      await assertUntouched(context, before)
    })

    it('names invalid fields, and changes nothing', async () => {
      const context = await setUp()
      const { bareId, attach, patch, get } = context
      await attach('own')
      await attach('theirs', bareId)
      const before = await get()
      const entry = (index: number) => ({ source: `192.0.2.${index}` })
      for (const [body, sentence] of [
        [{ name: null }, 'name must be a string, not null'],
        [{ name: '' }, 'name must have 1 to 50 characters, not 0'],
        [{ endpoint: null }, 'endpoint must be an object, not null'],
        [{ endpoint: { password: null } }, 'endpoint.password must be text without control characters, not null'],
        [{ endpoint: { url: null } }, 'endpoint.url must be a string, not null'],
        [{ endpoint: { url: 'http://a/b' } }, 'endpoint.url must be an http or https URL of a host'],
        [{ endpoint: { port: 1 } }, 'endpoint.port is not a known field'],
        [{ provider: 'gcp' }, 'provider cannot be changed (it is "aws")'],
        [{ region: 'us-east-1' }, 'region cannot be changed (it is "eu-west-1")'],
        [{ id: nobody }, 'id cannot be changed'],
        [{ createdAt: '2026-01-01T00:00:00.000Z' }, 'createdAt cannot be changed'],
        [{ state: 'asleep' }, 'state must be one of'],
        [{ engineVersion: 26 }, 'engineVersion must be'],
        [{ endpoints: [] }, 'endpoints cannot be changed'],
        [{ colour: 'red' }, 'colour is not a known field'],
        [{ ipAccessList: null }, 'ipAccessList must be an object or a list, not null'],
        [{ ipAccessList: [] }, 'ipAccessList as a list must be the present one; to change it, send {"add"'],
        [{ ipAccessList: { add: [{ source: 'x' }] } }, 'ipAccessList.add[0].source must be an IP address or a range'],
        [{ ipAccessList: { add: [entry(1), entry(1)] } }, 'ipAccessList.add[1].source repeats "192.0.2.1"'],
        [{ ipAccessList: { remove: [entry(1)] } }, 'ipAccessList.remove[0].source is not in the list: "192.0.2.1"'],
        [
          { ipAccessList: { remove: [{ source: '10.0.0.0/8' }, { source: '10.1.0.0/8' }] } },
          'ipAccessList.remove[1].source repeats "10.1.0.0/8"; send each source once',
        ],
        [
          { ipAccessList: { add: [{ source: '10.0.0.0/8' }], remove: [{ source: '10.0.0.0/8' }] } },
          'ipAccessList.remove[0].source is also in ipAccessList.add: "10.0.0.0/8"',
        ],
        [
          { ipAccessList: { add: Array.from({ length: 100 }, (_, index) => entry(index)) } },
          'ipAccessList must have at most 100 entries, not 101',
        ],
        [{ privateEndpointIds: ['other'] }, 'privateEndpointIds as a list must be the present one'],
        [
          { privateEndpointIds: { add: ['own', 'unknown'] } },
          'privateEndpointIds.add[1] is not a private endpoint of the organization: "unknown"; create it first',
        ],
        [
          { privateEndpointIds: { remove: ['theirs'] } },
          'privateEndpointIds.remove[0] is not attached to the service: "theirs"',
        ],
        [
          { privateEndpointIds: { add: ['own'], remove: ['own'] } },
          'privateEndpointIds.remove[0] is also in privateEndpointIds.add: "own"',
        ],
        [{ privateEndpointIds: { add: ['own', 'own'] } }, 'privateEndpointIds.add must not repeat "own"'],
      ] as const) {
        const { status, body: answer } = await patch({ ...('name' in body ? {} : { name: 'changed' }), ...body })
        assert.equal(status, 400, sentence)
        assert.ok(answer.error.startsWith(`BAD_REQUEST: ${sentence}`), answer.error)
      }
      await assertUntouched(context, before)
    })

    it('reports all errors at once', async () => {
      const { patch } = await setUp()
      const { body } = await patch(
        {
          endpoint: { url: 'http://127.1' },
          ipAccessList: { remove: [{ source: '192.0.2.1' }] },
          privateEndpointIds: { add: ['unknown'] },
          provider: 'gcp',
        },
        { headers: { accept: 'application/problem+json' } },
      )
      assert.deepEqual(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
        '#/endpoint/url',
        '#/ipAccessList/remove/0/source',
        '#/privateEndpointIds/add/0',
        '#/provider',
      ])
    })

    it('requires the complete endpoint for a service that has none', async () => {
      const { bareId, patch } = await setUp()
      const { status, body } = await patch({ endpoint: { password: 'p' } }, {}, bareId)
      assert.equal(status, 400)
      assert.equal(
        body.error,
        'BAD_REQUEST: endpoint.url is required: the service has no endpoint yet; endpoint.username is required: the service has no endpoint yet',
      )
    })

    it('requires the password with another protocol, host or port, so that the stored one is sent nowhere else', async () => {
      const context = await setUp()
      const { patch, get, password } = context
      const before = await get()
      for (const url of [
        'http://clickhouse.example:8443',
        'https://clickhouse.example.net:8443',
        'https://clickhouse.example:8444',
      ]) {
        for (const more of [{}, { username: 'other' }]) {
          const { status, body } = await patch(
            { name: 'x', endpoint: { url, ...more } },
            { headers: { accept: 'application/problem+json' } },
          )
          assert.equal(status, 400, url)
          assert.equal(body.code, 'invalid_body')
          assert.deepEqual(body.errors, [
            {
              pointer: '#/endpoint/password',
              detail:
                'endpoint.password is required with another protocol, host or port: ' +
                'the stored password is only for https://clickhouse.example:8443',
            },
          ])
        }
      }
      await assertUntouched(context, before)
      assert.equal(await password(), 'first-secret')
    })

    it('knows no endpoint of another organization', async () => {
      const ours = await setUp()
      const theirs = await setUp()
      await theirs.attach('theirs')
      const { status, body } = await ours.patch({ privateEndpointIds: { add: ['theirs'] } })
      assert.equal(status, 400)
      assert.match(body.error, /is not a private endpoint of the organization: "theirs"/)
    })
  })

  describe('403 and 404', () => {
    it('refuses a developer, and answers for a foreign service as for none', async () => {
      const { organizationId, patch } = await setUp()
      const other = await setUp()
      const key = await app().addKey(organizationId, 'developer')
      assert.equal((await patch({ name: 'x' }, { key })).status, 403)
      for (const serviceId of [nobody, other.serviceId]) {
        const { status, body } = await patch({ name: 'x' }, {}, serviceId)
        assert.equal(status, 404)
        assert.equal(body.error, `NOT_FOUND: service ${serviceId} was not found in organization ${organizationId}`)
      }
      assert.equal((await other.get()).body.result.name, 'analytics')
    })
  })
})

onBothDatabases(
  'updateService without the permission for plaintext',
  (app) => {
    it('accepts no password for http, and still allows other changes', async () => {
      const { organizationId, admin } = await app().addOrganization()
      const services = `/v1/organizations/${organizationId}/services`
      const endpoint = { url: 'http://clickhouse.example', username: 'penstock', password: '' }
      const service = { name: 'analytics', provider: 'aws', region: 'eu-west-1', endpoint }
      const created = await app().request('POST', services, { key: admin, body: service })
      const patch = (change: unknown) =>
        app().request('PATCH', `${services}/${created.body.result.id}`, { key: admin, body: { endpoint: change } })
      for (const change of [
        { password: 'canary-secret' },
        { url: 'http://other.example', password: 'canary-secret' },
        { url: 'http://other.example', username: 'other', password: 'canary-secret' },
      ]) {
        const { status, body } = await patch(change)
        assert.equal(status, 400)
        assert.match(body.error, /^BAD_REQUEST: endpoint\.url must begin with https: .*PENSTOCK_ALLOW_PLAINTEXT=true$/)
      }
      assert.equal((await patch({ username: 'other' })).status, 200)
      assert.equal((await patch({ url: 'http://other.example', password: '' })).status, 200)
      assert.equal((await patch({ url: 'https://other.example', password: 'canary-secret' })).status, 200)
    })
  },
  { allowPlaintext: false },
)
