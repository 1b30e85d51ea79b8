import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { serviceUpdates } from '../../test/harness/update-service.ts'

onBothDatabases('updateService', (app) => {
  const { setUp, assertUntouched } = serviceUpdates(app)

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
})
