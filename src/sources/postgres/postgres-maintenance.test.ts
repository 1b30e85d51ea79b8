import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loopbackEgress, strictEgress } from '../../../test/sources/conformance.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { linkTo } from '../../../test/sources/postgres-links.ts'
import {
  findRetained,
  MaintenanceFailure,
  type MaintenanceTarget,
  removalStatements,
  removeOwnObjects,
} from './postgres-maintenance.ts'

describe('maintenance connections to PostgreSQL', () => {
  let server: EmbeddedPostgres
  const connectOptions = { egress: loopbackEgress, signal: new AbortController().signal }
  const own = { slot: 'penstock_gone', publication: 'penstock_gone' }

  before(async () => {
    server = await startEmbedded()
    await server.query('CREATE TABLE public.orders (id int PRIMARY KEY)')
  })
  after(() => server.stop())

  function target(login: { username?: string; password?: string } = {}, port = server.port): MaintenanceTarget {
    const { host, ca, superuser } = server
    return {
      source: { host, port, database: 'postgres' },
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
    assert.ok(error instanceof MaintenanceFailure, String(error))
    return error.reason
  }

  it('remove what is named, nothing else, and do nothing when nothing is there', async () => {
    await makeThings('penstock_gone')
    await makeThings('penstock_other')
    await removeOwnObjects(target(), connectOptions, own)
    assert.deepEqual(await names(), ['publication penstock_other', 'slot penstock_other'])
    await removeOwnObjects(target(), connectOptions, own)
    await removeOwnObjects(target(), connectOptions, { slot: 'penstock_other' })
    assert.deepEqual(await names(), ['publication penstock_other'])
    await removeOwnObjects(target(), connectOptions, { publication: 'penstock_other' })
    assert.deepEqual(await names(), [])
  })

  it('leave an active slot and its publication', async () => {
    await makeThings('penstock_gone')
    const link = await linkTo(server, { isReplication: true })
    try {
      await link.startReplication({ slot: 'penstock_gone', publication: 'penstock_gone', from: 0n })
      assert.equal(await reasonOf(removeOwnObjects(target(), connectOptions, own)), 'the replication slot is in use')
      assert.deepEqual(await names(), ['publication penstock_gone', 'slot penstock_gone'])
    } finally {
      await link.close()
    }
    for (;;) {
      const done = await removeOwnObjects(target(), connectOptions, own).then(
        () => true,
        () => false,
      )
      if (done) break
    }
    assert.deepEqual(await names(), [])
  })

  it('fail with a reason of our own', async () => {
    await server.query("CREATE ROLE powerless LOGIN PASSWORD 'hush hush'")
    await makeThings('penstock_gone')
    const powerless = target({ username: 'powerless', password: 'hush hush' })
    const reasons = [
      await reasonOf(removeOwnObjects(powerless, connectOptions, own)),
      await reasonOf(removeOwnObjects(target({ password: 'hush hush' }), connectOptions, own)),
      await reasonOf(removeOwnObjects(target({}, 1), connectOptions, own)),
      await reasonOf(removeOwnObjects(target(), { ...connectOptions, egress: strictEgress }, own)),
      await reasonOf(removeOwnObjects(target(), { ...connectOptions, signal: AbortSignal.abort() }, own)),
    ]
    const address = `127.0.0.1:${server.port}`
    assert.deepEqual(reasons, [
      'the user may not do that',
      `${address} refuses the user name or the password`,
      '127.0.0.1:1 cannot be reached, or broke the connection off',
      `${address} is on the machine of Penstock itself`,
      `${address} cannot be reached, or broke the connection off`,
    ])
    assert.deepEqual(await names(), ['publication penstock_gone', 'slot penstock_gone'])
    await removeOwnObjects(target(), connectOptions, own)
  })

  it('report the WAL retained by a slot, and 0 for a missing slot', async () => {
    await makeThings('penstock_gone')
    const before = await findRetained(target(), connectOptions, 'penstock_gone')
    await server.query('INSERT INTO public.orders SELECT generate_series(1, 50000)')
    const { retainedBytes, safeBytes } = await findRetained(target(), connectOptions, 'penstock_gone')
    assert.ok(retainedBytes > before.retainedBytes + 50_000 * 30, `${before.retainedBytes} → ${retainedBytes}`)
    assert.equal(safeBytes, undefined)
    await server.query("ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
    await server.query('SELECT pg_reload_conf()')
    while ((await findRetained(target(), connectOptions, 'penstock_gone')).safeBytes === undefined) {}
    await removeOwnObjects(target(), connectOptions, own)
    const gone = await findRetained(target(), connectOptions, 'penstock_gone')
    assert.deepEqual(gone, { retainedBytes: 0, safeBytes: undefined })
  })

  it('have the same statements for users', async () => {
    await makeThings('penstock_gone')
    const statements = removalStatements(own)
    await server.query(statements)
    assert.deepEqual(await names(), [])
    assert.equal(removalStatements({ publication: 'p"q' }), 'DROP PUBLICATION IF EXISTS "p""q"')
  })
})
