// A whole Penstock that moves rows: from object storage through real workers into an engine on paper.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { until } from '../../test/fake-workers.ts'
import { onBothDatabases } from '../../test/harness.ts'
import { type PaperEngine, startPaperEngine } from '../../test/paper-engine.ts'
import { serviceOfPipes } from '../../test/pipes.ts'
import { type ObjectServer, startObjectServer } from '../../test/sources/object-server.ts'

const linesOf = (ids: unknown[]): Uint8Array => Buffer.from(ids.map((id) => `{"id":${JSON.stringify(id)}}\n`).join(''))

onBothDatabases(
  'a pipe that runs',
  (app) => {
    let engine: PaperEngine
    let objects: ObjectServer
    before(async () => {
      engine = await startPaperEngine()
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
      const { url, username, password } = engine
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
            database: 'default',
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
      const ids = () => engine.rows(bucket).map(({ id }) => Number(id))
      return { ...service, createOne: create, metrics, is, ids }
    }
    const sorted = (ids: number[]): number[] => ids.toSorted((one, other) => one - other)

    it('loads what is there, once, and is Completed', async () => {
      const { createOne, is, ids, metrics } = await makePipe('once')
      await objects.put('once', 'a.json', linesOf([1, 2, 2]))
      await objects.put('once', 'b.json', linesOf([3]))
      const { id } = await createOne()
      await is(id, 'Completed')
      assert.deepEqual(sorted(ids()), [1, 2, 2, 3])
      const { rowsWritten, delivery, stateReason } = await metrics(id)
      assert.deepEqual(
        { rowsWritten, delivery, stateReason },
        { rowsWritten: 4, delivery: 'exactly_once', stateReason: null },
      )
    })

    it('goes on where it was stopped, with a changed setting, and through an engine that is away', async () => {
      const { createOne, is, ids, send } = await makePipe('onward', { isContinuous: true })
      await objects.put('onward', '1.json', linesOf([1]))
      const { id } = await createOne()
      await until(() => engine.tables.has('default.onward') && ids().length === 1, 'the first row')
      await is(id, 'Running')
      await send('PATCH', `/${id}/state`, { command: 'stop' })
      await is(id, 'Stopped')
      await objects.put('onward', '2.json', linesOf([2]))
      await send('PATCH', `/${id}/state`, { command: 'start' })
      await until(() => ids().length === 2, 'the second row')
      await send('PUT', `/${id}/settings`, { object_storage_polling_interval_ms: 150 })
      await objects.put('onward', '3.json', linesOf([3]))
      await until(() => ids().length === 3, 'the third row')
      await engine.stop()
      await objects.put('onward', '4.json', linesOf([4]))
      await is(id, 'Degraded')
      await engine.start()
      await until(() => ids().length === 4, 'the fourth row')
      await is(id, 'Running')
      assert.deepEqual(sorted(ids()), [1, 2, 3, 4])
      assert.equal((await send('DELETE', `/${id}`)).status, 200)
    })

    it('says so when it has to make a table again that had rows', async () => {
      const { createOne, ids, metrics } = await makePipe('remade', { isContinuous: true })
      await objects.put('remade', '1.json', linesOf([1]))
      const { id } = await createOne()
      await until(async () => (await metrics(id)).rowsWritten === 1, 'the first row')
      assert.equal((await metrics(id)).lastError, null)
      engine.tables.delete('default.remade')
      await objects.put('remade', '2.json', linesOf([2]))
      await until(() => engine.tables.has('default.remade') && ids().length === 1, 'the second row')
      assert.deepEqual(ids(), [2])
      assert.match((await metrics(id)).lastError, /default\.remade was no longer in the engine, and was made again/)
    })

    it('keeps rows that the engine refuses, and tries them again when it is asked to', async () => {
      const { createOne, is, ids, send, metrics } = await makePipe('refused', { isContinuous: true })
      await objects.put('refused', 'a.json', linesOf([1, 'two', 3]))
      const { id } = await createOne()
      await is(id, 'Running')
      await until(async () => (await metrics(id)).rowsRefused === 1, 'one is refused')
      assert.deepEqual(sorted(ids()), [1, 3])
      const listed = await send('GET', `/${id}/errors`)
      assert.equal(listed.body.result.length, 1, listed.text)
      assert.equal(listed.body.result[0].raw.trim(), '{"id":"two"}')
      assert.equal((await send('POST', `/${id}/errorReplay`)).status, 200)
      await until(async () => (await metrics(id)).replayRequestedAt === null, 'they were tried again')
      assert.equal((await send('GET', `/${id}/errors`)).body.result.length, 1, 'it is no better than before')
      assert.deepEqual(sorted(ids()), [1, 3])
    })
  },
  { role: 'all' },
)
