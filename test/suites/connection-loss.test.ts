// Terminates PostgreSQL connections repeatedly during writes. A change and its activity are one transaction: both exist or
// neither, acknowledged changes exist, and Penstock recovers.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTestApp, type TestApp } from '../harness/test-app.ts'

const writers = 8
const losses = 15

describe('lost PostgreSQL connections', () => {
  let app: TestApp
  before(async () => {
    app = await openTestApp('postgres')
  })
  after(() => app.close())

  it('leave no partial write and lose no acknowledged write', async () => {
    const { organizationId } = app.sample
    const members: string[] = []
    while (members.length < writers) members.push(await app.addMember(organizationId, 'developer'))
    const acknowledged = new Map(members.map((id) => [id, 0]))
    const statuses = new Map<number, number>()
    let stopped = false
    const writing = members.map(async (id) => {
      let role = 'developer'
      while (!stopped) {
        const newRole = role === 'admin' ? 'developer' : 'admin'
        const { status, body } = await app.request('PATCH', `/v1/organizations/${organizationId}/members/${id}`, {
          body: { role: newRole },
        })
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 200) {
          acknowledged.set(id, acknowledged.get(id)! + 1)
          role = body.result.role
        } else await sleep(20)
      }
    })
    for (let loss = 0; loss < losses; loss++) {
      await sleep(100)
      await app.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock' AND datname = current_database()",
      )
    }
    await sleep(1_500)
    // A busy machine gets time; a server that does not recover completes no write in a minute.
    const enough = losses * writers
    for (let tries = 0; (statuses.get(200) ?? 0) <= enough && tries < 600; tries++) await sleep(100)
    stopped = true
    await Promise.all(writing)

    // A connection lost before the commit only delays the write; one lost during the commit gives 503.
    for (const status of statuses.keys())
      assert.ok(status === 200 || status === 503, `a request was answered ${status}`)
    assert.ok(statuses.get(200)! > enough, `only ${statuses.get(200)} writes got through`)
    const rows = await app.query<{ user_id: string; version: number; recorded: number }>(
      `SELECT members.user_id, members.version, (SELECT count(*)::int FROM activities
         WHERE activities.target LIKE '%' || members.user_id || '%') AS recorded FROM members`,
    )
    for (const id of members) {
      const { version, recorded } = rows.find((row) => row.user_id === id)!
      assert.equal(
        recorded,
        version - 1,
        `member ${id} was changed ${version - 1} times and has ${recorded} activities`,
      )
      assert.ok(version - 1 >= acknowledged.get(id)!, `member ${id}: acknowledged changes are missing`)
    }
    assert.equal((await app.request('GET', '/ready')).status, 200)
  })
})
