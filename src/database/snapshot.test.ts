import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { dataLocation } from '../installation/stored-data.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

onBothDatabases('a snapshot', (app) => {
  async function namesIn(snapshot: Snapshot): Promise<string[]> {
    const { columns, portions } = await snapshot.read('organizations')
    const names: string[] = []
    for await (const rows of portions) names.push(...rows.map((row) => String(row[columns.indexOf('name')])))
    return names.sort()
  }

  it('does not change while other processes write', async () => {
    const snapshot = await openSnapshot(dataLocation(app().config))
    try {
      const before = await namesIn(snapshot)
      await app().addOrganization()
      const { organizationId } = app().sample
      const path = `/v1/organizations/${organizationId}`
      assert.equal((await app().request('PATCH', path, { body: { name: 'Changed' } })).status, 200)
      assert.deepEqual(await namesIn(snapshot), before)
    } finally {
      await snapshot.close()
    }
    const later = await openSnapshot(dataLocation(app().config))
    try {
      assert.deepEqual(await namesIn(later), ['Another', 'Changed'])
    } finally {
      await later.close()
    }
  })

  it('returns all rows of a table in batches', async () => {
    const { organizationId } = app().sample
    for (let start = 0; start < 1_203; start += 401) {
      const rows = Array.from({ length: 401 }, (_, at) => `('${organizationId}', 'e${start + at}', 'd', 't')`)
      await app().query(
        `INSERT INTO private_endpoints (organization_id, id, description, created_at) VALUES ${rows.join(', ')}`,
      )
    }
    const snapshot = await openSnapshot(dataLocation(app().config))
    try {
      const ids = new Set<unknown>()
      const sizes: number[] = []
      const { columns, portions } = await snapshot.read('private_endpoints')
      for await (const rows of portions) {
        sizes.push(rows.length)
        for (const row of rows) ids.add(row[columns.indexOf('id')])
      }
      assert.equal(ids.size, 1_203)
      assert.deepEqual(sizes, [500, 500, 203])
    } finally {
      await snapshot.close()
    }
  })
})
