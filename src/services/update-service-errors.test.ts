// Refused updates of a service.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { serviceUpdates } from '../../test/harness/update-service.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('updateService', (app) => {
  const { setUp, assertUntouched } = serviceUpdates(app)

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
        [{ ipAccessList: [] }, 'ipAccessList as a list must be the current list; to change it, send {"add"'],
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
        [{ privateEndpointIds: ['other'] }, 'privateEndpointIds as a list must be the current list'],
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
