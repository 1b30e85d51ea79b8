// Creating a pipe of any kind: defaults, bounds, destination, all problems at once, secrets, states, activities. The rules of each
// kind of source are in create-pipe-sources.test.ts. Every secret in this file has the word "hush" in it.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import {
  type Json,
  kinds,
  leastPipes,
  pointersOf,
  type ServiceOfPipes,
  serviceOfPipes,
  withField,
} from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { bounds, columns, pipeLists, unknownId } from '../../test/pipe-cases/create-pipe.ts'
import { openSecrets } from './store.ts'

// Written out here, not imported from the code under test.
const defaultSettings = {
  streaming_max_insert_wait_ms: 5000,
  object_storage_concurrency: 1,
  object_storage_polling_interval_ms: 30000,
  object_storage_max_insert_bytes: 10737418240,
  object_storage_max_file_count: 100,
  object_storage_use_cluster_function: true,
  engine_max_threads: 0,
  engine_max_insert_threads: 1,
  engine_max_download_threads: 4,
  engine_min_insert_block_size_bytes: 1073741824,
  engine_parallel_distributed_insert_select: 2,
  engine_parallel_view_processing: false,
}
const defaultScaling = { concurrency: 0, replicas: 1, replicaCpuMillicores: 125, replicaMemoryGb: 0.5 }

