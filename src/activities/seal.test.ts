import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { firstIdAt, newId, timeOfId } from '../lib/id.ts'
import { newMasterKeys, Vault } from '../lib/vault.ts'
import { fullSeal, verifyChain, verifyChains } from './seal.ts'

onBothDatabases('sealed activities', (app) => {
  /** A separate organization for each test. */
  async function setUp() {
    const { organizationId } = await app().addOrganization()
    const userId = await app().addMember(organizationId, 'admin')
    let isAdmin = true
    /** Not over HTTP: Penstock would seal it at some time. */
    const [{ id: keyRecordId }] = (await app().query<{ id: string }>(
      `SELECT id FROM api_keys WHERE organization_id = '${organizationId}'`,
    )) as [{ id: string }]
    const act = async (times = 1) => {
      for (let time = 0; time < times; time++) {
        isAdmin = !isAdmin
        const request = {
          operationId: 'updateMember',
          requestId: newId(),
          caller: { type: 'key' as const, id: keyRecordId, organizationId, address: '192.0.2.1', userAgent: 'test' },
          params: { organizationId, userId },
          query: {},
          body: { role: isAdmin ? 'admin' : 'developer' },
          echoes: false,
        }
        await app().app.database.write('writeOperation', request, organizationId)
      }
    }
    const seal = () => app().app.database.write('sealActivities', { organizationId }, organizationId)
    const verify = () => verifyChain(app().sql, app().app.vault, organizationId)
    const problem = async () => (await verify()).problem
    const aSeal = (number: number, what: string) => `seal ${number} of organization ${organizationId} ${what}`
    const where = `organization_id = '${organizationId}'`
    const ids = async () =>
      (await app().query<{ id: string }>(`SELECT id FROM activities WHERE ${where} ORDER BY id`)).map(({ id }) => id)
    const mark = async () =>
      (await app().query<{ sealed_up_to: string }>(`SELECT * FROM organizations WHERE id = '${organizationId}'`))[0]!
        .sealed_up_to
    /** A copy of a stored activity with another id. */
    const copy = (of: string, id: string) => {
      const rest = 'type, created_at, actor_id, address, user_agent, request_id, target, changes'
      return app().query(
        `INSERT INTO activities (organization_id, id, ${rest}) SELECT organization_id, '${id}', ${rest}
         FROM activities WHERE ${where} AND id = '${of}'`,
      )
    }
    return { organizationId, act, seal, verify, problem, aSeal, where, ids, mark, copy }
  }

  /** Three seals of two, three and one activities, and one unsealed activity. */
  async function setUpChain() {
    const all = await setUp()
    for (const times of [2, 3, 1]) {
      await all.act(times)
      assert.equal(await all.seal(), times)
    }
    await all.act()
    assert.equal(await all.problem(), undefined)
    const ids = await all.ids()
    const activity = (index: number, what: string) =>
      `activity ${ids[index]} of organization ${all.organizationId} ${what}`
    return { ...all, sealedIds: ids, activity }
  }

  describe('a valid chain', () => {
    it('covers every activity once, and continues', async () => {
      const { organizationId, act, seal, verify, ids, mark } = await setUp()
      const report = (sealed: number, seals: number, waiting: number) => ({ organizationId, sealed, seals, waiting })
      assert.equal(await seal(), 0)
      assert.deepEqual(await verify(), report(0, 0, 0))
      await act(2)
      assert.deepEqual(await verify(), report(0, 0, 2))
      assert.equal(await seal(), 2)
      assert.equal(await seal(), 0)
      assert.deepEqual(await verify(), report(2, 1, 0))
      await act()
      assert.deepEqual(await verify(), report(2, 1, 1))
      assert.equal(await seal(), 1)
      assert.deepEqual(await verify(), report(3, 2, 0))
      assert.equal(await mark(), (await ids()).at(-1))
    })

    it('limits the activities per seal', async () => {
      const { act, seal, verify, where, ids } = await setUp()
      await act()
      const [id] = await ids()
      const rest = 'type, created_at, actor_id, address, user_agent, request_id, target, changes'
      const others = Array.from(
        { length: fullSeal + 2 },
        (_, index) => `${id!.slice(0, -4)}${(0x1_0000 + index).toString(16).slice(-4)}`,
      ).filter((other) => other !== id)
      await app().query(
        `INSERT INTO activities (organization_id, id, ${rest})
         SELECT organization_id, other.id, type, created_at, actor_id, address, user_agent, request_id, target, changes
         FROM activities CROSS JOIN (${others.map((other) => `SELECT '${other}' AS id`).join(' UNION ALL ')}) AS other
         WHERE ${where}`,
      )
      assert.equal(await seal(), fullSeal)
      assert.equal(await seal(), others.length + 1 - fullSeal)
      const report = await verify()
      assert.deepEqual([report.problem, report.sealed, report.seals], [undefined, others.length + 1, 2])
    })

    it('holds through writes and seals at the same time', async () => {
      const { act, seal, verify } = await setUp()
      await Promise.all([act(40), ...Array.from({ length: 20 }, seal)])
      while ((await seal()) > 0) {}
      const { problem, sealed, waiting } = await verify()
      assert.deepEqual([problem, sealed, waiting], [undefined, 40, 0])
    })

    it('is of one organization', async () => {
      const one = await setUp()
      const other = await setUp()
      await one.act(2)
      await other.act(1)
      await one.seal()
      assert.deepEqual(await other.verify().then(({ sealed, waiting }) => [sealed, waiting]), [0, 1])
    })

    it('needs the pepper', async () => {
      const { organizationId, act, seal } = await setUp()
      await act()
      await seal()
      const { problem } = await verifyChain(app().sql, new Vault(newMasterKeys()), organizationId)
      assert.equal(problem, `seal 1 of organization ${organizationId} was changed`)
    })

    it('is verified for every organization', async () => {
      const { organizationId, act, seal, where } = await setUp()
      await act()
      await seal()
      const found = new Map<string, string | undefined>()
      for await (const report of verifyChains(app().sql, app().app.vault)) {
        assert.ok(!found.has(report.organizationId), 'twice')
        found.set(report.organizationId, report.problem)
      }
      const all = await app().query<{ id: string }>('SELECT id FROM organizations')
      assert.deepEqual([...found.keys()].toSorted(), all.map(({ id }) => id).toSorted())
      assert.equal(found.get(organizationId), undefined)

      // A deleted organization keeps its seals.
      const gone = newId()
      await app().query(
        `INSERT INTO activity_seals SELECT '${gone}', number, last_activity_id, digests, hash, sealed_at
         FROM activity_seals WHERE ${where}`,
      )
      let problem: string | undefined
      for await (const report of verifyChains(app().sql, app().app.vault)) {
        if (report.organizationId === gone) problem = report.problem
      }
      assert.equal(problem, `seal 1 of organization ${gone} was changed`)
      await app().query(`DELETE FROM activity_seals WHERE organization_id = '${gone}'`)
    })
  })

  it('later activities come after what is sealed, also when the clock is behind it', async () => {
    const { act, seal, problem, where, ids, copy } = await setUp()
    await act()
    const ahead = Date.now() + 3_600_000
    const sealedId = firstIdAt(ahead)
    await copy((await ids())[0]!, sealedId)
    assert.equal(await seal(), 2)
    await act(2)
    const [, , third, fourth] = await ids()
    assert.ok(sealedId < third! && third! < fourth!)
    assert.equal(timeOfId(third!), ahead + 1)
    const [row] = await app().query<{ created_at: string }>(
      `SELECT created_at FROM activities WHERE ${where} AND id = '${third}'`,
    )
    assert.equal(row!.created_at, new Date(ahead + 1).toISOString())
    assert.equal(await seal(), 2)
    assert.equal(await problem(), undefined)
  })

  describe('verification detects', () => {
    const columns: Record<string, string> = {
      id: `'${newId()}'`,
      type: "'member_added'",
      created_at: "'2020-01-01T00:00:00.000Z'",
      actor_type: "'user'",
      actor_id: `'${newId()}'`,
      address: "'203.0.113.9'",
      user_agent: "user_agent || ' '",
      request_id: `'${newId()}'`,
      target: `'{"type":"member","id":"somebody else"}'`,
      changes: "'[]'",
    }
    for (const [column, value] of Object.entries(columns)) {
      it(`an activity with another ${column}`, async () => {
        const { problem, where, sealedIds, activity } = await setUpChain()
        await app().query(`UPDATE activities SET ${column} = ${value} WHERE ${where} AND id = '${sealedIds[3]}'`)
        // A changed id is a missing activity and an added one; the order of the random ids decides which is found first.
        if (column !== 'id') assert.equal(await problem(), activity(3, 'was changed'))
        else assert.match((await problem())!, / is missing$| was added$/)
      })
    }

    it('changes to every column of the table', async () => {
      const { where } = await setUpChain()
      const [row] = await app().query<object>(`SELECT * FROM activities WHERE ${where} LIMIT 1`)
      assert.deepEqual(Object.keys(row!).toSorted(), [...Object.keys(columns), 'organization_id'].toSorted())
    })

    it('an activity that was moved to another organization, there and here', async () => {
      const { organizationId, problem, where, sealedIds, activity } = await setUpChain()
      const other = await setUpChain()
      await app().query(
        `UPDATE activities SET organization_id = '${other.organizationId}' WHERE ${where} AND id = '${sealedIds[0]}'`,
      )
      assert.equal(await problem(), activity(0, 'is missing'))
      assert.equal(await other.problem(), `activity ${sealedIds[0]} of organization ${other.organizationId} was added`)
      assert.notEqual(organizationId, other.organizationId)
    })

    for (const index of [0, 1, 2, 4, 5]) {
      it(`an activity that is missing (${index})`, async () => {
        const { problem, where, sealedIds, activity } = await setUpChain()
        await app().query(`DELETE FROM activities WHERE ${where} AND id = '${sealedIds[index]}'`)
        assert.equal(await problem(), activity(index, 'is missing'))
      })
    }

    it('the first of several that are missing', async () => {
      const { problem, where, sealedIds, activity } = await setUpChain()
      await app().query(`DELETE FROM activities WHERE ${where} AND id >= '${sealedIds[1]}'`)
      assert.equal(await problem(), activity(1, 'is missing'))
    })

    it('an activity that was added in the past', async () => {
      for (const index of [0, 1, 2, 5]) {
        const { organizationId, problem, sealedIds, copy } = await setUpChain()
        const id = `${sealedIds[index]!.slice(0, -17)}0000-000000000000`
        assert.ok(id < sealedIds[index]! && (index === 0 || id > sealedIds[index - 1]!))
        await copy(sealedIds[index]!, id)
        assert.equal(await problem(), `activity ${id} of organization ${organizationId} was added`)
      }
    })

    it('two activities that were swapped', async () => {
      const { problem, where, sealedIds, activity } = await setUpChain()
      const [one, other] = [sealedIds[2]!, sealedIds[3]!]
      const setId = (from: string, to: string) =>
        app().query(`UPDATE activities SET id = '${to}' WHERE ${where} AND id = '${from}'`)
      await setId(one, 'swapped')
      await setId(other, one)
      await setId('swapped', other)
      assert.equal(await problem(), activity(2, 'was changed'))
    })

    for (const [column, value] of Object.entries({
      last_activity_id: `'${firstIdAt(Date.UTC(2030, 0, 1))}'`,
      digests: "replace(digests, '7', '8')",
      hash: `'${'0'.repeat(64)}'`,
      sealed_at: "'2020-01-01T00:00:00.000Z'",
    })) {
      it(`a seal with another ${column}`, async () => {
        const { problem, where, aSeal } = await setUpChain()
        await app().query(`UPDATE activity_seals SET ${column} = ${value} WHERE ${where} AND number = 2`)
        assert.equal(await problem(), aSeal(2, 'was changed'))
      })
    }

    it('a seal that is missing: the first, one in the middle, the last', async () => {
      for (const number of [1, 2, 3]) {
        const { problem, where, aSeal } = await setUpChain()
        await app().query(`DELETE FROM activity_seals WHERE ${where} AND number = ${number}`)
        assert.equal(await problem(), aSeal(number, 'is missing'))
      }
    })

    it('a seal in place of a missing one', async () => {
      const { problem, where, aSeal } = await setUpChain()
      await app().query(`DELETE FROM activity_seals WHERE ${where} AND number = 2`)
      await app().query(`UPDATE activity_seals SET number = 2 WHERE ${where} AND number = 3`)
      assert.equal(await problem(), aSeal(2, 'was changed'))
    })

    it('a seal from another history of the same organization', async () => {
      const { act, seal, problem, where, ids, aSeal } = await setUp()
      const tables = ['activities', 'activity_seals']
      await act()
      await seal()
      const [first] = await ids()
      await act()
      await seal()
      // The seals as in a backup.
      for (const table of tables) {
        await app().query(`CREATE TABLE kept_${table} AS SELECT * FROM ${table} WHERE ${where}`)
      }
      await app().query(`DELETE FROM activity_seals WHERE ${where} AND number = 2`)
      await app().query(`DELETE FROM activities WHERE ${where} AND id > '${first}'`)
      await act()
      await seal()
      await act()
      await seal()
      assert.equal(await problem(), undefined)
      const [, second] = await ids()
      await app().query(`DELETE FROM activity_seals WHERE ${where} AND number = 2`)
      await app().query(`DELETE FROM activities WHERE ${where} AND id = '${second}'`)
      await app().query('INSERT INTO activity_seals SELECT * FROM kept_activity_seals WHERE number = 2')
      await app().query(`INSERT INTO activities SELECT * FROM kept_activities WHERE id > '${first}'`)
      for (const table of tables) await app().query(`DROP TABLE kept_${table}`)
      assert.equal(await problem(), aSeal(3, 'was changed'))
    })

    it('a seal that was made for another organization', async () => {
      const { problem, where, aSeal } = await setUpChain()
      const other = await setUpChain()
      await app().query(`DELETE FROM activity_seals WHERE ${where}`)
      await app().query(
        `UPDATE activity_seals SET organization_id = ${where.split(' = ')[1]} WHERE ${other.where} AND number = 1`,
      )
      assert.equal(await problem(), aSeal(1, 'was changed'))
    })

    it('all seals that are missing', async () => {
      const { problem, where, aSeal } = await setUpChain()
      await app().query(`DELETE FROM activity_seals WHERE ${where}`)
      assert.equal(await problem(), aSeal(1, 'is missing'))
    })

    it('a mark that was set back, which seals nothing again', async () => {
      const { organizationId, seal, problem, where, sealedIds, activity } = await setUpChain()
      await app().query(`UPDATE organizations SET sealed_up_to = '' WHERE id = '${organizationId}'`)
      assert.equal(await problem(), `the mark of the last seal of organization ${organizationId} was changed`)
      await app().query(`UPDATE activities SET address = '203.0.113.9' WHERE ${where} AND id = '${sealedIds[0]}'`)
      assert.equal(await seal(), 1)
      assert.equal(await problem(), activity(0, 'was changed'))
    })

    it('the organization that is missing', async () => {
      const id = newId()
      const { problem } = await verifyChain(app().sql, app().app.vault, id)
      assert.equal(problem, `organization ${id} is missing`)
    })
  })
})
