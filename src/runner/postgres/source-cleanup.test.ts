// Cleanup at a real PostgreSQL by a complete Penstock while none of its pipes runs.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '../../../test/fakes/fake-workers.ts'
import { leastPipes, type ServiceOfPipes, serviceOfPipes, withField } from '../../../test/harness/pipes.ts'
import { openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { replicationName } from './names.ts'
import { remedyFor } from './source-cleanup.ts'

describe('the source of a postgres pipe that does not run', () => {
  let source: EmbeddedPostgres
  let app: TestApp
  let service: ServiceOfPipes
  before(async () => {
    source = await startEmbedded()
    app = await openTestApp('sqlite', { role: 'all', caCertificates: source.ca, allowPlaintext: false })
    service = await serviceOfPipes(app)
  })
  after(async () => {
    await app?.close()
    await source?.stop()
  })

  /** A pipe that has run before, with its slot and publication. */
  async function makePausedPipe(): Promise<string> {
    const { host, port, superuser: credentials } = source
    const address = { host, port, database: 'postgres', credentials }
    const { tableMappings } = (leastPipes.postgres.source as { postgres: { tableMappings: object[] } }).postgres
    const body = withField(leastPipes.postgres, 'source.postgres', { ...address, tableMappings })
    const { id } = await service.create({ ...body, startPaused: true })
    await app.query(`UPDATE pipes SET epoch = 1 WHERE id = '${id}'`)
    await source.query(`SELECT pg_create_logical_replication_slot('${replicationName(id)}', 'pgoutput')`)
    await source.query(`CREATE PUBLICATION ${replicationName(id)}`)
    return id
  }

  const retainedBytes = async (id: string) =>
    (await service.send('GET', `/${id}/metrics`)).body.result.retainedBytes as number | null

  it('is asked for its retained WAL, and is cleaned up after a pipe is deleted', async () => {
    const [deleted, kept] = [await makePausedPipe(), await makePausedPipe()]
    await source.query('CREATE TABLE filler AS SELECT generate_series(1, 20000) AS n')
    assert.equal(await retainedBytes(kept), null)
    await app.app.listen()
    const bytes = await until(() => retainedBytes(kept), 'it is asked')
    assert.ok(bytes > 20_000 * 30, String(bytes))
    assert.equal((await service.send('DELETE', `/${deleted}`)).status, 200)
    await until(async () => (await app.query('SELECT * FROM source_leftovers')).length === 0, 'nothing waits')
    const left = await source.query(
      'SELECT slot_name AS name FROM pg_replication_slots UNION ALL SELECT pubname FROM pg_publication',
    )
    assert.deepEqual(
      left.map(({ name }) => name),
      [replicationName(kept), replicationName(kept)],
    )
    const removed = 'what a deleted pipe had left at its source was removed'
    const reports = () => app.logged.filter((line) => line.includes(removed))
    await until(() => reports().length > 0, 'it is reported')
    assert.equal(reports().length, 1)
    assert.ok(!app.logged.some((line) => line.includes(source.superuser.password)))
  })

  it('is named with the statements to run by hand', () => {
    const address = { host: 'db.northwind.example', port: 5432, database: 'shop' }
    const source = { kind: 'postgres' as const, ...address, hasSlot: false, hasPublication: true }
    const pipeId = '0b51a1a5-1c1e-4a4e-8f7e-000000000001'
    const leftover = { pipeId, organizationId: 'o', sealedSecrets: null, source, since: '', nextTryAt: '', tries: 1 }
    const remedy = remedyFor(leftover)
    assert.match(remedy, /^run in the database "shop" at db\.northwind\.example:5432: DROP PUBLICATION/)
    assert.ok(remedy.includes(replicationName(pipeId)))
  })
})
