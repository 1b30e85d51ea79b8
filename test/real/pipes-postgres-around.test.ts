// Operations around postgres pipes, with a complete Penstock between a real PostgreSQL and both engines: rejected rows and their
// replay, paused pipes, and cleanup at the source of a deleted pipe.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServiceOfPipes, serviceOfPipes } from '../harness/pipes.ts'
import { openTestApp, type TestApp } from '../harness/test-app.ts'
import type { PostgresServer } from '../sources/postgres-conformance.ts'
import { startModernEngine } from './servers/chdb.ts'
import { startClickHouse } from './servers/clickhouse.ts'
import type { EngineServer } from './servers/engine.ts'
import { startDebianPostgres } from './servers/postgres.ts'

const timeout = 480_000

/** A long timeout: real servers on a possibly busy machine. */
async function until<Value>(look: () => Promise<Value>, what: () => string): Promise<NonNullable<Value>> {
  const deadlineMs = Date.now() + 120_000
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > deadlineMs) assert.fail(`in vain: ${what()}`)
    await sleep(50)
  }
}

for (const { name, startEngine } of [
  { name: 'old', startEngine: startClickHouse },
  { name: 'modern', startEngine: startModernEngine },
]) {
  describe(`around a postgres pipe, ${name} engine`, () => {
    let source: PostgresServer
    let engine: EngineServer
    let app: TestApp
    let service: ServiceOfPipes
    before(async () => {
      source = await startDebianPostgres()
      engine = await startEngine()
      app = await openTestApp('sqlite', { role: 'all', caCertificates: source.ca })
      await app.app.listen()
      service = await serviceOfPipes(app)
      const { organizationId, serviceId, admin: key } = service
      const body = { endpoint: { url: engine.url, ...engine.user } }
      const path = `/v1/organizations/${organizationId}/services/${serviceId}`
      assert.equal((await app.request('PATCH', path, { key, body })).status, 200)
    })
    after(async () => {
      await app?.close()
      await engine?.stop()
      await source?.stop()
    })

    interface Metrics {
      state: string
      stateReason: string | null
      rowsRefused: number
      rowsWritten: number
      retainedBytes: number | null
      replayRequestedAt: string | null
    }

    async function makePipe(database: string, tables: string[], settings: object = {}) {
      await engine.query(`CREATE DATABASE ${database}`)
      const { id } = await service.create({
        name: database,
        source: {
          postgres: {
            host: source.host,
            port: source.port,
            database: 'postgres',
            credentials: source.superuser,
            settings: { syncIntervalSeconds: 1, ...settings },
            tableMappings: tables.map((table) => ({
              sourceSchemaName: 'public',
              sourceTable: table,
              targetTable: table,
            })),
          },
        },
        destination: { database },
      })
      const metrics = async (): Promise<Metrics> => (await service.send('GET', `/${id}/metrics`)).body.result
      let seen: Metrics | undefined
      const is = async (what: (metrics: Metrics) => boolean) => {
        await until(
          async () => {
            seen = await metrics()
            return what(seen)
          },
          () => JSON.stringify(seen),
        )
      }
      const command = async (word: string) => {
        const answer = await service.send('PATCH', `/${id}/state`, { command: word })
        assert.equal(answer.status, 200, answer.text)
      }
      const signInWith = async (credentials: object) => {
        const answer = await service.send('PATCH', `/${id}`, { source: { postgres: { credentials } } })
        assert.equal(answer.status, 200, answer.text)
      }
      const rows = async (table: string) =>
        (await engine.query(`SELECT id FROM ${database}.${table} FINAL WHERE _penstock_deleted = 0 ORDER BY id`))
          .trim()
          .split('\n')
          .filter((line) => line !== '')
          .map(Number)
      const hasRows = (table: string, ids: number[]) =>
        until(
          async () => (await rows(table).catch(() => undefined))?.join() === ids.join(),
          () => `${table} has ${ids.join()}; ${JSON.stringify(seen)}`,
        )
      return { id, metrics, is, command, signInWith, rows, hasRows }
    }

    const slotsOf = async (id: string) => {
      const name = `penstock_${id.replaceAll('-', '_')}`
      const found = await source.query(
        `SELECT 'slot' AS kind FROM pg_replication_slots WHERE slot_name = '${name}'
         UNION ALL SELECT 'publication' FROM pg_publication WHERE pubname = '${name}' ORDER BY kind`,
      )
      return found.map(({ kind }) => kind)
    }

    it('paused and failed pipes resume at their position, without a load', { timeout }, async () => {
      await source.query(`CREATE TABLE going (id int PRIMARY KEY); INSERT INTO going VALUES (1), (2)`)
      const pipe = await makePipe('going_db', ['going'])
      await pipe.hasRows('going', [1, 2])
      await pipe.is(({ state }) => state === 'Running')
      await pipe.command('stop')
      await pipe.is(({ state }) => state === 'Paused')
      await source.query('INSERT INTO going VALUES (3); DELETE FROM going WHERE id = 1')
      await pipe.command('start')
      await pipe.hasRows('going', [2, 3])
      await pipe.command('stop')
      await pipe.is(({ state }) => state === 'Paused')
      await pipe.signInWith({ password: 'not the password' })
      await source.query('INSERT INTO going VALUES (4)')
      await pipe.command('start')
      await pipe.is(({ state }) => state === 'Failed')
      await pipe.signInWith(source.superuser)
      await source.query('INSERT INTO going VALUES (5)')
      await pipe.command('start')
      await pipe.hasRows('going', [2, 3, 4, 5])
      const loads = await app.query<{ rows_loaded: number }>(
        `SELECT rows_loaded FROM pipe_tables WHERE pipe_id = '${pipe.id}'`,
      )
      assert.deepEqual(
        loads.map(({ rows_loaded }) => rows_loaded),
        [2],
        'it was loaded once',
      )
    })

    it('rejected rows of several tables are listed, and replayed into their tables', { timeout }, async () => {
      await source.query(`CREATE TABLE first (id int PRIMARY KEY, n text); CREATE TABLE second (id int PRIMARY KEY, n text);
        INSERT INTO first VALUES (1, '1'); INSERT INTO second VALUES (1, '1')`)
      const pipe = await makePipe('refused_db', ['first', 'second'])
      await pipe.hasRows('first', [1])
      await pipe.hasRows('second', [1])
      await pipe.is(({ state }) => state === 'Running')
      // The user changes text columns of the engine to numbers, which some texts are not.
      await pipe.command('stop')
      await pipe.is(({ state }) => state === 'Paused')
      for (const table of ['first', 'second']) {
        await engine.query(
          `ALTER TABLE refused_db.${table} ADD COLUMN number UInt64 MATERIALIZED toUInt64(if(n = '', '0', n))`,
        )
      }
      await source.query(`INSERT INTO first VALUES (2, '2'), (3, 'three'); INSERT INTO second VALUES (2, 'two');
        INSERT INTO second VALUES (3, 'three'); UPDATE second SET n = '3' WHERE id = 3; DELETE FROM second WHERE id = 3`)
      await pipe.command('start')
      await pipe.is(({ rowsRefused }) => rowsRefused === 3)
      await pipe.hasRows('first', [1, 2])
      const listed = async () =>
        (await service.send('GET', `/${pipe.id}/errors`)).body.result as { partition: string; raw: string }[]
      assert.deepEqual((await listed()).map(({ partition, raw }) => [partition, raw.split('\t')[0]]).toSorted(), [
        ['public.first', '3'],
        ['public.second', '2'],
        ['public.second', '3'],
      ])
      const replayed = async () => {
        assert.equal((await service.send('POST', `/${pipe.id}/errorReplay`)).status, 200)
        await pipe.is(({ replayRequestedAt }) => replayRequestedAt === null)
        return (await listed()).length
      }
      assert.equal(await replayed(), 3, 'nothing is better than before')
      for (const table of ['first', 'second']) {
        await engine.query(`ALTER TABLE refused_db.${table} DROP COLUMN number`)
      }
      assert.equal(await replayed(), 0)
      await pipe.hasRows('first', [1, 2, 3])
      // The row deleted since then stays deleted.
      await pipe.hasRows('second', [1, 2])
    })

    it('a deleted pipe leaves nothing at its source', { timeout }, async () => {
      await source.query('CREATE TABLE leaving (id int PRIMARY KEY); INSERT INTO leaving VALUES (1)')
      const pipe = await makePipe('leaving_db', ['leaving'])
      await pipe.hasRows('leaving', [1])
      assert.deepEqual(await slotsOf(pipe.id), ['publication', 'slot'])
      assert.equal((await service.send('DELETE', `/${pipe.id}`)).status, 200)
      await until(
        async () => (await slotsOf(pipe.id)).length === 0,
        () => 'slot and publication are gone',
      )
      await until(
        async () => (await app.query('SELECT * FROM source_leftovers')).length === 0,
        () => 'nothing waits',
      )
      assert.deepEqual(await pipe.rows('leaving'), [1])
    })
  })
}
