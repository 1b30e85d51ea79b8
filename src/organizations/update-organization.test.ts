import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'

onBothDatabases('updateOrganization', (app) => {
  /** An organization of its own for each test. */
  async function setUp() {
    const { organizationId, admin, adminUserId, serviceId } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}`
    const patch = (body: unknown, options: RequestOptions = {}) =>
      app().request('PATCH', url, { key: admin, body, ...options })
    const get = () => app().request('GET', url, { key: admin })
    const activities = async () => (await app().request('GET', `${url}/activities`, { key: admin })).body.result
    return { organizationId, admin, adminUserId, serviceId, url, patch, get, activities }
  }

  describe('200', () => {
    it('changes the name, and gives the whole organization', async () => {
      const { organizationId, patch, get } = await setUp()
      const before = (await get()).body.result
      const { status, body, headers } = await patch({ name: 'Renamed' })
      assert.equal(status, 200)
      assert.deepEqual(body, {
        requestId: headers['x-request-id'],
        result: { ...before, id: organizationId, name: 'Renamed' },
        status: 200,
      })
      const after = await get()
      assert.deepEqual(after.body.result, body.result)
      assert.equal(after.headers.etag, headers.etag)
    })

    it('takes names of 1 to 255 characters of any script', async () => {
      const { patch } = await setUp()
      for (const name of ['x', 'é'.repeat(255), '𝔸'.repeat(255), ' spaced ']) {
        const { status, body } = await patch({ name })
        assert.equal(status, 200, name)
        assert.equal(body.result.name, name)
      }
    })

    it('records the old and the new name', async () => {
      const { organizationId, patch, activities } = await setUp()
      await patch({ name: 'Renamed' })
      const [activity, ...others] = await activities()
      assert.deepEqual(others, [])
      assert.equal(activity.type, 'organization_updated')
      assert.deepEqual(activity.target, { type: 'organization', id: organizationId })
      assert.deepEqual(activity.changes, [{ field: 'name', from: 'Another', to: 'Renamed' }])
    })

    it('changes nothing and records nothing when the name is the same', async () => {
      const { patch, get, activities } = await setUp()
      const before = await get()
      const { status, body, headers } = await patch({ name: 'Another' })
      assert.equal(status, 200)
      assert.deepEqual(body.result, before.body.result)
      assert.equal(headers.etag, before.headers.etag)
      assert.deepEqual(await activities(), [])
    })

    it('accepts what cannot be changed with its present value', async () => {
      const { admin, serviceId, url, patch, get } = await setUp()
      const endpoint = { id: 'vpce-0a1b2c3d', description: 'one' }
      await app().request('POST', `${url}/services/${serviceId}/privateEndpoint`, { key: admin, body: endpoint })
      const { result } = (await get()).body
      assert.equal(result.privateEndpoints.length, 1)
      const whole = await patch({ ...result, name: 'Renamed' })
      assert.equal(whole.status, 200)
      assert.deepEqual(whole.body.result, { ...result, name: 'Renamed' })
    })

    it('has an ETag of the name alone', async () => {
      const { organizationId, adminUserId, admin, url, patch, get } = await setUp()
      const { etag } = (await get()).headers
      // Counts an admin more in the row of the organization.
      const userId = await app().addMember(organizationId, 'developer')
      await app().request('PATCH', `${url}/members/${userId}`, { key: admin, body: { role: 'admin' } })
      await app().request('PATCH', `${url}/members/${adminUserId}`, { key: admin, body: { role: 'developer' } })
      await app().app.database.write('sealActivities', { organizationId }, organizationId)
      assert.equal((await get()).headers.etag, etag)
      assert.equal((await patch({ name: 'A' }, { headers: { 'if-match': String(etag) } })).status, 200)
      assert.notEqual((await get()).headers.etag, etag)
    })
  })

  describe('400', () => {
    const refused: [string, unknown, string][] = [
      ['an empty object', {}, 'the body has nothing to update; send at least one field that can be updated'],
      ['an empty name', { name: '' }, 'name must have 1 to 255 characters, not 0'],
      ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name must have 1 to 255 characters, not 256'],
      ['null', { name: null }, 'name must be a string, not null'],
      ['a number', { name: 7 }, 'name must be a string, not 7'],
      ['an unknown field', { nam: 'x' }, 'nam is not a known field, did you mean "name"?'],
      ['a field of the store', { version: 7 }, 'version is not a known field'],
    ]
    for (const [name, body, sentence] of refused) {
      it(`refuses ${name}`, async () => {
        const { patch, get, activities } = await setUp()
        const before = await get()
        const answer = await patch(body)
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.body, { error: `BAD_REQUEST: ${sentence}`, status: 400 })
        assert.equal((await get()).headers.etag, before.headers.etag)
        assert.deepEqual(await activities(), [])
      })
    }

    it('has nothing to update when only what cannot be changed is sent', async () => {
      const { organizationId, patch } = await setUp()
      const { status, body } = await patch({ id: organizationId }, { headers: { accept: 'application/problem+json' } })
      assert.equal(status, 400)
      assert.equal(body.code, 'nothing_to_update')
    })

    it('refuses another value for what cannot be changed', async () => {
      const { patch, get } = await setUp()
      const { createdAt } = (await get()).body.result
      const { status, body } = await patch({
        name: 'Renamed',
        createdAt: '2020-01-01T00:00:00.000Z',
        privateEndpoints: [{ id: 'x' }],
      })
      assert.equal(status, 400)
      assert.equal(
        body.error,
        `BAD_REQUEST: createdAt cannot be changed (it is ${JSON.stringify(createdAt)}); privateEndpoints cannot be changed`,
      )
      assert.equal((await get()).body.result.name, 'Another')
    })
  })

  it('403 for a developer', async () => {
    const { organizationId, patch } = await setUp()
    const key = await app().addKey(organizationId, 'developer')
    assert.equal((await patch({ name: 'x' }, { key })).status, 403)
  })

  it('404 for another organization', async () => {
    const { url } = await setUp()
    const { status, body } = await app().request('PATCH', url, { body: { name: 'x' } })
    assert.equal(status, 404)
    assert.match(body.error, /^NOT_FOUND: organization \S+ was not found$/)
  })

  it('412 when the name has changed since it was read', async () => {
    const { patch, get } = await setUp()
    const { etag } = (await get()).headers
    await patch({ name: 'Renamed' })
    const { status } = await patch({ name: 'Again' }, { headers: { 'if-match': String(etag) } })
    assert.equal(status, 412)
    assert.equal((await get()).body.result.name, 'Renamed')
  })
})
