// Servers that are too old, and standbys. Old servers are simulated by their answers.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { probe, probeFails } from '../../../test/sources/conformance.ts'
import { startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { mapping, type PostgresServer, sourceOf } from '../../../test/sources/postgres-world.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { Server, Slot } from './postgres-catalog.ts'
import type { PostgresSession } from './postgres-connection.ts'
import { checkReplication, checkVersion } from './postgres-replication.ts'

describe('an older server', () => {
  const server: Server = {
    version: 150_004,
    walLevel: 'logical',
    maxSlots: 10,
    usedSlots: 0,
    maxSenders: 10,
    usedSenders: 0,
    isStandby: false,
    isSuperuser: false,
    mayReplicate: true,
    mayCreateInDatabase: true,
  }
  const session: PostgresSession = {
    query: () => assert.fail('the answers are given'),
    queryTexts: () => assert.fail('the answers are given'),
    close: async () => undefined,
  }
  const check = (facts: Partial<Server>, settings: Partial<PostgresSource['settings']> = {}): Promise<void> =>
    checkReplication(session, { ...server, ...facts }, { settings } as PostgresSource)

  it('is read from version 12 on', () => {
    checkVersion({ ...server, version: 120_000 })
    assert.throws(() => checkVersion({ ...server, version: 110_022 }), {
      step: 'describe',
      code: 'not_set_up',
      reason: 'the server is PostgreSQL 11, and Penstock reads 12 and newer',
    })
  })

  it('has failover slots since version 17', async () => {
    await check({})
    await check({ version: 170_000 }, { enableFailoverSlots: true })
    const expected = { code: 'not_set_up', field: 'settings.enableFailoverSlots' }
    await assert.rejects(check({ version: 160_009 }, { enableFailoverSlots: true }), expected)
  })

  it('has a slot that cannot be read from', async () => {
    const slot: Slot = { isLogical: true, plugin: 'pgoutput', isOfThisDatabase: true, isActive: false, isLost: false }
    const follow = (change: Partial<Slot>): Promise<void> => {
      const query = async <Row>() => [{ ...slot, ...change } as Row]
      const settings = { replicationMode: 'cdc_only', replicationSlotName: 'given' }
      return checkReplication({ ...session, query }, server, { settings, database: 'shop' } as PostgresSource)
    }
    await follow({})
    const expected = { code: 'not_set_up', field: 'settings.replicationSlotName' }
    await assert.rejects(follow({ plugin: 'wal2json' }), { ...expected, reason: /not for pgoutput/ })
    await assert.rejects(follow({ isLost: true }), { ...expected, reason: /has lost changes/ })
  })

  it('can be followed as a standby since version 16', async () => {
    const publicationName = 'orders'
    await check({ version: 160_000, isStandby: true }, { publicationName })
    const expected = { code: 'not_set_up', field: 'host' }
    await assert.rejects(check({ version: 150_009, isStandby: true }, { publicationName }), expected)
  })
})

describe('a standby', () => {
  it('can be followed where a publication exists, but has no failover slots', async () => {
    const server = await startEmbedded()
    try {
      await server.query(`
        CREATE TABLE public.kept (id int PRIMARY KEY);
        INSERT INTO public.kept VALUES (1);
        CREATE PUBLICATION kept FOR TABLE public.kept`)
      await writeFile(join(server.dataDirectory, 'standby.signal'), '')
      await server.restart()
      await assertStandby(server)
    } finally {
      await server.stop()
    }
  })

  async function assertStandby(server: PostgresServer): Promise<void> {
    const { superuser } = server
    const tableMappings = [mapping('kept', { sourceSchemaName: 'public' })]
    const change = { database: 'postgres', credentials: superuser, tableMappings }
    const publicationName = 'kept'
    const { samples } = await probe(sourceOf(server, { ...change, settings: { publicationName } }))
    assert.deepEqual(samples[0]!.rows, [{ id: 1 }])
    const expected = { step: 'describe', code: 'not_set_up' } as const
    for (const [settings, field] of [
      [{}, 'settings.publicationName'],
      [{ publicationName, enableFailoverSlots: true }, 'settings.enableFailoverSlots'],
    ] as const) {
      const source = sourceOf(server, { ...change, settings })
      await probeFails(source, { ...expected, field }, { secrets: [superuser.password] })
    }
  }
})