onBothDatabases('createPipe', (app) => {
  const { list } = pipeLists(() => service)
  let service: ServiceOfPipes
  before(async () => {
    service = await serviceOfPipes(app())
  })

  describe('200', () => {
    for (const kind of kinds) {
      it(`gives a minimal ${kind} pipe all eleven fields, with defaults`, async () => {
        const body = leastPipes[kind]
        const answer = await service.send('POST', '', body)
        assert.equal(answer.status, 200, answer.text)
        const { id, createdAt, source, destination, ...rest } = answer.body.result
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000)
        assert.deepEqual(rest, {
          serviceId: service.serviceId,
          name: body.name,
          state: 'Provisioning',
          updatedAt: createdAt,
          fieldMappings: [],
          scaling: defaultScaling,
          settings: defaultSettings,
        })
        assert.deepEqual(Object.keys(source), [kind])
        assert.deepEqual(
          destination,
          kind === 'postgres'
            ? { database: 'analytics', columns: [] }
            : { ...(body.destination as Json), managedTable: true },
        )
        assert.doesNotMatch(answer.text, /hush/)
        assert.deepEqual((await service.send('GET', `/${id}`)).body.result, answer.body.result)
        assert.deepEqual((await service.load(id)).settings, {}, 'only what was set is stored')
      })

      it(`lets a new ${kind} pipe be sent back as it was read, which changes nothing`, async () => {
        const { id } = await service.create(leastPipes[kind])
        const before = await service.load(id)
        const read = await service.send('GET', `/${id}`)
        const answer = await service.send('PATCH', `/${id}`, read.body.result)
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result, read.body.result)
        assert.equal(answer.headers.etag, read.headers.etag)
        assert.deepEqual(await service.load(id), before)
      })

      it(`creates a stopped ${kind} pipe with startPaused`, async () => {
        const atRest = kind === 'postgres' ? 'Paused' : 'Stopped'
        assert.equal((await service.create({ ...leastPipes[kind], startPaused: true })).state, atRest)
        assert.equal((await service.create({ ...leastPipes[kind], startPaused: false })).state, 'Provisioning')
      })

      it(`creates nothing when a ${kind} source is to be validated and cannot be reached`, async () => {
        const before = (await list()).length
        const answer = await service.send('POST', '', withField(leastPipes[kind], 'source.validateSamples', true))
        assert.equal(answer.status, 400)
        assert.equal(answer.body.code, 'source_not_validated')
        assert.match(answer.body.detail, /the step "connect" failed: /)
        assert.equal(pointersOf(answer).length, 1)
        assert.equal((await list()).length, before)
        const body = withField(leastPipes[kind], 'source.validateSamples', false)
        assert.ok(!('validateSamples' in ((await service.create(body)).source as Json)))
      })
    }

    it('keeps every field outside the source as it was sent', async () => {
      const parts = {
        name: '🪣'.repeat(255),
        destination: {
          database: 'analytics',
          table: 'orders',
          managedTable: true,
          columns,
          tableDefinition: {
            engine: { type: 'MergeTree', columnIds: [] },
            partitionBy: 'toYYYYMM(ordered_at)',
            primaryKey: 'order_id',
            sortingKey: ['order_id', 'ordered_at'],
          },
        },
        fieldMappings: [{ destinationField: 'amount', sourceField: 'order.amount' }],
        scaling: { concurrency: 3, replicas: 2, replicaCpuMillicores: 250, replicaMemoryGb: 1.25 },
        settings: { ...defaultSettings, engine_max_threads: 8, object_storage_use_cluster_function: false },
      }
      const { name, destination, fieldMappings, scaling, settings } = await service.create({
        ...leastPipes.kafka,
        ...parts,
      })
      assert.deepEqual({ name, destination, fieldMappings, scaling, settings }, parts)
    })

    it('accepts every table engine with its options', async () => {
      for (const tableDefinition of [
        { engine: { type: 'MergeTree' } },
        { engine: { type: 'ReplacingMergeTree' } },
        { engine: { type: 'ReplacingMergeTree', versionColumnId: 'ordered_at', columnIds: [] } },
        { engine: { type: 'SummingMergeTree' } },
        { engine: { type: 'SummingMergeTree', columnIds: ['amount'] }, sortingKey: ['order_id'] },
        { engine: { type: 'Null' }, sortingKey: [] },
      ]) {
        const destination = { database: 'a', table: 't', columns, tableDefinition }
        const pipe = await service.create({ ...leastPipes.kinesis, destination })
        assert.deepEqual(pipe.destination, { ...destination, managedTable: true })
      }
    })

    it('takes a table that Penstock does not manage without a definition', async () => {
      const destination = { database: 'a', table: 't', managedTable: false, columns }
      assert.deepEqual((await service.create({ ...leastPipes.objectStorage, destination })).destination, destination)
    })

    it('takes the bounds of scaling and settings, and stores only what was set', async () => {
      for (const [path, least, most] of bounds) {
        const [part, name] = path.split('.') as [string, string]
        for (const value of [least, most]) {
          const pipe = await service.create(withField(leastPipes.kafka, path, value))
          assert.equal((pipe[part] as Json)[name], value, path)
          const stored = await service.load(pipe.id)
          if (part === 'settings') assert.deepEqual(stored.settings, { [name]: value })
          else assert.deepEqual(stored.scaling, { ...defaultScaling, [name]: value })
        }
      }
    })

    it('accepts empty lists and empty objects', async () => {
      const pipe = await service.create({
        ...withField(leastPipes.kafka, 'source.kafka.reversePrivateEndpointIds', []),
        fieldMappings: [],
        scaling: {},
        settings: {},
      })
      assert.deepEqual((pipe.source as { kafka: Json }).kafka.reversePrivateEndpointIds, [])
      assert.deepEqual(pipe.scaling, defaultScaling)
      const postgres = await service.create(withField(leastPipes.postgres, 'destination.columns', []))
      assert.deepEqual(postgres.destination, { database: 'analytics', columns: [] })
    })

    it('creates two pipes of the same body, and one with the same Idempotency-Key', async () => {
      const [one, two] = [await service.create(leastPipes.kafka), await service.create(leastPipes.kafka)]
      assert.notEqual(one.id, two.id)
      const before = (await list()).length
      const headers = { 'idempotency-key': 'one pipe' }
      const answers = [
        await service.send('POST', '', leastPipes.kafka, { headers }),
        await service.send('POST', '', leastPipes.kafka, { headers }),
      ]
      assert.deepEqual(answers[0]!.body.result, answers[1]!.body.result)
      assert.equal((await list()).length, before + 1)
    })

    it('can be changed, scaled, stopped and deleted with the versions of its answers', async () => {
      const { id } = await service.create(leastPipes.kafka)
      let etag = String((await service.send('GET', `/${id}`)).headers.etag)
      for (const [method, path, body] of [
        ['PATCH', '', { name: 'renamed' }],
        ['PUT', '/settings', { engine_max_threads: 2 }],
        ['PATCH', '/scaling', { replicas: 2 }],
        ['PATCH', '/state', { command: 'stop' }],
        ['DELETE', '', undefined],
      ] as const) {
        const stale = await service.send(method, `/${id}${path}`, body, { headers: { 'if-match': '"0"' } })
        assert.equal(stale.status, 412, stale.text)
        const answer = await service.send(method, `/${id}${path}`, body, { headers: { 'if-match': etag } })
        assert.equal(answer.status, 200, answer.text)
        assert.notEqual(answer.headers.etag, etag)
        etag = String(answer.headers.etag)
      }
    })
  })

  describe('404', () => {
    it('names a service that does not exist, and reveals nothing of another organization', async () => {
      const other = await app().addOrganization()
      for (const serviceId of [unknownId, other.serviceId]) {
        const path = `/v1/organizations/${app().sample.organizationId}/services/${serviceId}/pipes`
        const { status, body } = await app().request('POST', path, { body: leastPipes.kafka })
        assert.equal(status, 404)
        const { organizationId } = app().sample
        assert.equal(body.error, `NOT_FOUND: service ${serviceId} was not found in organization ${organizationId}`)
      }
    })
  })

  describe('activities', () => {
    it('record the initial configuration, and nothing of a rejected request', async () => {
      const own = await serviceOfPipes(app())
      await own.send('POST', '', { ...leastPipes.kafka, name: '' })
      const registry = { url: 'https://r.example', credentials: { username: 'hush', password: 'hush' } }
      const sent = withField(leastPipes.kafka, 'source.kafka.schemaRegistry', registry)
      const fieldMappings = [{ destinationField: 'order_id', sourceField: 'id' }]
      const settings = { engine_max_threads: 8 }
      const body = { ...sent, fieldMappings, settings, scaling: { replicas: 2 }, startPaused: true }
      const answer = await own.send('POST', '', body)
      const { id, destination } = answer.body.result
      assert.deepEqual(await own.activities(), [
        {
          type: 'pipe_created',
          request_id: answer.body.requestId,
          target: { type: 'pipe', id, serviceId: own.serviceId },
          changes: [
            { field: 'name', to: 'orders' },
            { field: 'state', to: 'Stopped' },
            { field: 'destination', to: destination },
            { field: 'fieldMappings', to: fieldMappings },
            { field: 'scaling', to: { ...defaultScaling, replicas: 2 } },
            { field: 'settings', to: settings },
            { field: 'source.kafka', to: answer.body.result.source.kafka },
            { field: 'source.kafka.credentials', to: 'changed' },
            { field: 'source.kafka.schemaRegistry', to: 'changed' },
          ],
        },
      ])
    })

    it('record what is shown of every kind, and which secrets were set', async () => {
      const azure = {
        type: 'azureblobstorage',
        format: 'CSV',
        azureContainerName: 'orders',
        path: '*.csv',
        connectionString: 'AccountName=northwind;AccountKey=hush',
      }
      for (const [kind, body, secrets] of [
        ['kinesis', leastPipes.kinesis, []],
        ['objectStorage', leastPipes.objectStorage, []],
        ['objectStorage', { ...leastPipes.objectStorage, source: { objectStorage: azure } }, ['connectionString']],
        ['postgres', leastPipes.postgres, ['credentials']],
      ] as const) {
        const own = await serviceOfPipes(app())
        const { source } = await own.create(body)
        const [{ changes } = { changes: [] }] = await own.activities()
        assert.deepEqual(
          changes.filter(({ field }) => String(field).startsWith('source')),
          [
            { field: `source.${kind}`, to: (source as Json)[kind] },
            ...secrets.map((name) => ({ field: `source.${kind}.${name}`, to: 'changed' })),
          ],
        )
      }
    })
  })

  describe('secrets', () => {
    it('are sealed, whole, for their own pipe, and nowhere else', async () => {
      const login = { username: 'hush-user', password: 'hush-password' }
      const pipe = await service.create({ ...leastPipes.kafka, name: 'with secrets' })
      const stored = await service.load(pipe.id)
      assert.deepEqual(openSecrets(app().app.vault, stored), { credentials: login })
      const twin = await service.load((await service.create(leastPipes.kafka)).id)
      assert.throws(() => openSecrets(app().app.vault, { ...stored, sealedSecrets: twin.sealedSecrets }))
      const rows = await app().query('SELECT * FROM pipes')
      const activities = await app().query('SELECT * FROM activities')
      assert.match(JSON.stringify(rows), /with secrets/)
      assert.doesNotMatch(JSON.stringify([rows, activities, app().logged]), /hush/)
    })

    it('are absent when the source has none', async () => {
      const { id } = await service.create(leastPipes.kinesis)
      assert.equal((await service.load(id)).sealedSecrets, null)
    })
  })
})
