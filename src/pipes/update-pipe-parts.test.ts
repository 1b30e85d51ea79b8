// Settings and scaling, each with its own operation: set, null and absent, as in an update of the pipe.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, kinds, leastPipes, pointersOf, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const unknownId = '00000000-0000-4000-8000-000000000000'

interface Field {
  name: string
  values: unknown[]
  standard: unknown
  refused: unknown[]
}

const integer = (name: string, least: number, most: number, standard: number): Field => ({
  name,
  values: [least, most].filter((value) => value !== standard),
  standard,
  refused: [least - 1, most + 1, '1', 1.5, true, [], {}],
})
const boolean = (name: string, standard: boolean): Field => ({
  name,
  values: [!standard],
  standard,
  refused: ['true', 0, [], {}],
})

// Written out here, not imported from the code under test.
const settings: Field[] = [
  integer('streaming_max_insert_wait_ms', 500, 60_000, 5000),
  integer('object_storage_concurrency', 1, 35, 1),
  integer('object_storage_polling_interval_ms', 100, 3_600_000, 30_000),
  integer('object_storage_max_insert_bytes', 10_485_760, 53_687_091_200, 10_737_418_240),
  integer('object_storage_max_file_count', 1, 10_000, 100),
  boolean('object_storage_use_cluster_function', true),
  integer('engine_max_threads', 0, 64, 0),
  integer('engine_max_insert_threads', 0, 16, 1),
  integer('engine_max_download_threads', 0, 32, 4),
  integer('engine_min_insert_block_size_bytes', 0, 10_737_418_240, 1_073_741_824),
  integer('engine_parallel_distributed_insert_select', 0, 2, 2),
  boolean('engine_parallel_view_processing', false),
]
const scaling: Field[] = [
  integer('concurrency', 0, 34, 0),
  integer('replicas', 1, 40, 1),
  integer('replicaCpuMillicores', 125, 2000, 125),
  { name: 'replicaMemoryGb', values: [0.75, 8], standard: 0.5, refused: [0.49, 8.01, '1', true, []] },
]

const parts = [
  {
    operation: 'updatePipeSettings',
    part: 'settings',
    method: 'PUT',
    fields: settings,
    activity: 'pipe_settings_updated',
    shownIn: (result: Json) => result,
  },
  {
    operation: 'updatePipeScaling',
    part: 'scaling',
    method: 'PATCH',
    fields: scaling,
    activity: 'pipe_scaled',
    shownIn: (result: Json) => result.scaling as Json,
  },
]

