import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { findPipe, insertPipe } from './store.ts'

const kinds: SourceKindName[] = ['kafka', 'kinesis', 'objectStorage', 'postgres']
const unknownId = '00000000-0000-4000-8000-000000000000'

type Shape = string | { [field: string]: Shape } | [Shape]

// The fields of a pipe (docs/reference/pipes.md). Written out here, not imported from the code under test.
const pipeShape = {
  id: 'uuid',
  serviceId: 'uuid',
  name: 'string',
  state: 'string',
  createdAt: 'timestamp',
  updatedAt: 'timestamp',
  destination: {
    database: 'string',
    table: 'string',
    managedTable: 'boolean',
    columns: [{ name: 'string', type: 'string' }],
    tableDefinition: {
      engine: { type: 'string', columnIds: ['string'], versionColumnId: 'string' },
      partitionBy: 'string',
      primaryKey: 'string',
      sortingKey: ['string'],
    },
  },
  fieldMappings: [{ destinationField: 'string', sourceField: 'string' }],
  scaling: { concurrency: 'integer', replicas: 'integer', replicaCpuMillicores: 'integer', replicaMemoryGb: 'number' },
  settings: {
    engine_max_download_threads: 'integer',
    engine_max_insert_threads: 'integer',
    engine_max_threads: 'integer',
    engine_min_insert_block_size_bytes: 'integer',
    engine_parallel_distributed_insert_select: 'integer',
    engine_parallel_view_processing: 'boolean',
    object_storage_concurrency: 'integer',
    object_storage_max_file_count: 'integer',
    object_storage_max_insert_bytes: 'integer',
    object_storage_polling_interval_ms: 'integer',
    object_storage_use_cluster_function: 'boolean',
    streaming_max_insert_wait_ms: 'integer',
  },
} satisfies Shape

const sourceShapes: Record<SourceKindName, Shape> = {
  kafka: {
    type: 'string',
    authentication: 'string',
    brokers: 'string',
    topics: 'string',
    consumerGroup: 'string',
    format: 'string',
    caCertificate: 'string',
    iamRole: 'string',
    offset: { strategy: 'string', timestamp: 'minute' },
    reversePrivateEndpointIds: ['string'],
    schemaRegistry: { url: 'string', authentication: 'string', caCertificate: 'string' },
  },
  kinesis: {
    authentication: 'string',
    format: 'string',
    iamRole: 'string',
    iteratorType: 'string',
    region: 'string',
    streamName: 'string',
    timestamp: 'integer',
    useEnhancedFanOut: 'boolean',
  },
  objectStorage: {
    type: 'string',
    authentication: 'string',
    azureContainerName: 'string',
    compression: 'string',
    connectionString: 'string',
    delimiter: 'string',
    format: 'string',
    iamRole: 'string',
    isContinuous: 'boolean',
    path: 'string',
    queueUrl: 'string',
    url: 'string',
  },
  postgres: {
    host: 'string',
    port: 'integer',
    database: 'string',
    settings: {
      allowNullableColumns: 'boolean',
      enableFailoverSlots: 'boolean',
      initialLoadParallelism: 'integer',
      publicationName: 'string',
      pullBatchSize: 'integer',
      replicationMode: 'string',
      replicationSlotName: 'string',
      snapshotNumRowsPerPartition: 'integer',
      snapshotNumberOfParallelTables: 'integer',
      syncIntervalSeconds: 'integer',
    },
    tableMappings: [
      {
        sourceSchemaName: 'string',
        sourceTable: 'string',
        targetTable: 'string',
        tableEngine: 'string',
        useCustomSortingKey: 'boolean',
        sortingKeys: ['string'],
        excludedColumns: ['string'],
      },
    ],
  },
}

const leaves: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string' && value.length > 0,
  uuid: (value) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(String(value)),
  timestamp: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value)),
  minute: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(String(value)),
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
}

/** Checks that there are exactly the fields of the shape, each of its type. */
function assertFits(shape: Shape, value: unknown, at: string): void {
  if (typeof shape === 'string') {
    assert.ok(leaves[shape]!(value), `${at} must be a ${shape}, not ${JSON.stringify(value)}`)
  } else if (Array.isArray(shape)) {
    assert.ok(Array.isArray(value), `${at} must be a list`)
    if (typeof shape[0] !== 'string') assert.ok(value.length > 0, `${at} must have something to look at`)
    for (const [index, item] of value.entries()) assertFits(shape[0], item, `${at}[${index}]`)
  } else {
    assert.ok(typeof value === 'object' && value !== null, `${at} must be an object`)
    assert.deepEqual(Object.keys(value).sort(), Object.keys(shape).sort(), `the fields of ${at}`)
    for (const [field, inner] of Object.entries(shape)) {
      assertFits(inner, (value as Record<string, unknown>)[field], `${at}.${field}`)
    }
  }
}

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

