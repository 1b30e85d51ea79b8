import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loopbackEgress, strictEgress } from '../../../test/sources/conformance.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { linkTo } from '../../../test/sources/postgres-links.ts'
import { findRetained, removalStatements, removeOwn, type Visited, VisitFailure } from './postgres-visit.ts'

describe('visits to PostgreSQL', () => {
  let server: EmbeddedPostgres
  const surroundings = { egress: loopbackEgress, signal: new AbortController().signal }
  const own = { slot: 'penstock_gone', publication: 'penstock_gone' }

  before(async () => {
    server = await startEmbedded()
    await server.query('CREATE TABLE public.orders (id int PRIMARY KEY)')
  })
  after(() => server.stop())

  function visited(login: { username?: string; password?: string } = {}, port = server.port): Visited {
    const { host, ca, superuser } = server
    return {
      place: { host, port, database: 'postgres' },
      secrets: { credentials: { ...superuser, ...login } },
      context: { organizationId: 'o', caCertificates: ca, allowPlaintext: false, awsEndpoints: {} },
    }
  }

  async function makeThings(name: string): Promise<void> {
    await server.query(`SELECT pg_create_logical_replication_slot('${name}', 'pgoutput')`)
    await server.query(`CREATE PUBLICATION ${name} FOR TABLE public.orders`)
  }

  async function names(): Promise<string[]> {
    const rows = await server.query(
      `SELECT 'slot ' || slot_name AS name FROM pg_replication_slots
       UNION ALL SELECT 'publication ' || pubname FROM pg_publication ORDER BY 1`,
    )
    return rows.map(({ name }) => String(name))
  }

  async function reasonOf(work: Promise<unknown>): Promise<string> {
    const error = await work.then(
      () => assert.fail('it should have been in vain'),
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof VisitFailure, String(error))
    return error.reason
  }

  it('remove what is named, nothing else, and do nothing when nothing is there', async () => {
    await makeThings('penstock_gone')
    await makeThings('penstock_other')
    await removeOwn(visited(), surroundings, own)
    assert.deepEqual(await names(), ['publication penstock_other', 'slot penstock_other'])
    await removeOwn(visited(), surroundings, own)
    await removeOwn(visited(), surroundings, { slot: 'penstock_other' })
    assert.deepEqual(await names(), ['publication penstock_other'])
    await removeOwn(visited(), surroundings, { publication: 'penstock_other' })
    assert.deepEqual(await names(), [])
  })

  it('leave a slot alone that somebody reads, and its publication with it', async () => {
    await makeThings('penstock_gone')
    const link = await linkTo(server, { isReplication: true })
    try {
      await link.startReplication({ slot: 'penstock_gone', publication: 'penstock_gone', from: 0n })
      assert.equal(await reasonOf(removeOwn(visited(), surroundings, own)), 'the replication slot is in use')
      assert.deepEqual(await names(), ['publication penstock_gone', 'slot penstock_gone'])
    } finally {
      await link.close()
    }
    for (;;) {
      const done = await removeOwn(visited(), surroundings, own).then(
        () => true,
        () => false,
      )
      if (done) break
    }
    assert.deepEqual(await names(), [])
  })

  it('say in our own words why they are in vain', async () => {
    await server.query("CREATE ROLE powerless LOGIN PASSWORD 'hush hush'")
    await makeThings('penstock_gone')
    const powerless = visited({ username: 'powerless', password: 'hush hush' })
    const reasons = [
      await reasonOf(removeOwn(powerless, surroundings, own)),
      await reasonOf(removeOwn(visited({ password: 'hush hush' }), surroundings, own)),
      await reasonOf(removeOwn(visited({}, 1), surroundings, own)),
      await reasonOf(removeOwn(visited(), { ...surroundings, egress: strictEgress }, own)),
      await reasonOf(removeOwn(visited(), { ...surroundings, signal: AbortSignal.abort() }, own)),
    ]
    const place = `127.0.0.1:${server.port}`
    assert.deepEqual(reasons, [
      'the user may not do that',
      `${place} refuses the user name or the password`,
      '127.0.0.1:1 cannot be reached, or broke the connection off',
      `${place} is on the machine of Penstock itself`,
      `${place} cannot be reached, or broke the connection off`,
    ])
    assert.deepEqual(await names(), ['publication penstock_gone', 'slot penstock_gone'])
    await removeOwn(visited(), surroundings, own)
  })

  it('find how much log a slot keeps, and none of a slot that is not there', async () => {
    await makeThings('penstock_gone')
    const before = await findRetained(visited(), surroundings, 'penstock_gone')
    await server.query('INSERT INTO public.orders SELECT generate_series(1, 50000)')
    const { retainedBytes, safeBytes } = await findRetained(visited(), surroundings, 'penstock_gone')
    assert.ok(retainedBytes > before.retainedBytes + 50_000 * 30, `${before.retainedBytes} → ${retainedBytes}`)
    assert.equal(safeBytes, undefined)
    await server.query("ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
    await server.query('SELECT pg_reload_conf()')
    while ((await findRetained(visited(), surroundings, 'penstock_gone')).safeBytes === undefined) {}
    await removeOwn(visited(), surroundings, own)
    const gone = await findRetained(visited(), surroundings, 'penstock_gone')
    assert.deepEqual(gone, { retainedBytes: 0, safeBytes: undefined })
  })

  it('have statements for those who do it by hand', async () => {
    await makeThings('penstock_gone')
    const statements = removalStatements(own)
    await server.query(statements)
    assert.deepEqual(await names(), [])
    assert.equal(removalStatements({ publication: 'p"q' }), 'DROP PUBLICATION IF EXISTS "p""q"')
  })
})
