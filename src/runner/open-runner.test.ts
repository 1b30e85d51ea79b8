// A complete Penstock that moves rows from object storage through real workers into an engine.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { askAgainMs, type TestEngine } from '../../test/fakes/engine-front.ts'
import { until as untilTrue } from '../../test/fakes/fake-workers.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { type ObjectServer, startObjectServer } from '../../test/sources/object-server.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'

const until: typeof untilTrue = (look, what) => untilTrue(look, what, { everyMs: askAgainMs })

const linesOf = (ids: unknown[]): Uint8Array => Buffer.from(ids.map((id) => `{"id":${JSON.stringify(id)}}\n`).join(''))

const reasons: Record<SourceKindName, RegExp> = {
  kafka: /reverse private endpoint "rpe-orders-1"/,
  kinesis: /no AWS identity/,
  objectStorage: /no AWS identity/,
  postgres: /shop-db\.northwind\.example/,
}

onBothDatabases(
  'a pipe that runs',
  (app) => {
    let engine: TestEngine
    let objects: ObjectServer
    before(async () => {
      engine = await openEmbeddedEngine()
      objects = await startObjectServer()
      await app().app.listen()
    })
    after(async () => {
      await engine?.close()
      await objects?.stop()
    })

    async function makePipe(bucket: string, more: { isContinuous?: boolean; type?: string } = {}) {
      await objects.createBucket(bucket, { isPublic: true })
      const service = await serviceOfPipes(app())
      const { organizationId, serviceId, admin: key } = service
      const { url, username, password, database } = engine
      const path = `/v1/organizations/${organizationId}/services/${serviceId}`
      const registered = await app().request('PATCH', path, { key, body: { endpoint: { url, username, password } } })
      assert.equal(registered.status, 200, registered.text)
      const { isContinuous = false, type = 'UInt64' } = more
      const create = () =>
        service.create({
          name: bucket,
          source: {
            objectStorage: {
              type: 's3',
              format: 'JSONEachRow',
              isContinuous,
              url: `${objects.endpoint}/${bucket}/*.json`,
            },
          },
          destination: {
            database,
            table: bucket,
            columns: [{ name: 'id', type }],
            tableDefinition: { engine: { type: 'MergeTree' }, sortingKey: ['id'] },
          },
          settings: { object_storage_polling_interval_ms: 100 },
        })
      const metrics = async (pipeId: string) => (await service.send('GET', `/${pipeId}/metrics`)).body.result
      const is = async (pipeId: string, state: string) => {
        let seen: { state?: string } = {}
        const look = async () => {
          seen = await metrics(pipeId)
          return seen.state === state
        }
        await until(look, () => `${state}, not ${JSON.stringify(seen)}`)
      }
      const ids = async () => (await engine.rowsIfAny(bucket)).map(({ id }) => Number(id))
      return { ...service, createOne: create, metrics, is, ids }
    }
    const sorted = (ids: number[]): number[] => ids.toSorted((one, other) => one - other)

    it('loads all objects once, and is Completed', async () => {
      const { createOne, is, ids, metrics } = await makePipe('once')
      await objects.put('once', 'a.json', linesOf([1, 2, 2]))
      await objects.put('once', 'b.json', linesOf([3]))
      const { id } = await createOne()
      await is(id, 'Completed')
      assert.deepEqual(sorted(await ids()), [1, 2, 2, 3])
      const { rowsWritten, delivery, stateReason } = await metrics(id)
      assert.deepEqual(
        { rowsWritten, delivery, stateReason },
        { rowsWritten: 4, delivery: 'exactly_once', stateReason: null },
      )
    })

    it('continues where it was stopped, with a changed setting, and after the engine was unavailable', async () => {
      const { createOne, is, ids, send, metrics } = await makePipe('onward', { isContinuous: true })
      await objects.put('onward', '1.json', linesOf([1]))
      const { id } = await createOne()
      await until(async () => (await ids()).length === 1, 'the first row')
      await is(id, 'Running')
      await send('PATCH', `/${id}/state`, { command: 'stop' })
      await is(id, 'Stopped')
      await objects.put('onward', '2.json', linesOf([2]))
      await send('PATCH', `/${id}/state`, { command: 'start' })
      await until(async () => (await ids()).length === 2, 'the second row')
      await send('PUT', `/${id}/settings`, { object_storage_polling_interval_ms: 150 })
      await objects.put('onward', '3.json', linesOf([3]))
      await until(async () => (await ids()).length === 3, 'the third row')
      await engine.stop()
      await objects.put('onward', '4.json', linesOf([4]))
      await is(id, 'Degraded')
      assert.notEqual((await metrics(id)).lastError, null)
      await engine.start()
      await until(async () => (await ids()).length === 4, 'the fourth row')
      await is(id, 'Running')
      assert.equal((await metrics(id)).lastError, null)
      assert.deepEqual(sorted(await ids()), [1, 2, 3, 4])
      assert.equal((await send('DELETE', `/${id}`)).status, 200)
    })

    it('sets its service to running when it writes, and has it checked at once when it cannot', async () => {
      const { createOne, is, ids, send, serviceId } = await makePipe('reported', { isContinuous: true })
      // Services are not checked here: the state of the engine comes from the pipe.
      const farAway = '9999-01-01T00:00:00.000Z'
      const setState = (state: string): Promise<unknown> =>
        app().query(
          `UPDATE services SET state = '${state}', engine_version = '1', next_check_at = '${farAway}' WHERE id = '${serviceId}'`,
        )
      const service = async () => {
        const rows = await app().query<{ state: string; next_check_at: string }>(
          `SELECT state, next_check_at FROM services WHERE id = '${serviceId}'`,
        )
        return rows[0]!
      }
      await objects.put('reported', '0001.json', linesOf([1]))
      const { id } = await createOne()
      await is(id, 'Running')
      await setState('failed')
      let written = 1
      // Files are loaded in the order of their names.
      const put = (number: number) =>
        objects.put('reported', `${String(number).padStart(4, '0')}.json`, linesOf([number]))
      // A report within a second after the previous one is skipped.
      await until(async () => {
        await put(++written)
        await until(async () => (await ids()).length === written, `row ${written}`)
        return (await service()).state === 'running'
      }, 'that the pipe writes')
      await setState('running')
      await engine.stop()
      await put(++written)
      await until(async () => (await service()).next_check_at < farAway, 'that the pipe cannot write')
      await engine.start()
      await until(async () => (await ids()).length === written, 'the last row')
      assert.equal((await send('DELETE', `/${id}`)).status, 200)
    })

    it('reports when it has to recreate a table that had rows', async () => {
      const { createOne, ids, metrics } = await makePipe('remade', { isContinuous: true })
      await objects.put('remade', '1.json', linesOf([1]))
      const { id } = await createOne()
      await until(async () => (await metrics(id)).rowsWritten === 1, 'the first row')
      assert.equal((await metrics(id)).lastError, null)
      await engine.run('DROP TABLE remade')
      await objects.put('remade', '2.json', linesOf([2]))
      await until(async () => (await ids()).length === 1, 'the second row')
      assert.deepEqual(await ids(), [2])
      assert.match(
        (await metrics(id)).lastError,
        new RegExp(`${engine.database}\\.remade was no longer in the engine and was recreated`),
      )
    })

    it('stores rows that the engine rejects, and replays them on request', async () => {
      const { createOne, is, ids, send, metrics, organizationId, admin } = await makePipe('refused', {
        isContinuous: true,
      })
      await objects.put('refused', 'a.json', linesOf([1, 'two', 3]))
      const { id } = await createOne()
      await is(id, 'Running')
      const rejectedRows = async () => {
        const path = `/v1/organizations/${organizationId}/prometheus`
        const { text } = await app().request('GET', path, { key: admin })
        return Number(
          text
            .split('\n')
            .find((line) => line.startsWith('penstock_pipe_rejected_rows{'))
            ?.split(' ')[1],
        )
      }
      await until(async () => (await metrics(id)).rowsRefused === 1, 'one is rejected')
      assert.equal(await rejectedRows(), 1)
      assert.deepEqual(sorted(await ids()), [1, 3])
      const listed = await send('GET', `/${id}/errors`)
      assert.equal(listed.body.result.length, 1, listed.text)
      assert.equal(listed.body.result[0].raw.trim(), '{"id":"two"}')
      assert.equal((await send('POST', `/${id}/errorReplay`)).status, 200)
      await until(async () => (await metrics(id)).replayRequestedAt === null, 'they were tried again')
      assert.equal((await send('GET', `/${id}/errors`)).body.result.length, 1, 'it is no better than before')
      assert.deepEqual(sorted(await ids()), [1, 3])
      assert.equal(await rejectedRows(), 1)
      // Simulates a table that accepts such rows now.
      const raw = `'{"id":2}\\n'`
      await engine.run(`ALTER TABLE refused_penstock_errors UPDATE raw = ${raw} WHERE 1`, { mutations_sync: '1' })
      assert.equal((await send('POST', `/${id}/errorReplay`)).status, 200)
      await until(async () => (await metrics(id)).replayRequestedAt === null, 'they were tried again')
      assert.deepEqual((await send('GET', `/${id}/errors`)).body.result, [])
      assert.deepEqual(sorted(await ids()), [1, 2, 3])
      assert.equal(await rejectedRows(), 0)
      assert.equal((await metrics(id)).rowsRefused, 1, 'that counts since the pipe was created')
    })

    it('fails for its source, and not for its engine, when it is a stopped pipe of the sample', async () => {
      const { organizationId, serviceId, pipeIds } = app().sample
      const path = `/v1/organizations/${organizationId}/services/${serviceId}`
      const { url, username, password } = engine
      await app().request('PATCH', path, { body: { endpoint: { url, username, password } } })
      for (const id of Object.values(pipeIds)) {
        const { status, text } = await app().request('PATCH', `${path}/pipes/${id}/state`, {
          body: { command: 'start' },
        })
        assert.equal(status, 200, text)
      }
      const tables: string[] = []
      for (const [kind, id] of Object.entries(pipeIds)) {
        const { destination, source } = (await app().request('GET', `${path}/pipes/${id}`)).body.result
        const mapped = source.postgres?.tableMappings.map((one: { targetTable: string }) => one.targetTable)
        tables.push(...(mapped ?? [destination.table]))
        let reason: string | undefined
        const look = async () => {
          const { stateReason, lastError } = (await app().request('GET', `${path}/pipes/${id}/metrics`)).body.result
          reason = stateReason ?? lastError
          return typeof reason === 'string'
        }
        await until(look, `a reason of the ${kind} pipe`)
        assert.match(reason!, reasons[kind as keyof typeof pipeIds])
        await app().request('PATCH', `${path}/pipes/${id}/state`, { body: { command: 'stop' } })
      }
      assert.deepEqual(tables.toSorted(), [...new Set(tables)].toSorted())
      for (const running of ['orders', 'shop_orders', 'shop_customers']) assert.ok(!tables.includes(running), running)
      for (const table of tables) await engine.run(`DROP TABLE IF EXISTS default.${table}`)
    })
  },
  { role: 'all' },
)
