import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness.ts'
import { type KeyUse, KeyUses } from './key-use.ts'

const key = (id: string) => ({ id, organizationId: 'organization' })

describe('KeyUses', () => {
  function setUp() {
    const written: KeyUse[] = []
    const failures: unknown[] = []
    let fails = false
    const uses = new KeyUses(
      async (use) => {
        if (fails) throw new Error('the database is away')
        written.push(use)
      },
      (error) => failures.push(error),
    )
    const breakDown = (broken: boolean) => {
      fails = broken
    }
    return { uses, written, failures, breakDown }
  }

  it('writes the first use, and the next one a minute later', async () => {
    const { uses, written } = setUp()
    for (const nowMs of [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000]) uses.note(key('a'), nowMs)
    await uses.settled()
    assert.deepEqual(
      written.map(({ usedAt }) => Date.parse(usedAt)),
      [0, 60_000, 120_000],
    )
    assert.deepEqual(written[0], { id: 'a', organizationId: 'organization', usedAt: '1970-01-01T00:00:00.000Z' })
  })

  it('goes on when the clock is set back', async () => {
    const { uses, written } = setUp()
    for (const nowMs of [1_000_000, 999_999, 0]) uses.note(key('a'), nowMs)
    await uses.settled()
    assert.equal(written.length, 2)
  })

  it('takes a failure for a write, and tells it', async () => {
    const { uses, written, failures, breakDown } = setUp()
    breakDown(true)
    uses.note(key('a'), 0)
    await uses.settled()
    assert.equal(failures.length, 1)
    breakDown(false)
    uses.note(key('a'), 1)
    uses.note(key('a'), 60_000)
    await uses.settled()
    assert.equal(written.length, 1)
  })

  it('has few writes under way, and notes the other keys with a later use', async () => {
    const { uses, written } = setUp()
    for (let index = 0; index < 100; index++) uses.note(key(`k${index}`), 0)
    await uses.settled()
    assert.equal(written.length, 64)
    for (let index = 0; index < 100; index++) uses.note(key(`k${index}`), 1)
    await uses.settled()
    assert.equal(new Set(written.map(({ id }) => id)).size, 100)
    assert.equal(written.length, 100)
  })

  it('forgets the key noted longest ago when it remembers too many', async () => {
    const { uses, written } = setUp()
    for (let index = 0; index <= 10_000; index++) {
      uses.note(key(`k${index}`), 0)
      if (index % 50 === 0) await uses.settled()
    }
    uses.note(key('k1'), 1)
    await uses.settled()
    assert.equal(written.length, 10_001)
    uses.note(key('k0'), 1)
    await uses.settled()
    assert.equal(written.length, 10_002)
  })
})

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

  it('is the moment of the first use, and no change of the key', async () => {
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

  it('counts a request that is refused for what it asks, not one with a wrong secret', async () => {
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
