import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('usedAt', (app) => {
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const used = await app().addKey(organizationId, 'developer')
    const url = `/v1/organizations/${organizationId}/keys`
    const row = async () => {
      await app().app.keyUses.settled()
      const text = `SELECT used_at, version FROM api_keys WHERE key_id = '${used.keyId}'`
      return (await app().query<{ used_at: string | null; version: number }>(text))[0]!
    }
    return { organizationId, admin, used, url, row }
  }

  it('is the time of the first use, and no change of the key', async () => {
    const { organizationId, used, url, row } = await setUp()
    assert.deepEqual({ ...(await row()) }, { used_at: null, version: 1 })
    const started = new Date().toISOString()
    assert.equal((await app().request('GET', url, { key: used })).status, 200)
    const { used_at, version } = await row()
    assert.ok(used_at! >= started && used_at! <= new Date().toISOString())
    assert.equal(version, 1)
    const shown = await app().request('GET', `${url}/current`, { key: used })
    assert.equal(shown.body.result.usedAt, used_at)
    assert.equal((await row()).used_at, used_at)
    const text = `SELECT id FROM activities WHERE organization_id = '${organizationId}'`
    assert.deepEqual(await app().query(text), [])
  })

  it('counts a rejected request of an authenticated key, not one with a wrong secret', async () => {
    const { used, url, row } = await setUp()
    const wrong = { keyId: used.keyId, secret: 'wrong' }
    assert.equal((await app().request('GET', url, { key: wrong, address: '203.0.113.9' })).status, 401)
    assert.equal((await row()).used_at, null)
    assert.equal((await app().request('POST', url, { key: used, body: {} })).status, 403)
    assert.notEqual((await row()).used_at, null)
  })

  it('never goes back', async () => {
    const { organizationId, used, row } = await setUp()
    const [{ id }] = (await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${used.keyId}'`)) as [
      { id: string },
    ]
    const { database } = app().app
    for (const usedAt of ['2026-02-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z']) {
      await database.write('noteKeyUse', { organizationId, id, usedAt }, organizationId)
    }
    assert.equal((await row()).used_at, '2026-02-01T00:00:00.000Z')
  })
})
