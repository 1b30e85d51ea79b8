import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'
const office = [{ source: '192.0.2.0/24', description: 'office' }]
const later = '2099-01-01T00:00:00.000Z'

onBothDatabases('updateKey', (app) => {
  /** An organization of its own for each test: the admin key that asks, and another one that is changed. */
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/keys`
    const other = await app().addKey(organizationId, 'admin', { name: 'other' })
    const idOf = async ({ keyId }: { keyId: string }) =>
      (await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${keyId}'`))[0]!.id
    const id = await idOf(other)
    const adminId = await idOf(admin)
    const patch = (body: unknown, of = id, options: RequestOptions = {}) =>
      app().request('PATCH', `${url}/${of}`, { key: admin, body, ...options })
    const get = (of = id) => app().request('GET', `${url}/${of}`, { key: admin })
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, adminId, other, id, url, patch, get, activities }
  }

  describe('200', () => {
    const fields: [string, unknown, unknown][] = [
      ['name', 'renamed', 'other'],
      ['roles', ['developer'], ['admin']],
      ['state', 'disabled', 'enabled'],
      ['expireAt', later, null],
      ['ipAccessList', office, []],
    ]
    for (const [field, value, original] of fields) {
      it(`changes ${field} alone and back, with a new version and an activity each time`, async () => {
        const { id, patch, get, activities } = await setUp()
        const before = (await get()).body.result
        assert.deepEqual(before[field], original)
        const changed = await patch({ [field]: value })
        assert.equal(changed.status, 200)
        assert.deepEqual(changed.body.result, { ...before, [field]: value })
        assert.equal(changed.headers.etag, '"2"')
        const after = await get()
        assert.deepEqual(after.body.result, changed.body.result)
        assert.equal(after.headers.etag, '"2"')
        const back = await patch({ [field]: original })
        assert.deepEqual(back.body.result, before)
        assert.equal(back.headers.etag, '"3"')
        const rows = await activities()
        assert.deepEqual(
          rows.map(({ type, target, changes }) => [type, JSON.parse(target), JSON.parse(changes)]),
          [
            ['key_updated', { type: 'key', id }, [{ field, from: original, to: value }]],
            ['key_updated', { type: 'key', id }, [{ field, from: value, to: original }]],
          ],
        )
      })
    }

    it('holds from the next request on', async () => {
      const { other, url, patch } = await setUp()
      const ask = (address = '192.0.2.1') => app().request('GET', url, { key: other, address })
      assert.equal((await ask()).status, 200)
      await patch({ ipAccessList: office })
      assert.equal((await ask('198.51.100.1')).status, 403)
      assert.equal((await ask()).status, 200)
      await patch({ roles: ['developer'] })
      const write = await app().request('POST', url, { key: other, body: {}, address: '192.0.2.1' })
      assert.equal(write.status, 403)
      await patch({ state: 'disabled' })
      assert.equal((await ask()).status, 401)
      await patch({ state: 'enabled' })
      assert.equal((await ask()).status, 200)
      // An expiry in the past ends another key at once.
      assert.equal((await patch({ expireAt: '2026-01-01T00:00:00Z' })).status, 200)
      assert.equal((await ask()).status, 401)
      await patch({ expireAt: null })
      assert.equal((await ask()).status, 200)
    })

    it('changes several fields at once, and leaves out the description of an address', async () => {
      const { patch, activities } = await setUp()
      const { body } = await patch({ name: 'new', state: 'disabled', ipAccessList: [{ source: '::1' }] })
      assert.deepEqual(body.result.ipAccessList, [{ source: '::1', description: '' }])
      const [row] = await activities()
      assert.deepEqual(
        JSON.parse(row!.changes).map(({ field }: { field: string }) => field),
        ['name', 'state', 'ipAccessList'],
      )
    })

    it('changes nothing and records nothing when all values are the same, also in another time zone', async () => {
      const { patch, get, activities } = await setUp()
      await patch({ expireAt: later })
      const before = await get()
      for (const body of [
        { name: 'other' },
        { roles: ['admin'], state: 'enabled', ipAccessList: [] },
        { expireAt: '2099-01-01T03:00:00+03:00' },
      ]) {
        const { status, body: answer, headers } = await patch(body)
        assert.equal(status, 200)
        assert.deepEqual(answer.result, before.body.result)
        assert.equal(headers.etag, before.headers.etag)
      }
      assert.equal((await activities()).length, 1)
    })

    it('accepts the key as it was read, also when it has expired or been used since', async () => {
      const { id, other, url, patch, get } = await setUp()
      await patch({ expireAt: '2026-01-01T00:00:00Z', ipAccessList: office })
      const read = (await get()).body.result
      assert.equal(read.usedAt, null)
      await app().query(`UPDATE api_keys SET used_at = '2026-01-01T00:00:00.000Z' WHERE id = '${id}'`)
      const whole = await patch({ ...read, name: 'edited' })
      assert.equal(whole.status, 200)
      assert.deepEqual(whole.body.result, { ...read, name: 'edited', usedAt: '2026-01-01T00:00:00.000Z' })
      assert.equal((await app().request('GET', url, { key: other })).status, 401)
    })

    it('lets a key change itself when it keeps its access', async () => {
      const { adminId, patch } = await setUp()
      const { status, body } = await patch(
        { name: 'mine', expireAt: later, ipAccessList: office, roles: ['admin'], state: 'enabled' },
        adminId,
        { address: '192.0.2.7' },
      )
      assert.equal(status, 200)
      assert.equal(body.result.name, 'mine')
      const wider = await patch({ ipAccessList: [] }, adminId, { address: '192.0.2.7' })
      assert.equal(wider.status, 200)
    })

    it('honours If-Match with the present ETag', async () => {
      const { patch } = await setUp()
      assert.equal((await patch({ name: 'a' }, undefined, { headers: { 'if-match': '"1"' } })).status, 200)
    })
  })

  describe('400', () => {
    const refused: [string, unknown, string][] = [
      ['an empty object', {}, 'the body has nothing to update; send at least one field that can be updated'],
      [
        'the time of the last use alone',
        { usedAt: later },
        'the body has nothing to update; send at least one field that can be updated',
      ],
      ['a name of null', { name: null }, 'name must be a string, not null'],
      ['an empty name', { name: '' }, 'name must have 1 to 255 characters, not 0'],
      ['roles of null', { roles: null }, 'roles must be a list, not null'],
      ['no role', { roles: [] }, 'roles must have exactly 1 item, not 0'],
      ['a state of null', { state: null }, 'state must be one of enabled, disabled, not null'],
      ['a list of null', { ipAccessList: null }, 'ipAccessList must be a list, not null'],
      ['an unknown field', { secret: 'x' }, 'secret is not a known field'],
      [
        'a wrong source, whatever else is right',
        { name: 'new', ipAccessList: [...office, { source: '192.0.2.0/99' }] },
        'ipAccessList[1].source must be an IP address or a range such as 10.0.0.0/8, not "192.0.2.0/99"',
      ],
      [
        'a source twice',
        { ipAccessList: [...office, { source: '192.0.2.7/24' }] },
        'ipAccessList[1].source repeats "192.0.2.7/24"; send each source once',
      ],
      [
        'an expiry beyond all years',
        { expireAt: '9999-12-31T23:59:59-01:00' },
        'expireAt must be a timestamp in the years 0000 to 9999 (UTC), not "9999-12-31T23:59:59-01:00"',
      ],
    ]
    for (const [name, body, sentence] of refused) {
      it(`refuses ${name}`, async () => {
        const { patch, get, activities } = await setUp()
        const before = await get()
        const answer = await patch(body)
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.body, { error: `BAD_REQUEST: ${sentence}`, status: 400 })
        const after = await get()
        assert.deepEqual(after.body.result, before.body.result)
        assert.equal(after.headers.etag, before.headers.etag)
        assert.deepEqual(await activities(), [])
      })
    }

    it('refuses another value for what cannot be changed', async () => {
      const { patch, get } = await setUp()
      const { result } = (await get()).body
      for (const [field, value] of Object.entries({
        id: nobody,
        keyId: 'a'.repeat(20),
        createdAt: later,
        keySuffix: '....',
        previousSecretValidUntil: later,
      })) {
        const { status, body } = await patch({ name: 'new', [field]: value })
        assert.equal(status, 400)
        assert.equal(body.error, `BAD_REQUEST: ${field} cannot be changed (it is ${JSON.stringify(result[field])})`)
      }
      assert.equal((await get()).body.result.name, 'other')
    })
  })

  describe('404', () => {
    it('names the key, and answers for a foreign one in the same way', async () => {
      const { organizationId, patch } = await setUp()
      const foreign = await setUp()
      const missing = await patch({ name: 'new' }, nobody)
      assert.equal(missing.status, 404)
      assert.equal(missing.body.error, `NOT_FOUND: key ${nobody} was not found in organization ${organizationId}`)
      const answer = await patch({ name: 'new' }, foreign.id)
      assert.equal(answer.text.replaceAll(foreign.id, nobody), missing.text)
      assert.equal((await foreign.get()).body.result.name, 'other')
    })
  })

  describe('409', () => {
    const passed = '2026-01-01T00:00:00.000Z'
    const shutOut: [string, unknown, string][] = [
      ['disable', { state: 'disabled' }, 'disable itself'],
      ['demote', { roles: ['developer'] }, 'take the role admin from itself'],
      ['expire', { expireAt: passed }, `expire itself at ${passed}, which has passed`],
      [
        'lock out',
        { ipAccessList: office },
        'have an IP access list without the address that it is used from, 198.51.100.1',
      ],
      [
        'disable and demote',
        { name: 'gone', state: 'disabled', roles: ['developer'] },
        'disable itself or take the role admin from itself',
      ],
    ]
    for (const [name, body, cannot] of shutOut) {
      it(`lets no key ${name} itself, but another one`, async () => {
        const { admin, adminId, other, url, patch, get, activities } = await setUp()
        const before = await get(adminId)
        const answer = await patch(body, adminId, { address: '198.51.100.1' })
        assert.equal(answer.status, 409)
        assert.deepEqual(answer.body, {
          error: `CONFLICT: this request was made with key ${adminId} itself, which cannot ${cannot}; use another admin key`,
          status: 409,
        })
        const rich = await patch(body, adminId, {
          address: '198.51.100.1',
          headers: { accept: 'application/problem+json' },
        })
        assert.equal(rich.body.code, 'own_key')
        assert.equal((await get(adminId)).headers.etag, before.headers.etag)
        assert.deepEqual(await activities(), [])

        const byAnother = await app().request('PATCH', `${url}/${adminId}`, { key: other, body })
        assert.equal(byAnother.status, 200)
        assert.notEqual(
          (await app().request('POST', url, { key: admin, body: {}, address: '198.51.100.1' })).status,
          400,
        )
      })
    }
  })

  describe('412', () => {
    it('refuses the ETag from before a change, and not that from before a use', async () => {
      const { other, url, patch, get } = await setUp()
      const headers = { 'if-match': String((await get()).headers.etag) }
      await app().request('GET', url, { key: other })
      await app().app.keyUses.settled()
      assert.equal((await patch({ name: 'first' }, undefined, { headers })).status, 200)
      assert.equal((await patch({ name: 'second' }, undefined, { headers })).status, 412)
      assert.equal((await get()).body.result.name, 'first')
    })

    it('lets one of several changes with the same ETag through', async () => {
      const { patch, activities } = await setUp()
      const headers = { 'if-match': '"1"' }
      const answers = await Promise.all(
        Array.from({ length: 5 }, (_, index) => patch({ name: `n${index}` }, undefined, { headers })),
      )
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412])
      assert.equal((await activities()).length, 1)
    })
  })
})
