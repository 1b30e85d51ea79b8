// R11: an organization always has an admin. In every race all admins of an organization demote or delete each other concurrently,
// each by one request: in any order the last request must be refused and all others must succeed.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type App, openApp } from '../../src/app.ts'
import { Log } from '../../src/lib/log.ts'
import { drillSize } from '../harness/drill.ts'
import { basic, type Key, onBothDatabases, openTestApp, type TestApp } from '../harness/test-app.ts'

const races = drillSize(300)

interface Contest {
  organizationId: string
  key: Key
  admins: string[]
}

/** One organization per race, with 2 to 6 admins and a developer who must not be counted. */
async function makeContests(app: TestApp, count: number): Promise<Contest[]> {
  const contests: Contest[] = []
  await app.query('BEGIN')
  for (let race = 0; race < count; race++) {
    const { organizationId, admin, adminUserId } = await app.addOrganization()
    const admins = [adminUserId]
    while (admins.length < 2 + (race % 5)) admins.push(await app.addMember(organizationId, 'admin'))
    await app.addMember(organizationId, 'developer')
    contests.push({ organizationId, key: admin, admins })
  }
  await app.query('COMMIT')
  return contests
}

/** How a race removes an admin, by the index of the admin. */
type Removal = (index: number) => 'demote' | 'delete'

const demoting: Removal = () => 'demote'
const deleting: Removal = () => 'delete'
const mixing: Removal = (index) => (index % 2 === 0 ? 'delete' : 'demote')

async function runRace(apps: App[], { organizationId, key, admins }: Contest, removal: Removal): Promise<void> {
  const answers = await Promise.all(
    admins.map((userId, index) =>
      apps[index % apps.length]!.server.inject({
        url: `/v1/organizations/${organizationId}/members/${userId}`,
        headers: { authorization: basic(key), accept: 'application/problem+json' },
        ...(removal(index) === 'delete'
          ? { method: 'DELETE' as const }
          : { method: 'PATCH' as const, payload: { role: 'developer' } }),
      }),
    ),
  )
  const outcomes = answers.map((answer) => (answer.statusCode === 200 ? 'gone' : answer.json().code))
  assert.deepEqual(outcomes.sort(), [...admins.slice(1).map(() => 'gone'), 'last_admin'])
}

/** With several concurrent races, one commit contains changes of several organizations. */
async function runRaces(apps: App[], contests: Contest[], atOnce: number, removal: Removal): Promise<void> {
  const waiting = [...contests]
  const runner = async () => {
    for (let contest = waiting.pop(); contest; contest = waiting.pop()) await runRace(apps, contest, removal)
  }
  await Promise.all(Array.from({ length: atOnce }, runner))
}

/** Checks the database, not the answers. */
async function checkOrganizations(app: TestApp, contests: Contest[]): Promise<void> {
  const count = async (from: string) => {
    const text = `SELECT organization_id AS id, count(*) AS count FROM ${from} GROUP BY organization_id`
    return new Map((await app.query<{ id: string; count: number }>(text)).map((row) => [row.id, Number(row.count)]))
  }
  const admins = await count("members WHERE role = 'admin'")
  const goings = await count("activities WHERE type IN ('member_role_changed', 'member_removed')")
  const counted = await app.query<{ id: string; admin_count: number }>('SELECT id, admin_count FROM organizations')
  const counts = new Map(counted.map(({ id, admin_count }) => [id, admin_count]))
  for (const contest of contests) {
    assert.equal(admins.get(contest.organizationId), 1)
    assert.equal(counts.get(contest.organizationId), 1)
    assert.equal(goings.get(contest.organizationId), contest.admins.length - 1)
  }
}

onBothDatabases('R11 last admin', (app) => {
  it('R11 one admin is left after each of many races', async () => {
    const contests = await makeContests(app(), races)
    await runRaces([app().app], contests, 4, demoting)
    await checkOrganizations(app(), contests)
  })

  for (const [name, removal] of Object.entries({ deleting, mixing })) {
    it(`R11 one admin is left after each of some races, ${name}`, async () => {
      const contests = await makeContests(app(), Math.ceil(races / 3))
      await runRaces([app().app], contests, 4, removal)
      await checkOrganizations(app(), contests)
    })
  }
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

  it('R11 one admin is left after each of many races', async () => {
    const contests = await makeContests(first, races)
    await runRaces([first.app, second], contests, 6, demoting)
    await checkOrganizations(first, contests)
  })

  it('R11 one admin is left after each of some races, mixing', async () => {
    const contests = await makeContests(first, Math.ceil(races / 3))
    await runRaces([first.app, second], contests, 6, mixing)
    await checkOrganizations(first, contests)
  })
})
