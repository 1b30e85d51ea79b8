// R11: an organization never has no admin. In every race all admins of an organization demote each other at once, each
// member being demoted by one request: whatever the order, the last one must be refused and all others must succeed.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type App, openApp } from '../src/app.ts'
import { Log } from '../src/lib/log.ts'
import { basic, type Key, onBothDatabases, openTestApp, type TestApp } from './harness.ts'

interface Contest {
  organizationId: string
  key: Key
  admins: string[]
}

/** An organization for every race, with 2 to 6 admins and a developer who must not be counted. */
async function makeContests(app: TestApp, races: number): Promise<Contest[]> {
  const contests: Contest[] = []
  await app.query('BEGIN')
  for (let race = 0; race < races; race++) {
    const { organizationId, admin, adminUserId } = await app.addOrganization()
    const admins = [adminUserId]
    while (admins.length < 2 + (race % 5)) admins.push(await app.addMember(organizationId, 'admin'))
    await app.addMember(organizationId, 'developer')
    contests.push({ organizationId, key: admin, admins })
  }
  await app.query('COMMIT')
  return contests
}

async function runRace(apps: App[], { organizationId, key, admins }: Contest): Promise<void> {
  const answers = await Promise.all(
    admins.map((userId, index) =>
      apps[index % apps.length]!.server.inject({
        method: 'PATCH',
        url: `/v1/organizations/${organizationId}/members/${userId}`,
        headers: { authorization: basic(key), accept: 'application/problem+json' },
        payload: { role: 'developer' },
      }),
    ),
  )
  const outcomes = answers.map((answer) => (answer.statusCode === 200 ? 'demoted' : answer.json().code))
  assert.deepEqual(outcomes.sort(), [...admins.slice(1).map(() => 'demoted'), 'last_admin'])
}

/** With several races at a time, one commit holds demotions of several organizations. */
async function runRaces(apps: App[], contests: Contest[], atOnce: number): Promise<void> {
  const waiting = [...contests]
  const runner = async () => {
    for (let contest = waiting.pop(); contest; contest = waiting.pop()) await runRace(apps, contest)
  }
  await Promise.all(Array.from({ length: atOnce }, runner))
}

/** What the database says, not what was answered. */
async function checkOrganizations(app: TestApp, contests: Contest[]): Promise<void> {
  const count = async (from: string) => {
    const text = `SELECT organization_id AS id, count(*) AS count FROM ${from} GROUP BY organization_id`
    return new Map((await app.query<{ id: string; count: number }>(text)).map((row) => [row.id, Number(row.count)]))
  }
  const admins = await count("members WHERE role = 'admin'")
  const demotions = await count("activities WHERE type = 'member_role_changed'")
  for (const contest of contests) {
    assert.equal(admins.get(contest.organizationId), 1)
    assert.equal(demotions.get(contest.organizationId), contest.admins.length - 1)
  }
}

onBothDatabases('R11 last admin', (app) => {
  it('R11 one admin is left after each of 300 races', async () => {
    const contests = await makeContests(app(), 300)
    await runRaces([app().app], contests, 4)
    await checkOrganizations(app(), contests)
  })
})

describe('R11 last admin with two Penstocks on one PostgreSQL', () => {
  let first: TestApp
  let second: App
  before(async () => {
    first = await openTestApp('postgres')
    second = await openApp(first.config, { log: new Log('silent'), mayCreateKeys: false, onFatal: () => undefined })
  })
  after(async () => {
    await second?.close()
    await first?.close()
  })

  it('R11 one admin is left after each of 300 races', async () => {
    const contests = await makeContests(first, 300)
    await runRaces([first.app, second], contests, 6)
    await checkOrganizations(first, contests)
  })
})