for (const { operation, part, method, fields, activity, shownIn } of parts) {
  const standards = Object.fromEntries(fields.map(({ name, standard }) => [name, standard]))

  onBothDatabases(operation, (app) => {
    async function setUp(body: object = leastPipes.kafka) {
      const service = await serviceOfPipes(app())
      const { id } = await service.create(body)
      const change = (body: unknown, headers: Record<string, string> = {}) =>
        service.send(method, `/${id}/${part}`, body, { headers })
      const read = () => service.send('GET', `/${id}`)
      return { service, id, change, read }
    }

    describe('200', () => {
      for (const { name, values, standard } of fields) {
        it(`sets ${name}, keeps it when absent, resets it by null`, async () => {
          const { change, read } = await setUp()
          const other = fields.find((field) => field.name !== name)!
          for (const value of values) {
            const set = await change({ [name]: value })
            assert.equal(set.status, 200, set.text)
            assert.deepEqual(shownIn(set.body.result), { ...standards, [name]: value })
            const absent = await change({ [other.name]: other.values[0] })
            assert.deepEqual(shownIn(absent.body.result), {
              ...standards,
              [name]: value,
              [other.name]: other.values[0],
            })
            const reset = await change({ [name]: null, [other.name]: null })
            assert.deepEqual(shownIn(reset.body.result), { ...standards, [name]: standard })
            assert.deepEqual((await read()).body.result[part], standards)
          }
        })
      }

      it('takes everything at once on every kind of pipe, and leaves the rest of the pipe alone', async () => {
        for (const kind of kinds) {
          const { change, read } = await setUp(leastPipes[kind])
          const before = (await read()).body.result
          const all = Object.fromEntries(fields.map(({ name, values }) => [name, values[0]]))
          assert.deepEqual(shownIn((await change(all)).body.result), all)
          const after = (await read()).body.result
          assert.deepEqual(after, { ...before, [part]: all, updatedAt: after.updatedAt })
          assert.ok(after.updatedAt >= before.updatedAt)
        }
      })

      it('records what changed, and makes a new version', async () => {
        const { service, id, change, read } = await setUp()
        const [first, second] = fields
        const before = await read()
        const answer = await change({ [first!.name]: first!.values[0], [second!.name]: second!.standard })
        assert.notEqual(answer.headers.etag, before.headers.etag)
        assert.equal((await read()).headers.etag, answer.headers.etag)
        assert.deepEqual((await service.activities()).at(-1), {
          type: activity,
          request_id: answer.body.requestId,
          target: { type: 'pipe', id, serviceId: service.serviceId },
          changes: [{ field: `${part}.${first!.name}`, from: first!.standard, to: first!.values[0] }],
        })
      })

      it('leaves version, updatedAt and activities alone when nothing changes', async () => {
        const { service, change, read } = await setUp()
        const before = await read()
        for (const same of [standards, { [fields[0]!.name]: null }]) {
          const answer = await change(same)
          assert.equal(answer.status, 200)
          assert.equal(answer.headers.etag, before.headers.etag)
        }
        assert.deepEqual((await read()).body.result, before.body.result)
        assert.equal((await service.activities()).length, 1)
      })
    })

    describe('400', () => {
      it('reports all invalid values at once, and changes nothing', async () => {
        const { service, change, read } = await setUp()
        const before = await read()
        for (const { name, refused } of fields) {
          for (const value of refused) {
            const answer = await change({ [name]: value })
            assert.equal(answer.status, 400, `${name} ${JSON.stringify(value)}`)
            assert.deepEqual(pointersOf(answer), [`#/${name}`])
          }
        }
        const [first, second, third] = fields
        const both = await change({
          [first!.name]: 'x',
          [second!.name]: 'x',
          [third!.name]: third!.values[0],
          unknown: 1,
        })
        assert.deepEqual(pointersOf(both), [`#/${first!.name}`, `#/${second!.name}`, '#/unknown'].sort())
        assert.equal((await change({ [part]: {} })).status, 400)
        assert.equal((await read()).headers.etag, before.headers.etag)
        assert.equal((await service.activities()).length, 1)
      })

      it('says that there is nothing to update', async () => {
        const { change } = await setUp()
        const answer = await change({})
        assert.equal(answer.status, 400)
        assert.equal(answer.body.code, 'nothing_to_update')
      })
    })

    describe('404', () => {
      it('names the pipe and its service', async () => {
        const { service } = await setUp()
        for (const pipeId of [unknownId, app().sample.pipeIds.kafka]) {
          const answer = await service.send(method, `/${pipeId}/${part}`, { [fields[0]!.name]: fields[0]!.values[0] })
          assert.equal(answer.status, 404)
          assert.equal(answer.body.detail, `pipe ${pipeId} was not found in service ${service.serviceId}`)
        }
      })
    })

    describe('412', () => {
      it('changes nothing of a pipe that has changed since it was read', async () => {
        const { service, id, change, read } = await setUp()
        const etag = String((await read()).headers.etag)
        await service.send('PATCH', `/${id}`, { name: 'renamed' })
        const body = { [fields[0]!.name]: fields[0]!.values[0] }
        assert.equal((await change(body, { 'if-match': etag })).status, 412)
        assert.deepEqual((await read()).body.result[part], standards)
      })
    })
  })
}

onBothDatabases('getPipeSettings', (app) => {
  it('200 gives the effective settings with the version of the pipe', async () => {
    const service = await serviceOfPipes(app())
    const set = { engine_max_threads: 8, object_storage_use_cluster_function: false }
    const { id } = await service.create({ ...leastPipes.kinesis, settings: set })
    const { status, body, headers } = await service.send('GET', `/${id}/settings`)
    assert.equal(status, 200)
    const standards = Object.fromEntries(settings.map(({ name, standard }) => [name, standard]))
    assert.deepEqual(body.result, { ...standards, ...set })
    assert.equal(headers.etag, (await service.send('GET', `/${id}`)).headers.etag)
    const change = { headers: { 'if-match': String(headers.etag) } }
    assert.equal((await service.send('PUT', `/${id}/settings`, { engine_max_threads: 1 }, change)).status, 200)
    assert.equal((await service.send('PUT', `/${id}/settings`, { engine_max_threads: 2 }, change)).status, 412)
  })

  it('404 names the pipe and its service', async () => {
    const service = await serviceOfPipes(app())
    const answer = await service.send('GET', `/${unknownId}/settings`)
    assert.equal(answer.status, 404)
    assert.equal(answer.body.detail, `pipe ${unknownId} was not found in service ${service.serviceId}`)
  })
})
