import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Key, onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'
import { hashSecret } from './key.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('rotateKey', (app) => {
  /** An organization of its own for each test: the admin key that asks, and another one that is rotated. */
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/keys`
    const other = await app().addKey(organizationId, 'admin', { name: 'other' })
    const idOf = async ({ keyId }: Key) =>
      (await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${keyId}'`))[0]!.id
    const id = await idOf(other)
    const rotate = (body: unknown, of = id, options: RequestOptions = {}) =>
      app().request('POST', `${url}/${of}/rotate`, { key: admin, body, ...options })
    /** The answer to the key with this secret. Addresses differ: wrong secrets are throttled. */
    let asked = 0
    const ask = async (secret: string, keyId = other.keyId) =>
      (await app().request('GET', url, { key: { keyId, secret }, address: `10.0.0.${++asked}` })).status
    const get = (of = id) => app().request('GET', `${url}/${of}`, { key: admin })
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, adminId: await idOf(admin), other, id, url, rotate, ask, get, activities }
  }

  describe('200', () => {
    it('gives another secret under the same key id, and ends the old one at once', async () => {
      const { other, rotate, ask, get } = await setUp()
      const before = (await get()).body.result
      const { status, body } = await rotate({})
      assert.equal(status, 200)
      const { key, keyId, keySecret } = body.result
      assert.equal(keyId, other.keyId)
      assert.match(keySecret, /^pst_[0-9A-Za-z]{49}$/)
      assert.notEqual(keySecret, other.secret)
      assert.deepEqual(key, { ...before, keySuffix: keySecret.slice(-4) })
      const after = await get()
      assert.deepEqual(after.body.result, key)
      assert.equal(after.headers.etag, '"2"')
      assert.equal(await ask(keySecret), 200)
      assert.equal(await ask(other.secret), 401)
    })

    it('keeps the old secret good for the grace, and no longer', async () => {
      const { id, other, rotate, ask, get } = await setUp()
      const started = Date.now()
      const { key, keySecret } = (await rotate({ graceSeconds: 3600 })).body.result
      const validUntil = Date.parse(key.previousSecretValidUntil)
      assert.ok(validUntil >= started + 3_600_000 && validUntil <= Date.now() + 3_600_000)
      assert.deepEqual((await get()).body.result, key)
      assert.equal(await ask(keySecret), 200)
      assert.equal(await ask(other.secret), 200)
      assert.equal(await ask(`${other.secret}x`), 401)

      const passed = new Date().toISOString()
      await app().query(`UPDATE api_keys SET previous_valid_until = '${passed}' WHERE id = '${id}'`)
      assert.equal(await ask(other.secret), 401)
      assert.equal(await ask(keySecret), 200)
      assert.equal((await get()).body.result.previousSecretValidUntil, passed)
    })

    it('takes a grace of a week', async () => {
      const { rotate } = await setUp()
      const { key } = (await rotate({ graceSeconds: 604_800 })).body.result
      assert.ok(Date.parse(key.previousSecretValidUntil) > Date.now() + 604_000_000)
    })

    it('keeps one previous secret: that of the rotation before ends', async () => {
      const { other, rotate, ask } = await setUp()
      const second = (await rotate({ graceSeconds: 3600 })).body.result.keySecret
      const third = (await rotate({ graceSeconds: 3600 })).body.result.keySecret
      assert.deepEqual([await ask(other.secret), await ask(second), await ask(third)], [401, 200, 200])
      const fourth = (await rotate({ graceSeconds: 0 })).body.result
      assert.equal(fourth.key.previousSecretValidUntil, null)
      assert.deepEqual([await ask(second), await ask(third), await ask(fourth.keySecret)], [401, 401, 200])
    })

    it('opens neither a disabled nor an expired key with either secret', async () => {
      const { id, admin, other, url, rotate, ask } = await setUp()
      const { keySecret } = (await rotate({ graceSeconds: 3600 })).body.result
      for (const body of [{ state: 'disabled' }, { state: 'enabled', expireAt: '2026-01-01T00:00:00Z' }]) {
        assert.equal((await app().request('PATCH', `${url}/${id}`, { key: admin, body })).status, 200)
        assert.deepEqual([await ask(keySecret), await ask(other.secret)], [401, 401])
      }
    })

    it('takes the previous secret of no other key', async () => {
      const { admin, other, rotate, ask } = await setUp()
      await rotate({ graceSeconds: 3600 })
      assert.equal(await ask(other.secret, admin.keyId), 401)
    })

    it('lets a key rotate itself, and keeps its old secret for five minutes by default', async () => {
      for (const [sent, graceSeconds] of [
        [{}, 300],
        [{ graceSeconds: 60 }, 60],
        [{ graceSeconds: 3600 }, 3600],
      ] as const) {
        const { admin, adminId, rotate, ask } = await setUp()
        const started = Date.now()
        const { status, body } = await rotate(sent, adminId)
        assert.equal(status, 200)
        const validUntil = Date.parse(body.result.key.previousSecretValidUntil)
        assert.ok(validUntil >= started + graceSeconds * 1000 && validUntil <= Date.now() + graceSeconds * 1000)
        assert.equal(await ask(admin.secret, admin.keyId), 200)
        assert.equal(await ask(body.result.keySecret, admin.keyId), 200)
      }
    })

    it('gives a key whose answer was lost its new secret when it asks again with the old one', async () => {
      const { adminId, rotate, activities } = await setUp()
      const headers = { 'idempotency-key': 'rotate-myself' }
      const lost = (await rotate({}, adminId, { headers })).body.result
      const again = await rotate({}, adminId, { headers })
      assert.equal(again.status, 200)
      assert.deepEqual(again.body.result, lost)
      assert.equal((await activities()).length, 1)
    })

    it('records that the secret changed, and neither of them anywhere', async () => {
      const { id, other, rotate, activities } = await setUp()
      const { key, keySecret } = (await rotate({ graceSeconds: 60 })).body.result
      await rotate({})
      const rows = await activities()
      assert.deepEqual(
        rows.map(({ type, target, changes }) => [type, JSON.parse(target), JSON.parse(changes)]),
        [
          [
            'key_rotated',
            { type: 'key', id },
            [
              { field: 'keySecret', to: 'changed' },
              { field: 'previousSecretValidUntil', from: null, to: key.previousSecretValidUntil },
            ],
          ],
          [
            'key_rotated',
            { type: 'key', id },
            [
              { field: 'keySecret', to: 'changed' },
              { field: 'previousSecretValidUntil', from: key.previousSecretValidUntil, to: null },
            ],
          ],
        ],
      )
      for (const secret of [other.secret, keySecret]) {
        for (const output of [rows, app().logged, await app().query(`SELECT * FROM api_keys WHERE id = '${id}'`)]) {
          assert.ok(!JSON.stringify(output).includes(secret.slice(4)))
        }
        assert.ok(!JSON.stringify(rows).includes(hashSecret(app().app.vault, secret)))
      }
    })

    it('gives a retry with the same Idempotency-Key the same secret', async () => {
      const { rotate, ask, activities } = await setUp()
      const headers = { 'idempotency-key': 'rotate-once' }
      const first = (await rotate({}, undefined, { headers })).body.result
      const second = (await rotate({}, undefined, { headers })).body.result
      assert.deepEqual(second, first)
      assert.equal(await ask(first.keySecret), 200)
      assert.equal((await activities()).length, 1)
    })
  })

  describe('400', () => {
    it('refuses a grace that is not a number of seconds up to a week', async () => {
      const { rotate, get } = await setUp()
      for (const graceSeconds of [-1, 604_801, 1.5, '60', null]) {
        const { status, body } = await rotate({ graceSeconds })
        assert.equal(status, 400)
        assert.equal(
          body.error,
          `BAD_REQUEST: graceSeconds must be an integer between 0 and 604800, not ${JSON.stringify(graceSeconds)}`,
        )
      }
      assert.equal((await rotate({ grace: 60 })).status, 400)
      assert.equal((await rotate(undefined)).status, 400)
      assert.equal((await get()).headers.etag, '"1"')
    })

    it('lets no key that rotates itself give up its old secret within a minute', async () => {
      const { admin, adminId, rotate, ask, get, activities } = await setUp()
      for (const graceSeconds of [0, 59]) {
        const { status, body } = await rotate({ graceSeconds }, adminId)
        assert.equal(status, 400)
        assert.equal(
          body.error,
          `BAD_REQUEST: graceSeconds must be at least 60, not ${graceSeconds}, for the key that the request is made with: ` +
            'if the response is lost, the new secret is lost too, and the key needs its previous secret',
        )
      }
      assert.equal((await get(adminId)).headers.etag, '"1"')
      assert.equal(await ask(admin.secret, admin.keyId), 200)
      assert.deepEqual(await activities(), [])
    })
  })

  describe('404', () => {
    it('names the key, and answers for a foreign one in the same way', async () => {
      const { organizationId, rotate } = await setUp()
      const foreign = await setUp()
      const missing = await rotate({}, nobody)
      assert.equal(missing.status, 404)
      assert.equal(missing.body.error, `NOT_FOUND: key ${nobody} was not found in organization ${organizationId}`)
      const answer = await rotate({}, foreign.id)
      assert.equal(answer.text.replaceAll(foreign.id, nobody), missing.text)
      assert.equal((await foreign.get()).headers.etag, '"1"')
    })
  })
})
