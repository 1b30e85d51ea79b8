import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { onBothDatabases, openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { openApp } from '../app.ts'
import { firstIdAt, newId } from '../lib/id.ts'
import { Log } from '../lib/log.ts'
import { fullSeal, verifyChain } from './seal.ts'
import { Sealer } from './sealer.ts'

onBothDatabases('the sealer', (app) => {
  function makeSealer(seal: (organizationId: string) => Promise<number>) {
    const logged: string[] = []
    const log = new Log('info', { write: (line: string) => logged.push(line) } as unknown as NodeJS.WritableStream)
    return { sealer: new Sealer({ reader: app().app.database.reader, seal, log }), logged }
  }

  it('seals touched organizations completely', async () => {
    const left: Record<string, number> = { a: 2 * fullSeal + 1, b: fullSeal, c: 0 }
    const calls: string[] = []
    const { sealer, logged } = makeSealer(async (id) => {
      calls.push(id)
      const sealed = Math.min(left[id]!, fullSeal)
      left[id]! -= sealed
      return sealed
    })
    for (const id of ['a', 'b', 'c', 'a']) sealer.touch(id)
    await sealer.sealTouched()
    assert.deepEqual(calls.toSorted(), ['a', 'a', 'a', 'b', 'b', 'c'])
    await sealer.sealTouched()
    assert.equal(calls.length, 6)
    assert.deepEqual(logged, [])
  })

  it('logs one warning for failures, seals the others, and retries', async () => {
    let broken = true
    const calls: string[] = []
    const { sealer, logged } = makeSealer(async (id) => {
      calls.push(id)
      if (broken && id !== 'b') throw new TypeError('a secret')
      return 0
    })
    for (const id of ['a', 'b', 'c']) sealer.touch(id)
    await sealer.sealTouched()
    assert.equal(logged.length, 1)
    assert.match(logged[0]!, /"level":40.*"name":"TypeError".*could not be sealed/)
    assert.doesNotMatch(logged[0]!, /a secret/)
    broken = false
    calls.length = 0
    await sealer.close()
    assert.deepEqual(calls.toSorted(), ['a', 'c'])
    assert.equal(logged.length, 1)
  })

  it('finds organizations with unsealed activities', async () => {
    const { organizationId } = await app().addOrganization()
    const [key] = await app().query<{ id: string }>(
      `SELECT id FROM api_keys WHERE organization_id = '${organizationId}'`,
    )
    const request = {
      operationId: 'updateOrganization',
      requestId: newId(),
      caller: { type: 'key' as const, id: key!.id, organizationId, address: '192.0.2.1', userAgent: 'test' },
      params: { organizationId },
      query: {},
      body: { name: 'Renamed' },
      echoes: false,
    }
    // Not over HTTP: Penstock could seal it first.
    await app().app.database.write('writeOperation', request, organizationId)
    const found: string[] = []
    const { sealer } = makeSealer(async (id) => {
      found.push(id)
      return app().app.database.write('sealActivities', { organizationId: id }, id)
    })
    await sealer.look()
    await sealer.sealTouched()
    assert.ok(found.includes(organizationId))
    found.length = 0
    await sealer.look()
    await sealer.sealTouched()
    assert.deepEqual(found, [])
    await sealer.close()
  })

  describe('across restarts', () => {
    let own: TestApp
    before(async () => {
      own = await openTestApp(app().dialect)
    })
    after(() => own.close())

    const rename = async (name: string) => {
      const url = `/v1/organizations/${own.sample.organizationId}`
      assert.equal((await own.request('PATCH', url, { body: { name } })).status, 200)
    }
    const verify = () => verifyChain(own.sql, own.app.vault, own.sample.organizationId)
    const restart = async (meanwhile: () => Promise<unknown> = async () => undefined) => {
      await own.app.close()
      await meanwhile()
      // Replaces the first one, so that the test uses and closes it.
      const log = new Log('silent')
      Object.assign(own.app, await openApp(own.config, { log, mayCreateKeys: false, onFatal: () => undefined }))
    }

    it('seals all activities on shutdown', async () => {
      await rename('One')
      await restart()
      const { organizationId } = own.sample
      assert.deepEqual(await verify(), { organizationId, sealed: 1, seals: 1, waiting: 0 })
    })

    it('seals the activities left by a crash', async () => {
      await restart(async () => {
        await own.query('DELETE FROM activity_seals')
        await own.query("UPDATE organizations SET sealed_up_to = ''")
        assert.equal((await verify()).waiting, 1)
      })
      await restart()
      const { organizationId } = own.sample
      assert.deepEqual(await verify(), { organizationId, sealed: 1, seals: 1, waiting: 0 })
    })

    it('orders new activities after sealed ones when the clock is behind', async () => {
      const ahead = firstIdAt(Date.now() + 3_600_000)
      await own.query(`UPDATE activities SET id = '${ahead}'`)
      await restart(async () => {
        await own.query('DELETE FROM activity_seals')
        await own.query("UPDATE organizations SET sealed_up_to = ''")
      })
      await restart()
      assert.equal((await verify()).sealed, 1)
      // Organizations whose seals are older than the clock use the clock.
      const other = await own.addOrganization()
      const url = `/v1/organizations/${other.organizationId}`
      await own.request('PATCH', url, { key: other.admin, body: { name: 'Two' } })
      const [activity] = (await own.request('GET', `${url}/activities`, { key: other.admin })).body.result
      assert.ok(activity.id < ahead)

      await rename('Two')
      const ids = await own.query<{ id: string }>(
        `SELECT id FROM activities WHERE organization_id = '${own.sample.organizationId}' ORDER BY id`,
      )
      assert.equal(ids.length, 2)
      assert.equal(ids[0]!.id, ahead)
      await restart()
      assert.deepEqual([(await verify()).problem, (await verify()).sealed], [undefined, 2])
    })
  })
})
