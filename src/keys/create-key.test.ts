import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'
import { hashSecret } from './key.ts'

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

onBothDatabases('createKey', (app) => {
  /** An organization of its own for each test. */
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/keys`
    const create = (body: unknown, options: RequestOptions = {}) =>
      app().request('POST', url, { key: admin, body, ...options })
    const rows = () =>
      app().query<{ id: string; secret_hash: string }>(
        `SELECT * FROM api_keys WHERE organization_id = '${organizationId}' ORDER BY created_at, id`,
      )
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, url, create, rows, activities }
  }

  describe('200', () => {
    it('gives the whole key with defaults, its key id and its secret', async () => {
      const { admin, url, create } = await setUp()
      const { status, body } = await create({ name: 'deployments', roles: ['developer'] })
      assert.equal(status, 200)
      const { key, keyId, keySecret, ...others } = body.result
      assert.deepEqual(others, {})
      assert.match(keyId, /^[0-9A-Za-z]{20}$/)
      assert.match(keySecret, /^pst_[0-9A-Za-z]{49}$/)
      assert.deepEqual(key, {
        id: key.id,
        keyId,
        name: 'deployments',
        roles: ['developer'],
        state: 'enabled',
        expireAt: null,
        ipAccessList: [],
        createdAt: key.createdAt,
        usedAt: null,
        keySuffix: keySecret.slice(-4),
        previousSecretValidUntil: null,
      })
      const single = await app().request('GET', `${url}/${key.id}`, { key: admin })
      assert.deepEqual(single.body.result, key)
      assert.equal(single.headers.etag, '"1"')
    })

    it('makes a key that signs in with its role at once', async () => {
      const { url, create } = await setUp()
      for (const role of ['admin', 'developer']) {
        const { keyId, keySecret } = (await create({ name: role, roles: [role] })).body.result
        const key = { keyId, secret: keySecret }
        assert.equal((await app().request('GET', `${url}/current`, { key })).body.result.keyId, keyId)
        const write = await app().request('POST', url, { key, body: { name: 'more', roles: ['developer'] } })
        assert.equal(write.status, role === 'admin' ? 200 : 403)
      }
    })

    it('takes every field, and gives back the expiry in UTC with milliseconds', async () => {
      const { create } = await setUp()
      const { status, body } = await create({
        name: 'é'.repeat(255),
        roles: ['admin'],
        state: 'disabled',
        expireAt: '2099-06-01T12:30:00.5+02:00',
        ipAccessList: [{ source: '192.0.2.7', description: 'office' }, { source: '2001:db8::/32' }],
      })
      assert.equal(status, 200)
      const { key } = body.result
      assert.equal(key.name, 'é'.repeat(255))
      assert.equal(key.state, 'disabled')
      assert.equal(key.expireAt, '2099-06-01T10:30:00.500Z')
      assert.deepEqual(key.ipAccessList, [
        { source: '192.0.2.7', description: 'office' },
        { source: '2001:db8::/32', description: '' },
      ])
    })

    it('refuses a key that is disabled, and one from elsewhere', async () => {
      const { url, create } = await setUp()
      const disabled = (await create({ name: 'off', roles: ['admin'], state: 'disabled' })).body.result
      const listed = (await create({ name: 'office', roles: ['admin'], ipAccessList: [{ source: '192.0.2.0/24' }] }))
        .body.result
      const ask = ({ keyId, keySecret }: { keyId: string; keySecret: string }, address: string) =>
        app().request('GET', url, { key: { keyId, secret: keySecret }, address })
      assert.equal((await ask(disabled, '192.0.2.1')).status, 401)
      assert.equal((await ask(listed, '192.0.2.1')).status, 200)
      assert.equal((await ask(listed, '198.51.100.1')).status, 403)
    })

    it('stops a key at its expiry, whatever the offset it was sent with', async () => {
      const { url, create } = await setUp()
      const at = Date.now() + 3_600_000
      // Written in a zone where the clock shows nine hours less: as text it looks past.
      const expireAt = new Date(at - 9 * 3_600_000).toISOString().replace('Z', '-09:00')
      const { key, keyId, keySecret } = (await create({ name: 'soon', roles: ['admin'], expireAt })).body.result
      assert.equal(key.expireAt, new Date(at).toISOString())
      const ask = () => app().request('GET', url, { key: { keyId, secret: keySecret } })
      assert.equal((await ask()).status, 200)
      await app().query(`UPDATE api_keys SET expire_at = '${new Date().toISOString()}' WHERE id = '${key.id}'`)
      assert.equal((await ask()).status, 401)
    })

    it('shows the secret in no other answer, no row, no activity and no log line', async () => {
      const { admin, url, create, rows, activities } = await setUp()
      const answer = (await create({ name: 'once', roles: ['admin'] })).body.result
      const secret = answer.keySecret.slice(4)
      const row = (await rows()).find(({ id }) => id === answer.key.id)!
      const hash = hashSecret(app().app.vault, answer.keySecret)
      assert.equal(row.secret_hash, hash)
      const list = await app().request('GET', url, { key: admin })
      const single = await app().request('GET', `${url}/${answer.key.id}`, { key: admin })
      const own = await app().request('GET', `${url}/current`, {
        key: { keyId: answer.keyId, secret: answer.keySecret },
      })
      assert.equal(own.status, 200)
      for (const output of [list.text, single.text, own.text, await activities(), app().logged]) {
        assert.ok(!JSON.stringify(output).includes(secret))
        assert.ok(!JSON.stringify(output).includes(hash))
      }
      assert.ok(!JSON.stringify(await rows()).includes(secret))
    })

    it('records the key as it was made', async () => {
      const { create, activities } = await setUp()
      const expireAt = inAnHour()
      const { key, keyId } = (await create({ name: 'audited', roles: ['developer'], expireAt })).body.result
      const [activity, ...others] = await activities()
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'key_created')
      assert.deepEqual(JSON.parse(activity!.target), { type: 'key', id: key.id })
      assert.deepEqual(JSON.parse(activity!.changes), [
        {
          field: 'key',
          to: { keyId, name: 'audited', roles: ['developer'], state: 'enabled', expireAt, ipAccessList: [] },
        },
      ])
    })

    it('gives a retry with the same Idempotency-Key the same secret, and stores none of it in the clear', async () => {
      const { organizationId, create, rows } = await setUp()
      const body = { name: 'once', roles: ['admin'] }
      const headers = { 'idempotency-key': 'make-once' }
      const first = await create(body, { headers })
      const second = await create(body, { headers })
      assert.deepEqual(second.body.result, first.body.result)
      assert.equal((await rows()).length, 2)
      const records = await app().query(`SELECT * FROM idempotency_records WHERE organization_id = '${organizationId}'`)
      assert.equal(records.length, 1)
      assert.ok(!JSON.stringify(records).includes(first.body.result.keySecret.slice(4)))
    })
  })

  describe('400', () => {
    const whole = { name: 'deployments', roles: ['developer'] }
    const range = (path: string, sent: string) =>
      `${path} must be an IP address or a range such as 10.0.0.0/8, not ${JSON.stringify(sent)}`
    const refused: [string, unknown, string][] = [
      ['an empty object', {}, 'name is required; roles is required'],
      ['an empty name', { ...whole, name: '' }, 'name must have 1 to 255 characters, not 0'],
      ['a long name', { ...whole, name: 'a'.repeat(256) }, 'name must have 1 to 255 characters, not 256'],
      ['a name of null', { ...whole, name: null }, 'name must be a string, not null'],
      ['no role', { ...whole, roles: [] }, 'roles must have exactly 1 item, not 0'],
      ['two roles', { ...whole, roles: ['admin', 'developer'] }, 'roles must have exactly 1 item, not 2'],
      ['an unknown role', { ...whole, roles: ['owner'] }, 'roles[0] must be one of admin, developer, not "owner"'],
      ['a role that is not a list', { ...whole, roles: 'admin' }, 'roles must be a list, not "admin"'],
      ['an unknown state', { ...whole, state: 'on' }, 'state must be one of enabled, disabled, not "on"'],
      [
        'an expiry that is not a timestamp',
        { ...whole, expireAt: 'tomorrow' },
        'expireAt must be a date and time such as 2026-01-31T12:00:00Z or null, not "tomorrow"',
      ],
      [
        'an expiry in the past',
        { ...whole, expireAt: '2026-01-01T00:00:00Z' },
        'expireAt must be in the future, not "2026-01-01T00:00:00Z"',
      ],
      [
        'an expiry that is past in UTC only',
        { ...whole, expireAt: '0000-01-01T00:00:00+23:00' },
        'expireAt must be a timestamp in the years 0000 to 9999 (UTC), not "0000-01-01T00:00:00+23:00"',
      ],
      [
        'an expiry in the year 10000',
        { ...whole, expireAt: '9999-12-31T23:59:59-01:00' },
        'expireAt must be a timestamp in the years 0000 to 9999 (UTC), not "9999-12-31T23:59:59-01:00"',
      ],
      [
        'wrong sources, all at once, together with a wrong expiry',
        {
          ...whole,
          expireAt: '2026-01-01T00:00:00Z',
          ipAccessList: ['192.0.2.7', '192.0.2.0/33', '2001:db8::/129', 'fe80::1%eth0', '192.0.2.0/08', 'office'].map(
            (source) => ({ source }),
          ),
        },
        [
          range('ipAccessList[1].source', '192.0.2.0/33'),
          range('ipAccessList[2].source', '2001:db8::/129'),
          range('ipAccessList[3].source', 'fe80::1%eth0'),
          range('ipAccessList[4].source', '192.0.2.0/08'),
          range('ipAccessList[5].source', 'office'),
          'expireAt must be in the future, not "2026-01-01T00:00:00Z"',
        ].join('; '),
      ],
      [
        'a source twice, also in another spelling',
        {
          ...whole,
          ipAccessList: ['::1', '10.0.0.0/8', '0:0:0:0:0:0:0:1', '10.0.0.0/8'].map((source) => ({ source })),
        },
        'ipAccessList[2].source repeats "0:0:0:0:0:0:0:1"; send each source once; ' +
          'ipAccessList[3].source repeats "10.0.0.0/8"; send each source once',
      ],
      [
        'a long description',
        { ...whole, ipAccessList: [{ source: '192.0.2.7', description: 'a'.repeat(256) }] },
        'ipAccessList[0].description must have at most 255 characters, not 256',
      ],
      [
        'an entry without a source',
        { ...whole, ipAccessList: [{ description: 'office' }] },
        'ipAccessList[0].source is required',
      ],
      [
        'more than a hundred entries',
        { ...whole, ipAccessList: Array.from({ length: 101 }, () => ({ source: '192.0.2.7' })) },
        'ipAccessList must have at most 100 items, not 101',
      ],
      ['a secret of its own', { ...whole, keySecret: 'pst_x' }, 'keySecret is not a known field'],
    ]
    for (const [name, body, sentence] of refused) {
      it(`refuses ${name}`, async () => {
        const { create, rows, activities } = await setUp()
        const answer = await create(body)
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.body, { error: `BAD_REQUEST: ${sentence}`, status: 400 })
        assert.equal((await rows()).length, 1)
        assert.deepEqual(await activities(), [])
      })
    }
  })
})