/** The minimal source of each kind: every optional field is absent. */
const leastSources: Record<SourceKindName, object> = {
  kafka: { type: 'kafka', authentication: 'PLAIN', brokers: 'b:9092', topics: 't', format: 'Avro' },
  kinesis: {
    authentication: 'IAM_USER',
    format: 'Avro',
    iteratorType: 'LATEST',
    region: 'eu-west-1',
    streamName: 's',
  },
  objectStorage: { type: 's3', compression: 'none', format: 'CSV', isContinuous: false, url: 'https://b.example/*' },
  postgres: {
    host: 'db.example',
    port: 5432,
    database: 'shop',
    settings: {
      allowNullableColumns: false,
      enableFailoverSlots: false,
      initialLoadParallelism: 4,
      pullBatchSize: 100000,
      replicationMode: 'cdc',
      snapshotNumRowsPerPartition: 100000,
      snapshotNumberOfParallelTables: 1,
      syncIntervalSeconds: 60,
    },
    tableMappings: [],
  },
}

onBothDatabases('getPipe', (app) => {
  interface PathIds {
    organizationId?: string
    serviceId?: string
  }
  const path = (pipeId: string, ids: PathIds = {}) => {
    const { organizationId, serviceId } = { ...app().sample, ...ids }
    return `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeId}`
  }

  describe('200', () => {
    for (const kind of kinds) {
      it(`gives every field of the specification for ${kind}, and one source`, async () => {
        const { status, body } = await app().request('GET', path(app().sample.pipeIds[kind]))
        assert.equal(status, 200)
        assertFits({ ...pipeShape, source: { [kind]: sourceShapes[kind] } }, body.result, 'result')
        assert.equal(body.result.id, app().sample.pipeIds[kind])
        assert.equal(body.result.serviceId, app().sample.serviceId)
      })

      it(`gives a minimal ${kind} pipe all eleven fields, without fields that have no value`, async () => {
        const { organizationId, serviceId, pipeIds } = app().sample
        const sample = (await findPipe(app().sql, { organizationId, serviceId, pipeId: pipeIds[kind] }))!
        const id = newId()
        await insertPipe(app().sql, {
          ...sample,
          id,
          source: leastSources[kind],
          sealedSecrets: null,
          destination: { database: 'analytics', columns: [] },
          fieldMappings: [],
          settings: {},
        })
        const { result } = (await app().request('GET', path(id))).body
        assert.deepEqual(Object.keys(result).sort(), [...Object.keys(pipeShape), 'source'].sort())
        assert.deepEqual(result.source, { [kind]: leastSources[kind] })
        assert.deepEqual(result.destination, { database: 'analytics', columns: [] })
        assert.deepEqual(result.fieldMappings, [])
        assert.deepEqual(result.settings, defaultSettings)
        assert.deepEqual(result.scaling, {
          concurrency: 0,
          replicas: 1,
          replicaCpuMillicores: 125,
          replicaMemoryGb: 0.5,
        })
      })
    }

    it('shows the settings that were set among the defaults of the others', async () => {
      const { organizationId, serviceId, pipeIds } = app().sample
      const sample = (await findPipe(app().sql, { organizationId, serviceId, pipeId: pipeIds.kinesis }))!
      const set = { engine_max_threads: 8, object_storage_use_cluster_function: false }
      const id = newId()
      await insertPipe(app().sql, { ...sample, id, settings: set })
      const { result } = (await app().request('GET', path(id))).body
      assert.deepEqual(result.settings, { ...defaultSettings, ...set })
    })

    it('shows no secret', async () => {
      for (const kind of kinds) {
        const { status, text } = await app().request('GET', path(app().sample.pipeIds[kind]), { key: app().developer })
        assert.equal(status, 200)
        for (const secret of ['sample-password', 'c2FtcGxlLWFjY291bnQta2V5', 'credentials', 'accessKey', 'secretKey']) {
          assert.ok(!text.includes(secret), `the ${kind} pipe shows ${secret}`)
        }
      }
      const { result } = (await app().request('GET', path(app().sample.pipeIds.objectStorage))).body
      assert.equal(
        result.source.objectStorage.connectionString,
        'DefaultEndpointsProtocol=https;AccountName=northwindexample;AccountKey=***;EndpointSuffix=core.example',
      )
    })

    it('wraps the pipe in the envelope', async () => {
      const { body, headers } = await app().request('GET', path(app().sample.pipeIds.kafka))
      assert.deepEqual(Object.keys(body).sort(), ['requestId', 'result', 'status'])
      assert.equal(body.status, 200)
      assert.equal(body.requestId, headers['x-request-id'])
    })

    it('has an ETag that stays while the pipe stays and changes with it', async () => {
      const kafka = path(app().sample.pipeIds.kafka)
      const first = await app().request('GET', kafka)
      assert.match(String(first.headers.etag), /^"[^"]+"$/)
      assert.equal((await app().request('GET', kafka)).headers.etag, first.headers.etag)
      const changed = await app().request('PATCH', kafka, { body: { name: 'another name' } })
      assert.equal(changed.status, 200)
      const second = await app().request('GET', kafka)
      assert.notEqual(second.headers.etag, first.headers.etag)
      assert.equal(second.headers.etag, changed.headers.etag)
      assert.deepEqual(second.body.result, changed.body.result)
    })

    it('takes ids in capital letters and a trailing slash', async () => {
      const { status, body } = await app().request('GET', `${path(app().sample.pipeIds.kafka.toUpperCase())}/`)
      assert.equal(status, 200)
      assert.equal(body.result.id, app().sample.pipeIds.kafka)
    })
  })

  describe('400', () => {
    it('names a malformed id', async () => {
      for (const [malformed, name] of [
        [path('my-pipe'), 'pipeId'],
        [path(unknownId, { serviceId: '1' }), 'serviceId'],
      ] as const) {
        const { status, body } = await app().request('GET', malformed)
        assert.equal(status, 400)
        assert.match(body.error, new RegExp(`^BAD_REQUEST: ${name} must be a uuid`))
      }
    })

    it('refuses a query parameter', async () => {
      const { status, body } = await app().request('GET', `${path(app().sample.pipeIds.kafka)}?secrets=true`)
      assert.equal(status, 400)
      assert.match(body.error, /secrets/)
    })
  })

  describe('404', () => {
    it('names the pipe and its service', async () => {
      const { status, body } = await app().request('GET', path(unknownId))
      assert.equal(status, 404)
      assert.deepEqual(body, {
        error: `NOT_FOUND: pipe ${unknownId} was not found in service ${app().sample.serviceId}`,
        status: 404,
      })
    })

    it('does not find a pipe in another service of its own organization', async () => {
      const serviceId = await app().addService(app().sample.organizationId)
      const pipeId = app().sample.pipeIds.kafka
      const { status, body } = await app().request('GET', path(pipeId, { serviceId }))
      assert.equal(status, 404)
      assert.equal(body.error, `NOT_FOUND: pipe ${pipeId} was not found in service ${serviceId}`)
    })

    it('names a service that is not there', async () => {
      const { status, body } = await app().request('GET', path(app().sample.pipeIds.kafka, { serviceId: unknownId }))
      assert.equal(status, 404)
      assert.equal(
        body.error,
        `NOT_FOUND: service ${unknownId} was not found in organization ${app().sample.organizationId}`,
      )
    })

    it('reveals nothing of another organization, whichever of its ids are sent', async () => {
      const other = await app().addOrganization()
      const { organizationId, serviceId } = other
      const pipeId = app().sample.pipeIds.kafka
      const own = app().sample
      const notFound = (kind: string, id: string) => new RegExp(`^NOT_FOUND: ${kind} ${id} was not found`)
      for (const [key, ids, sentence] of [
        [other.admin, {}, notFound('organization', own.organizationId)],
        [other.admin, { organizationId }, notFound('service', own.serviceId)],
        [other.admin, { organizationId, serviceId }, notFound('pipe', pipeId)],
        [app().admin, { organizationId, serviceId }, notFound('organization', organizationId)],
        [app().admin, { serviceId }, notFound('service', serviceId)],
      ] as const) {
        const { status, body } = await app().request('GET', path(pipeId, ids), { key })
        assert.equal(status, 404)
        assert.match(body.error, sentence)
      }
    })
  })
})
