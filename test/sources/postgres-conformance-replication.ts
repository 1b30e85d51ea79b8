// PostgreSQL conformance suite, part 2: servers that are not configured for logical replication.
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { probe } from './conformance.ts'
import type { PostgresSuite } from './postgres-suite.ts'
import { mapping, type PostgresServer, probed, type SourceChange, sourceOf } from './postgres-world.ts'

async function withReplicationClient(
  { host, port, superuser }: PostgresServer,
  database: string,
  use: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const { username: user, password } = superuser
  const client = new pg.Client({
    ...{ host, port, user, password, database },
    ...({ replication: 'database' } as object),
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}

export function replicationTests(suite: PostgresSuite): void {
  const slot = (replicationSlotName: string): SourceChange => ({
    settings: { replicationMode: 'cdc_only', replicationSlotName },
  })
  const slotField = 'settings.replicationSlotName'
  const publication = (publicationName: string, ...more: string[]): SourceChange => ({
    settings: { publicationName },
    tableMappings: [mapping('orders'), ...more.map((name) => mapping(name))],
  })
  const publicationField = 'settings.publicationName'

  it('reports a user without the REPLICATION attribute', async () => {
    const change = { role: 'reader' } as const
    await suite.fails(change, 'describe', 'permission_missing', 'credentials', /ALTER ROLE … REPLICATION/)
  })

  it('accepts the replication role of cloud providers', async () => {
    await suite.server.query('CREATE ROLE rds_replication; GRANT rds_replication TO hushed_reader')
    try {
      await probe(sourceOf(suite.server, { role: 'reader', settings: { publicationName: 'probe_everything' } }))
    } finally {
      await suite.server.query('DROP ROLE rds_replication')
    }
  })

  it('reports a missing or unsuitable replication slot', async () => {
    await suite.fails(slot('absent'), 'describe', 'not_found', slotField, /'absent', 'pgoutput'/)
    await suite.fails(slot('probe_physical'), 'describe', 'not_set_up', slotField, /physical/)
    await suite.fails(slot('probe_elsewhere'), 'describe', 'not_set_up', slotField, /another database/)
  })

  it('reports a replication slot in use', async () => {
    await withReplicationClient(suite.server, probed, async (client) => {
      const options = `(proto_version '1', publication_names 'probe_everything')`
      client.query(`START_REPLICATION SLOT probe_good LOGICAL 0/0 ${options}`).catch(() => undefined)
      const isActive = `SELECT 1 FROM pg_replication_slots WHERE slot_name = 'probe_good' AND active`
      while ((await suite.server.query(isActive)).length === 0) await sleep(10)
      await suite.fails(slot('probe_good'), 'describe', 'not_set_up', slotField, /in use/)
    })
  })

  it('reports max_replication_slots only when a slot must be created', async () => {
    await suite.server.query(`
      SELECT pg_create_physical_replication_slot('probe_fill_' || number) FROM generate_series(1,
        current_setting('max_replication_slots')::int - (SELECT count(*)::int FROM pg_replication_slots)) number`)
    try {
      await suite.fails({}, 'describe', 'not_set_up', undefined, /max_replication_slots/)
      await probe(sourceOf(suite.server, slot('probe_good')))
    } finally {
      await suite.server.query(`
        SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE 'probe_fill_%'`)
    }
  })

  it('reports max_wal_senders', async () => {
    const [{ most }] = (await suite.server.query(`SELECT current_setting('max_wal_senders')::int AS most`)) as [
      { most: number },
    ]
    const occupy = (left: number): Promise<void> =>
      withReplicationClient(suite.server, probed, async () => {
        if (left > 1) await occupy(left - 1)
        else await suite.fails({}, 'describe', 'not_set_up', undefined, /max_wal_senders/)
      })
    // Earlier senders may still be closing.
    const senders = `SELECT FROM pg_stat_activity WHERE backend_type = 'walsender'`
    for (let waits = 0; waits < 500 && (await suite.server.query(senders)).length > 0; waits++) await sleep(20)
    await sleep(50)
    await occupy(most)
  })

  it('accepts failover slots since version 17', async () => {
    const change = { settings: { enableFailoverSlots: true } }
    if (suite.server.version >= 17) await probe(sourceOf(suite.server, change))
    else await suite.fails(change, 'describe', 'not_set_up', 'settings.enableFailoverSlots', /17/)
  })

  it('reports a publication that is missing or leaves out operations', async () => {
    await suite.fails(publication('absent'), 'describe', 'not_found', publicationField, /no publication absent/)
    const words = /leaves out updates, deletes, truncates; .*ALTER PUBLICATION "probe_inserts" SET \(publish/
    await suite.fails(publication('probe_inserts'), 'describe', 'not_set_up', publicationField, words)
  })

  it('reports a publication that leaves out tables or columns', async () => {
    const tables = /not publish shop\.numbers, shop\.computed; .*ADD TABLE "shop"\."numbers", "shop"\."computed"/
    const change = publication('probe_orders', 'numbers', 'computed')
    await suite.fails(change, 'describe', 'not_set_up', publicationField, tables)
    const days = { ...publication('probe_days'), tableMappings: [mapping('days')] }
    const root = /SET \(publish_via_partition_root = true\)/
    await suite.fails(days, 'describe', 'not_set_up', publicationField, root)
    if (suite.server.version < 15) return
    const columns = /shop\.orders\.note, shop\.orders\."odd \\"name"/
    await suite.fails(publication('probe_columns'), 'describe', 'not_set_up', publicationField, columns)
    const excludedColumns = ['note', 'odd "name']
    const narrow = { ...publication('probe_columns'), tableMappings: [mapping('orders', { excludedColumns })] }
    await probe(sourceOf(suite.server, narrow))
  })

  it('reports a user who may not create a publication', async () => {
    const change = { role: 'replicator', ...publication('x', 'days'), settings: {} } as const
    const words =
      /CREATE in the database "Probed database" and the ownership of shop\.orders, shop\.days; .*CREATE PUBLICATION penstock FOR TABLE "shop"\."orders", "shop"\."days" WITH/
    await suite.fails(change, 'describe', 'permission_missing', publicationField, words)
  })
}
