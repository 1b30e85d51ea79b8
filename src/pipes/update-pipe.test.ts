// Updating a pipe of any kind: each field set, null and absent, fields that cannot be changed, all or nothing, no-ops, activities,
// concurrency. The rules of each kind of source are in update-pipe-<kind>.test.ts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { basic, onBothDatabases } from '../../test/harness/test-app.ts'
import { openApp } from '../app.ts'
import { newId } from '../lib/id.ts'
import { Log } from '../lib/log.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { findPipe, insertPipe, openSecrets, sealSecrets } from './store.ts'

type Json = Record<string, unknown>

const kinds: SourceKindName[] = ['kafka', 'kinesis', 'objectStorage', 'postgres']
const unknownId = '00000000-0000-4000-8000-000000000000'
const pem = '-----BEGIN CERTIFICATE-----\nMIIBkTCCATegAwIBAgIU\n-----END CERTIFICATE-----'
const text = (length: number) => 'x'.repeat(length)

/** An invalid value; `inside` is where the response points, if that is below the field itself. */
type Refused = [value: unknown, inside?: string]

interface Field {
  kind: SourceKindName
  path: string
  type: 'string' | 'integer' | 'boolean' | 'list'
  /** Each is returned as it was sent. */
  set: unknown[]
  refused: Refused[]
  /** The value after null: a default, or `undefined` for none. Without this field, null is a 400. */
  afterNull?: { value: unknown }
  /** Sent along, so that only the field changes. */
  alongside?: Json
}

const wrongTypes: Record<Field['type'], unknown[]> = {
  string: [5, true, ['a'], { a: 'b' }],
  integer: ['5', true, 1.5, [5], { a: 5 }],
  boolean: ['true', 0, [true], { a: true }],
  list: ['a', 5, true, { a: 'b' }],
}
const cleared = { value: undefined }

const settings: [name: string, least: number | boolean, most: number | boolean, standard: number | boolean][] = [
  ['streaming_max_insert_wait_ms', 500, 60_000, 5000],
  ['object_storage_concurrency', 1, 35, 1],
  ['object_storage_polling_interval_ms', 100, 3_600_000, 30_000],
  ['object_storage_max_insert_bytes', 10_485_760, 53_687_091_200, 10_737_418_240],
  ['object_storage_max_file_count', 1, 10_000, 100],
  ['object_storage_use_cluster_function', true, false, true],
  ['engine_max_threads', 0, 64, 0],
  ['engine_max_insert_threads', 0, 16, 1],
  ['engine_max_download_threads', 0, 32, 4],
  ['engine_min_insert_block_size_bytes', 0, 10_737_418_240, 1_073_741_824],
  ['engine_parallel_distributed_insert_select', 0, 2, 2],
  ['engine_parallel_view_processing', true, false, false],
]

const columns = [
  { name: 'customer', type: 'LowCardinality(String)' },
  { name: 'größe', type: 'Nullable(Float64)' },
]

// The fields outside the source are the same for every kind, so one kind is enough.
const fields: Field[] = [
  {
    kind: 'kafka',
    path: 'name',
    type: 'string',
    set: ['a', text(255), '🪣'.repeat(255)],
    refused: [[''], [text(256)]],
  },
  {
    kind: 'kafka',
    path: 'destination.columns',
    type: 'list',
    set: [columns, [columns[0]]],
    refused: [
      [[{ name: '', type: 'String' }], '0/name'],
      [[{ name: 'a', type: '' }], '0/type'],
      [[{ name: 'a', type: ' ' }], '0/type'],
      [[{ name: 'a' }], '0/type'],
      [[{ type: 'String' }], '0/name'],
      [[{ name: 'a', type: 'String', codec: 'ZSTD' }], '0/codec'],
      [['a'], '0'],
      [[null], '0'],
      [[...columns, columns[0]], '2/name'],
    ],
  },
  {
    kind: 'kafka',
    path: 'fieldMappings',
    type: 'list',
    set: [
      [
        { destinationField: 'order_id', sourceField: 'order.id' },
        { destinationField: 'customer', sourceField: 'order.id' },
      ],
      [],
    ],
    refused: [
      [[{ destinationField: 'nowhere', sourceField: 'a' }], '0/destinationField'],
      [[{ destinationField: '', sourceField: 'a' }], '0/destinationField'],
      [[{ destinationField: 'customer', sourceField: '' }], '0/sourceField'],
      [[{ destinationField: 'customer' }], '0/sourceField'],
      [[{ destinationField: 'customer', sourceField: 'a', default: 1 }], '0/default'],
      [
        [
          { destinationField: 'customer', sourceField: 'a' },
          { destinationField: 'customer', sourceField: 'b' },
        ],
        '1/destinationField',
      ],
    ],
  },
  ...settings.map(([name, least, most, value]): Field => {
    const isNumber = typeof least === 'number' && typeof most === 'number'
    return {
      kind: 'kafka',
      path: `settings.${name}`,
      type: isNumber ? 'integer' : 'boolean',
      set: [least, most],
      refused: isNumber ? [[least - 1], [most + 1]] : [],
      afterNull: { value },
    }
  }),
  {
    kind: 'kafka',
    path: 'source.kafka.authentication',
    type: 'string',
    set: ['SCRAM-SHA-256', 'SCRAM-SHA-512', 'IAM_ROLE', 'PLAIN'],
    refused: [[''], ['plain'], ['CONNECTION_STRING']],
  },
  {
    kind: 'kafka',
    path: 'source.kafka.caCertificate',
    type: 'string',
    set: [pem, `${pem}\n${pem}\n`, `\n${pem.replaceAll('\n', '\r\n')}\r\n`],
    refused: [
      [''],
      ['MIIBkTCCATegAwIBAgIU'],
      [pem.slice(0, -5)],
      [pem.slice(5)],
      [pem.replace('MIIB', '****')],
      [`${pem}\nand more`],
      [pem.replaceAll('CERTIFICATE', 'PRIVATE KEY')],
    ],
    afterNull: cleared,
  },
  {
    kind: 'kafka',
    path: 'source.kafka.iamRole',
    type: 'string',
    set: ['arn:aws:iam::111111111111:role/other'],
    refused: [['']],
    afterNull: cleared,
    alongside: { source: { kafka: { authentication: 'PLAIN' } } },
  },
  {
    kind: 'kafka',
    path: 'source.kafka.reversePrivateEndpointIds',
    type: 'list',
    set: [['rpe-2', 'rpe-1'], Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(255, 'x')), []],
    refused: [
      [Array.from({ length: 65 }, (_, index) => `rpe-${index}`)],
      [['rpe-1', ''], '1'],
      [[text(256)], '0'],
      [[5], '0'],
      [[null], '0'],
    ],
    afterNull: cleared,
  },
  {
    kind: 'kinesis',
    path: 'source.kinesis.authentication',
    type: 'string',
    set: ['IAM_ROLE'],
    refused: [[''], ['PLAIN'], ['CONNECTION_STRING']],
  },
  {
    kind: 'kinesis',
    path: 'source.kinesis.iamRole',
    type: 'string',
    set: ['arn:aws:iam::111111111111:role/other'],
    refused: [['']],
  },
  {
    kind: 'objectStorage',
    path: 'source.objectStorage.authentication',
    type: 'string',
    set: ['IAM_ROLE'],
    // The sample has a queue, which needs credentials.
    refused: [[''], ['PLAIN'], ['CONNECTION_STRING']],
  },
  {
    kind: 'objectStorage',
    path: 'source.objectStorage.iamRole',
    type: 'string',
    set: ['arn:aws:iam::111111111111:role/other'],
    refused: [['']],
  },
  {
    kind: 'objectStorage',
    path: 'source.objectStorage.connectionString',
    type: 'string',
    set: ['AccountName=northwind-2', 'AccountName=northwind-2;EndpointSuffix=core.example'],
    refused: [[''], ['invoices-2']],
    afterNull: cleared,
  },
  ...['azureContainerName', 'path'].map(
    (name): Field => ({
      kind: 'objectStorage',
      path: `source.objectStorage.${name}`,
      type: 'string',
      set: ['invoices-2', '2026/**/*.json'],
      refused: [['']],
      afterNull: cleared,
    }),
  ),
  {
    kind: 'postgres',
    path: 'source.postgres.host',
    type: 'string',
    set: [
      'db',
      'db-2.northwind.example',
      'my_db',
      'XN--BCHER-KVA.example',
      '3com.example',
      '192.0.2.7',
      '2001:db8::7',
      '::1',
      '::ffff:192.0.2.7',
      `${text(63)}.${text(63)}.${text(63)}.${text(61)}`,
    ],
    refused: [
      [''],
      [' '],
      ['db example'],
      ['db\nexample'],
      ['db.example:5432'],
      ['postgres://db.example'],
      ['db.example/shop'],
      ['user@db.example'],
      ['/var/run/postgresql'],
      ['-db.example'],
      ['db-.example'],
      ['.db.example'],
      ['db..example'],
      ['bücher.example'],
      ['[::1]'],
      ['2001:db8::7::1'],
      ['12345::1'],
      [':'],
      ['256.0.2.7'],
      ['192.0.2'],
      [`${text(64)}.example`],
      [`${text(63)}.${text(63)}.${text(63)}.${text(62)}`],
    ],
  },
  { kind: 'postgres', path: 'source.postgres.port', type: 'integer', set: [1, 65_535], refused: [[0], [65_536], [-1]] },
  { kind: 'postgres', path: 'source.postgres.database', type: 'string', set: ['a', 'Shop 2'], refused: [['']] },
  {
    kind: 'postgres',
    path: 'source.postgres.settings.pullBatchSize',
    type: 'integer',
    set: [1, 1_000_000],
    refused: [[0], [-1]],
    afterNull: { value: 100_000 },
  },
  {
    kind: 'postgres',
    path: 'source.postgres.settings.syncIntervalSeconds',
    type: 'integer',
    set: [1, 86_400],
    refused: [[0], [-1]],
    afterNull: { value: 60 },
  },
]

/** Fields that may be sent back but not changed, each with a different value. */
const immutable: [path: string, other: unknown, only?: SourceKindName][] = [
  ['id', unknownId],
  ['serviceId', unknownId],
  ['state', 'Running'],
  ['createdAt', '2020-01-01T00:00:00.000Z'],
  ['updatedAt', '2020-01-01T00:00:00.000Z'],
  ['destination.database', 'other'],
  ['destination.table', 'other'],
  ['destination.managedTable', false],
  ['destination.tableDefinition', { engine: { type: 'Null' } }],
  ['scaling', { concurrency: 0, replicas: 2, replicaCpuMillicores: 125, replicaMemoryGb: 0.5 }],
  ['source.kafka.type', 'redpanda', 'kafka'],
  ['source.kafka.brokers', 'other:9092', 'kafka'],
  ['source.kafka.topics', 'other', 'kafka'],
  ['source.kafka.consumerGroup', 'other', 'kafka'],
  ['source.kafka.format', 'Avro', 'kafka'],
  ['source.kafka.offset', { strategy: 'from_latest' }, 'kafka'],
  ['source.kafka.schemaRegistry', { url: 'https://other.example' }, 'kafka'],
  ['source.kinesis.format', 'Avro', 'kinesis'],
  ['source.kinesis.iteratorType', 'LATEST', 'kinesis'],
  ['source.kinesis.region', 'eu-west-1', 'kinesis'],
  ['source.kinesis.streamName', 'other', 'kinesis'],
  ['source.kinesis.timestamp', 1, 'kinesis'],
  ['source.kinesis.useEnhancedFanOut', true, 'kinesis'],
  ['source.objectStorage.type', 'gcs', 'objectStorage'],
  ['source.objectStorage.compression', 'zstd', 'objectStorage'],
  ['source.objectStorage.delimiter', ';', 'objectStorage'],
  ['source.objectStorage.format', 'CSV', 'objectStorage'],
  ['source.objectStorage.isContinuous', false, 'objectStorage'],
  ['source.objectStorage.queueUrl', 'https://other.example', 'objectStorage'],
  ['source.objectStorage.url', 'https://other.example', 'objectStorage'],
  ['source.postgres.settings.allowNullableColumns', true, 'postgres'],
  ['source.postgres.settings.enableFailoverSlots', true, 'postgres'],
  ['source.postgres.settings.initialLoadParallelism', 8, 'postgres'],
  ['source.postgres.settings.publicationName', 'other', 'postgres'],
  ['source.postgres.settings.replicationMode', 'cdc', 'postgres'],
  ['source.postgres.settings.replicationSlotName', 'other', 'postgres'],
  ['source.postgres.settings.snapshotNumRowsPerPartition', 5000, 'postgres'],
  ['source.postgres.settings.snapshotNumberOfParallelTables', 2, 'postgres'],
  ['source.postgres.tableMappings', [], 'postgres'],
]

/** `at('a.b', 1)` → `{a: {b: 1}}` */
function at(path: string, value: unknown): Json {
  return path.split('.').reduceRight<unknown>((inside, key) => ({ [key]: inside }), value) as Json
}

function read(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inside, key) => (inside as Json)?.[key], object)
}

/** A copy with one leaf changed, or without it. */
function replace(object: Json, path: string, value: unknown): Json {
  const copy = structuredClone(object)
  const keys = path.split('.')
  const last = keys.pop()!
  const parent = keys.reduce<Json>((inside, key) => inside[key] as Json, copy)
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

function merge(one: Json, two: Json): Json {
  const merged = { ...one }
  for (const [key, value] of Object.entries(two)) {
    merged[key] = key in merged ? merge(merged[key] as Json, value as Json) : value
  }
  return merged
}

const pointer = (path: string, inside?: string) =>
  `#/${path.replaceAll('.', '/')}${inside === undefined ? '' : `/${inside}`}`
const short = (value: unknown) => (JSON.stringify(value) ?? '').slice(0, 60)

onBothDatabases('updatePipe', (app) => {
  const key = (pipeId: string) => ({
    organizationId: app().sample.organizationId,
    serviceId: app().sample.serviceId,
    pipeId,
  })
  const path = (pipeId: string, { organizationId, serviceId } = key(pipeId)) =>
    `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeId}`
  const get = (pipeId: string) => app().request('GET', path(pipeId))
  const patch = (pipeId: string, body: unknown, headers: Record<string, string> = {}) =>
    app().request('PATCH', path(pipeId), { body, headers })

  /** Copies a sample pipe under another id. */
  async function addPipe(kind: SourceKindName = 'kafka'): Promise<string> {
    const { vault } = app().app
    const sample = (await findPipe(app().sql, key(app().sample.pipeIds[kind])))!
    const pipe = { ...sample, id: newId() }
    await insertPipe(app().sql, { ...pipe, sealedSecrets: sealSecrets(vault, pipe, openSecrets(vault, sample)) })
    return pipe.id
  }

  interface ActivityRow {
    type: string
    target: string
    changes: string
    request_id: string
  }
  const activities = async (pipeId: string) =>
    (await app().query<ActivityRow>('SELECT type, target, changes, request_id FROM activities ORDER BY id')).filter(
      ({ target }) => target.includes(pipeId),
    )

  /** Checks that the update is accepted and a GET returns the same pipe. */
  async function accept(pipeId: string, body: unknown): Promise<Json> {
    const answer = await patch(pipeId, body)
    assert.equal(answer.status, 200, `${short(body)}: ${answer.text}`)
    const { body: after, headers } = await get(pipeId)
    assert.deepEqual(after.result, answer.body.result)
    assert.equal(headers.etag, answer.headers.etag)
    return answer.body.result
  }

  interface Refusal {
    code: string
    detail: string
    pointers: string[]
  }

  async function patchForProblem(pipeId: string, body: unknown): Promise<Refusal> {
    const answer = await patch(pipeId, body, { accept: 'application/problem+json' })
    assert.equal(answer.status, 400, `${short(body)} is accepted`)
    const { code, detail, errors } = answer.body
    return { code, detail, pointers: errors.map((error: { pointer: string }) => error.pointer).sort() }
  }

  /** Checks that the update is rejected and nothing has changed. */
  async function refuse(pipeId: string, body: unknown): Promise<Refusal> {
    const before = await get(pipeId)
    const refusal = await patchForProblem(pipeId, body)
    const after = await get(pipeId)
    assert.deepEqual(after.body.result, before.body.result)
    assert.equal(after.headers.etag, before.headers.etag)
    return refusal
  }

  describe('200', () => {
    for (const { kind, path: field, set, afterNull, alongside = {} } of fields) {
      it(`${field}: set, absent${afterNull ? ', null' : ''}`, async () => {
        const pipeId = await addPipe(kind)
        const expectOnly = (before: Json, after: Json, value: unknown) =>
          assert.deepEqual({ ...after, updatedAt: '' }, { ...replace(before, field, value), updatedAt: '' })

        let pipe: Json = (await get(pipeId)).body.result
        for (const value of set) {
          const after = await accept(pipeId, merge(alongside, at(field, value)))
          expectOnly(pipe, after, value)
          pipe = after
        }
        const other = field === 'name' ? { settings: { engine_max_threads: 7 } } : { name: 'something else' }
        const untouched = await accept(pipeId, other)
        assert.deepEqual(read(untouched, field), set.at(-1))

        if (!afterNull) return
        expectOnly(untouched, await accept(pipeId, merge(alongside, at(field, null))), afterNull.value)
      })
    }

    it('answers with the envelope', async () => {
      const { body, headers } = await patch(await addPipe(), { name: 'renamed' })
      assert.deepEqual(Object.keys(body).sort(), ['requestId', 'result', 'status'])
      assert.equal(body.status, 200)
      assert.equal(body.requestId, headers['x-request-id'])
    })

    it('takes a merge patch by its own media type', async () => {
      const pipeId = await addPipe()
      const answer = await patch(pipeId, { name: 'renamed' }, { 'content-type': 'application/merge-patch+json' })
      assert.equal(answer.status, 200)
      assert.equal(answer.body.result.name, 'renamed')
    })

    it('changes several fields at once', async () => {
      const pipeId = await addPipe()
      const before = (await get(pipeId)).body.result
      const after = await accept(pipeId, {
        name: 'renamed',
        destination: { columns },
        fieldMappings: [{ destinationField: 'größe', sourceField: 'size' }],
        settings: { engine_max_threads: 8, engine_parallel_view_processing: true },
        source: { validateSamples: false, kafka: { caCertificate: null, reversePrivateEndpointIds: [] } },
      })
      const { caCertificate: _, ...kafka } = before.source.kafka
      assert.deepEqual(after, {
        ...before,
        updatedAt: after.updatedAt,
        name: 'renamed',
        destination: { ...before.destination, columns },
        fieldMappings: [{ destinationField: 'größe', sourceField: 'size' }],
        settings: { ...before.settings, engine_max_threads: 8, engine_parallel_view_processing: true },
        source: { kafka: { ...kafka, reversePrivateEndpointIds: [] } },
      })
    })

    it('takes every setting on every kind of pipe', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        const all = Object.fromEntries(
          settings.map(([name, least, most, standard]) => [name, least === standard ? most : least]),
        )
        assert.deepEqual((await accept(pipeId, { settings: all })).settings, all)
        const nulls = Object.fromEntries(settings.map(([name]) => [name, null]))
        const standards = Object.fromEntries(settings.map(([name, , , standard]) => [name, standard]))
        assert.deepEqual((await accept(pipeId, { settings: nulls })).settings, standards)
      }
    })

    it('checks mappings against the columns that come with them', async () => {
      const pipeId = await addPipe()
      await accept(pipeId, {
        destination: { columns: [{ name: 'only', type: 'String' }] },
        fieldMappings: [{ destinationField: 'only', sourceField: 'a' }],
      })
      const empty = await accept(pipeId, { destination: { columns: [] }, fieldMappings: [] })
      assert.deepEqual((empty.destination as Json).columns, [])
      assert.deepEqual(empty.fieldMappings, [])
    })

    for (const kind of kinds) {
      it(`takes back a whole ${kind} pipe as it was read, and changes nothing`, async () => {
        const pipeId = await addPipe(kind)
        const before = await get(pipeId)
        const answer = await patch(pipeId, before.body.result)
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result, before.body.result)
        assert.equal(answer.headers.etag, before.headers.etag)
        assert.deepEqual(await activities(pipeId), [])
      })

      it(`takes back a whole ${kind} pipe with one field edited, and changes that field`, async () => {
        const pipeId = await addPipe(kind)
        const before = (await get(pipeId)).body.result
        const after = await accept(pipeId, { ...before, name: 'edited' })
        assert.deepEqual({ ...after, updatedAt: '' }, { ...before, name: 'edited', updatedAt: '' })
      })
    }

    it('takes each field that cannot be changed with the value that it has', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        let pipe: Json = (await get(pipeId)).body.result
        for (const [index, [field]] of immutable.filter(([, , only]) => (only ?? kind) === kind).entries()) {
          const answer = await patch(pipeId, { ...at(field, read(pipe, field)), name: `change ${index}` })
          assert.equal(answer.status, 200, `${field}: ${answer.text}`)
          pipe = answer.body.result
          assert.equal(pipe.name, `change ${index}`)
        }
      }
    })

    it('leaves updatedAt, ETag and activities alone when nothing changes', async () => {
      const same: [SourceKindName, (pipe: Json) => Json][] = [
        ['kafka', ({ name }) => ({ name })],
        ['kafka', ({ destination }) => ({ destination: { columns: (destination as Json).columns } })],
        ['kafka', ({ fieldMappings }) => ({ fieldMappings })],
        ['kafka', () => ({ settings: { streaming_max_insert_wait_ms: 5000 } })],
        ['kafka', () => ({ settings: { streaming_max_insert_wait_ms: null, engine_max_threads: null } })],
        ['kafka', () => ({ source: { validateSamples: false } })],
        ['kafka', () => ({ source: { kafka: { reversePrivateEndpointIds: ['rpe-orders-1'] } } })],
        ['kafka', () => ({ source: { kafka: { credentials: { password: 'sample-password' } } } })],
        ['kinesis', () => ({ source: { kinesis: { accessKey: null } } })],
        ['objectStorage', () => ({ source: { objectStorage: { accessKey: null, path: 'invoices/**.json' } } })],
        ['postgres', () => ({ source: { postgres: { tableMappingsToAdd: [], tableMappingsToRemove: [] } } })],
        ['postgres', () => ({ source: { postgres: { settings: { pullBatchSize: null } }, validateSamples: false } })],
      ]
      for (const [kind, body] of same) {
        const pipeId = await addPipe(kind)
        const before = await get(pipeId)
        await sleep(2)
        const answer = await patch(pipeId, body(before.body.result))
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result, before.body.result)
        assert.equal(answer.headers.etag, before.headers.etag)
        assert.equal((await get(pipeId)).headers.etag, before.headers.etag)
        assert.deepEqual(await activities(pipeId), [])
      }
    })

    it('moves updatedAt and ETag with every change, and createdAt never', async () => {
      const pipeId = await addPipe()
      let before = await get(pipeId)
      for (const body of [
        { name: 'renamed' },
        { settings: { engine_max_threads: 8 } },
        { source: { kafka: { credentials: { password: 'another-password' } } } },
      ]) {
        await sleep(2)
        const answer = await patch(pipeId, body)
        assert.ok(answer.body.result.updatedAt > before.body.result.updatedAt, answer.text)
        assert.match(answer.body.result.updatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.notEqual(answer.headers.etag, before.headers.etag)
        assert.equal(answer.body.result.createdAt, before.body.result.createdAt)
        before = await get(pipeId)
        assert.equal(before.headers.etag, answer.headers.etag)
      }
    })

    it('records one activity, with the fields that changed and a secret only as changed', async () => {
      const pipeId = await addPipe()
      const { result } = (await get(pipeId)).body
      const answer = await patch(pipeId, {
        name: 'renamed',
        fieldMappings: [],
        settings: { engine_max_threads: 8, engine_max_insert_threads: null },
        source: { kafka: { caCertificate: null, credentials: { username: 'someone', password: 'another-password' } } },
      })
      assert.equal(answer.status, 200)
      const [activity, ...others] = await activities(pipeId)
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'pipe_updated')
      assert.equal(activity!.request_id, answer.body.requestId)
      assert.deepEqual(JSON.parse(activity!.target), {
        type: 'pipe',
        id: pipeId,
        serviceId: app().sample.serviceId,
      })
      const changes = JSON.parse(activity!.changes) as { field: string }[]
      assert.deepEqual(
        changes.sort((one, two) => one.field.localeCompare(two.field)),
        [
          { field: 'fieldMappings', from: result.fieldMappings, to: [] },
          { field: 'name', from: result.name, to: 'renamed' },
          { field: 'settings.engine_max_threads', from: 0, to: 8 },
          { field: 'source.kafka.caCertificate', from: result.source.kafka.caCertificate },
          { field: 'source.kafka.credentials', to: 'changed' },
        ],
      )
    })

    it('keeps every one of 20 changes of different fields that are made at the same time', async () => {
      const pipeId = await addPipe()
      const sample = (await get(pipeId)).body.result
      const kafka = { caCertificate: pem, iamRole: 'arn:aws:iam::1:role/new', reversePrivateEndpointIds: ['a', 'b'] }
      const newColumns = [...sample.destination.columns, { name: 'added', type: 'String' }]
      const newMappings = [{ destinationField: 'order_id', sourceField: 'id' }]
      const newSettings = settings.map(([name, least, most, standard]) => [name, least === standard ? most : least])
      const bodies = [
        { name: 'all together' },
        { destination: { columns: newColumns } },
        { fieldMappings: newMappings },
        ...newSettings.map(([name, value]) => at(`settings.${name}`, value)),
        ...Object.entries(kafka).map(([name, value]) => at(`source.kafka.${name}`, value)),
        at('source.kafka.credentials.username', 'new-user'),
        at('source.kafka.credentials.password', 'new-password'),
      ]
      assert.equal(bodies.length, 20)
      // With PostgreSQL there may be several processes, which only row locks separate.
      const log = new Log('silent', { write: () => true } as unknown as NodeJS.WritableStream)
      const second =
        app().dialect === 'postgres'
          ? await openApp(app().config, { log, mayCreateKeys: false, onFatal: () => undefined })
          : undefined
      const headers = { authorization: basic(app().admin), 'content-type': 'application/json' }
      const answers = await Promise.all(
        bodies.map(async (body, index) => {
          if (!second || index % 2 === 0) return patch(pipeId, body)
          const payload = JSON.stringify(body)
          const answer = await second.server.inject({ method: 'PATCH', url: path(pipeId), headers, payload })
          return { status: answer.statusCode, headers: answer.headers, text: answer.payload }
        }),
      ).finally(() => second?.close())
      for (const { status, text } of answers) assert.equal(status, 200, text)
      assert.equal(new Set(answers.map(({ headers }) => headers.etag)).size, 20)

      const { result } = (await get(pipeId)).body
      assert.equal(result.name, 'all together')
      assert.deepEqual(result.destination.columns, newColumns)
      assert.deepEqual(result.fieldMappings, newMappings)
      assert.deepEqual(result.settings, Object.fromEntries(newSettings))
      for (const [name, value] of Object.entries(kafka)) assert.deepEqual(result.source.kafka[name], value)
      const stored = (await findPipe(app().sql, key(pipeId)))!
      assert.deepEqual(openSecrets(app().app.vault, stored), {
        credentials: { username: 'new-user', password: 'new-password' },
      })
      assert.equal((await activities(pipeId)).length, 20)
    })

    it('honours If-Match', async () => {
      const pipeId = await addPipe()
      const { etag } = (await get(pipeId)).headers
      const first = await patch(pipeId, { name: 'first' }, { 'if-match': String(etag) })
      assert.equal(first.status, 200)
      const either = await patch(pipeId, { name: 'second' }, { 'if-match': `"other", ${first.headers.etag}` })
      assert.equal(either.status, 200)
      assert.equal((await patch(pipeId, { name: 'third' }, { 'if-match': '*' })).status, 200)
    })
  })

  describe('400', () => {
    for (const { kind, path: field, type, refused, afterNull, alongside = {} } of fields) {
      it(`${field}: out of bounds, of the wrong type${afterNull ? '' : ', null'}`, async () => {
        const pipeId = await addPipe(kind)
        const before = await get(pipeId)
        const values = [...refused, ...wrongTypes[type].map((value): Refused => [value])]
        if (!afterNull) values.push([null])
        for (const [value, inside] of values) {
          const answer = await patchForProblem(pipeId, merge(alongside, at(field, value)))
          assert.equal(answer.code, 'invalid_body', `${short(value)}: ${answer.detail}`)
          assert.deepEqual(answer.pointers, [pointer(field, inside)], `${short(value)}: ${answer.detail}`)
        }
        const after = await get(pipeId)
        assert.deepEqual(after.body.result, before.body.result)
        assert.equal(after.headers.etag, before.headers.etag)
      })
    }

    it('has nothing to update', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const body of [
          {},
          { source: {} },
          { settings: {} },
          { destination: {} },
          { settings: {}, destination: {}, source: { [kind]: {} } },
          { source: { [kind]: kind === 'postgres' ? { settings: {}, credentials: {} } : {} } },
        ]) {
          assert.equal((await refuse(pipeId, body)).code, 'nothing_to_update', `${kind}: ${JSON.stringify(body)}`)
        }
        const { body, status } = await patch(pipeId, {})
        assert.deepEqual(body, {
          error: 'BAD_REQUEST: the body has nothing to update; send at least one field that may be changed',
          status,
        })
      }
    })

    it('refuses null in the place of an object', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const field of ['destination', 'settings', 'source', `source.${kind}`, 'source.validateSamples']) {
          assert.deepEqual((await refuse(pipeId, at(field, null))).pointers, [pointer(field)])
        }
      }
      assert.deepEqual((await refuse(await addPipe('postgres'), at('source.postgres.settings', null))).pointers, [
        '#/source/postgres/settings',
      ])
    })

    it('refuses a body that is not an object', async () => {
      const pipeId = await addPipe()
      for (const body of [null, [], 'name', 5]) assert.equal((await refuse(pipeId, body)).code, 'invalid_body')
    })

    it('refuses unknown fields', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const field of [
          'nmae',
          'destination.colums',
          'settings.engine_max_thread',
          'source.rabbitmq',
          `source.${kind}.colour`,
          'source.postgres.settings.colour',
        ]) {
          const { code, pointers, detail } = await refuse(pipeId, at(field, 'a'))
          assert.equal(code, 'invalid_body')
          assert.deepEqual(pointers, [pointer(field)])
          assert.match(detail, /is not a known field/)
        }
      }
    })

    for (const kind of kinds) {
      it(`refuses another kind of source on a ${kind} pipe`, async () => {
        const pipeId = await addPipe(kind)
        const others: Record<SourceKindName, Json> = {
          kafka: { iamRole: 'a' },
          kinesis: { iamRole: 'a' },
          objectStorage: { path: 'a' },
          postgres: { port: 1 },
        }
        for (const other of kinds.filter((each) => each !== kind)) {
          for (const body of [at(`source.${other}`, others[other]), { name: 'a', source: { [other]: {} } }]) {
            const { code, pointers, detail } = await refuse(pipeId, body)
            assert.equal(code, 'invalid_body')
            assert.deepEqual(pointers, [pointer(`source.${other}`)])
            assert.match(detail, new RegExp(`source.${other} is invalid: this is a ${kind} pipe`))
          }
        }
      })

      it(`refuses another value, or null, for each field of a ${kind} pipe that cannot be changed`, async () => {
        const pipeId = await addPipe(kind)
        const before = (await get(pipeId)).body.result
        for (const [field, other] of immutable.filter(([, , only]) => (only ?? kind) === kind)) {
          for (const value of [other, null]) {
            const body = { ...at(field, value), settings: { engine_max_threads: 9 } }
            const { code, pointers, detail } = await patchForProblem(pipeId, body)
            assert.equal(code, 'invalid_body')
            assert.ok(pointers.length > 0 && pointers.every((each) => each.startsWith(pointer(field))), detail)
            assert.match(detail, new RegExp(`^${field.replaceAll('.', '\\.')}\\S* cannot be changed`))
            const isOfCreation = /^(?:source|destination)\./.test(field) && !field.endsWith('.tableMappings')
            assert.equal(detail.endsWith('; create another pipe with it'), isOfCreation, detail)
          }
        }
        assert.deepEqual((await get(pipeId)).body.result, before)
      })

      it(`has every field of a ${kind} pipe in the tables of these tests`, async () => {
        const known = [...fields.map((field) => field.path), ...immutable.map(([field]) => field)]
        const isKnown = (field: string) => known.some((each) => field === each || field.startsWith(`${each}.`))
        const visit = (value: unknown, parent: string): void => {
          for (const [name, inner] of Object.entries(value as Json)) {
            const field = parent === '' ? name : `${parent}.${name}`
            if (isKnown(field)) continue
            assert.ok(typeof inner === 'object' && !Array.isArray(inner), `no test has ${field}`)
            visit(inner, field)
          }
        }
        visit((await get(app().sample.pipeIds[kind])).body.result, '')
      })
    }

    it('refuses to drop a column that is mapped', async () => {
      const pipeId = await addPipe()
      const { pointers, detail } = await refuse(pipeId, {
        destination: { columns: [{ name: 'order_id', type: 'UInt64' }] },
      })
      assert.deepEqual(pointers, ['#/fieldMappings/0/destinationField'])
      assert.match(detail, /names "customer", which is not one of the destination's columns/)
      assert.deepEqual((await refuse(pipeId, { destination: { columns: [] } })).pointers, [
        '#/fieldMappings/0/destinationField',
      ])
    })

    it('applies nothing when one field is wrong', async () => {
      for (const wrong of [
        { settings: { engine_max_threads: 65 } },
        { fieldMappings: [{ destinationField: 'nowhere', sourceField: 'a' }] },
        { source: { kafka: { credentials: null } } },
        { source: { kinesis: { iamRole: 'a' } } },
        { source: { kafka: { iamRole: 'arn:aws:iam::1:role/a' }, validateSamples: true } },
        { state: 'Running' },
      ]) {
        const pipeId = await addPipe()
        const before = await findPipe(app().sql, key(pipeId))
        await refuse(pipeId, merge({ name: 'not applied', destination: { columns } }, wrong))
        assert.deepEqual(await findPipe(app().sql, key(pipeId)), before)
        assert.deepEqual(await activities(pipeId), [])
      }
    })

    it('reports all invalid fields at once, with those that cannot be changed', async () => {
      const { pointers } = await refuse(await addPipe(), {
        id: unknownId,
        name: '',
        destination: { columns: [{ name: 'a', type: '' }], table: 'other' },
        settings: { engine_max_threads: 65, nope: 1 },
        source: { kafka: { caCertificate: 'x', topics: 'other', credentials: { password: '' } } },
      })
      assert.deepEqual(pointers, [
        '#/destination/columns/0/type',
        '#/destination/table',
        '#/id',
        '#/name',
        '#/settings/engine_max_threads',
        '#/settings/nope',
        '#/source/kafka/caCertificate',
        '#/source/kafka/credentials/password',
        '#/source/kafka/topics',
      ])
    })

    it('reports all rules that the merged pipe breaks at once', async () => {
      const { pointers } = await refuse(await addPipe(), {
        destination: { columns: [...columns, columns[1]] },
        fieldMappings: [{ destinationField: 'nowhere', sourceField: 'a' }],
        source: { kafka: { authentication: 'IAM_ROLE', iamRole: null }, kinesis: { iamRole: 'a' } },
      })
      assert.deepEqual(pointers, [
        '#/destination/columns/2/name',
        '#/fieldMappings/0/destinationField',
        '#/source/kafka/iamRole',
        '#/source/kinesis',
      ])
    })

    it('reports fields that cannot be changed together with the rules that the merged pipe breaks', async () => {
      const { pointers } = await refuse(await addPipe(), {
        state: 'Running',
        fieldMappings: [{ destinationField: 'nowhere', sourceField: 'a' }],
      })
      assert.deepEqual(pointers, ['#/fieldMappings/0/destinationField', '#/state'])
    })

    it('validates samples on request, and reports a source that cannot be reached', async () => {
      for (const kind of kinds) {
        const pipeId = await addPipe(kind)
        for (const body of [{ source: { validateSamples: true } }, { name: 'a', source: { validateSamples: true } }]) {
          const { code, pointers, detail } = await refuse(pipeId, body)
          assert.equal(code, 'source_not_validated')
          assert.match(pointers.join(), new RegExp(`^#/source/${kind}/`))
          assert.match(detail, /the step "connect" failed: /)
        }
        for (const value of ['true', 1, null]) {
          assert.deepEqual((await refuse(pipeId, at('source.validateSamples', value))).pointers, [
            '#/source/validateSamples',
          ])
        }
      }
    })

    it('refuses an If-Match that is not one', async () => {
      const pipeId = await addPipe()
      assert.equal((await patch(pipeId, { name: 'a' }, { 'if-match': '1' })).status, 400)
    })
  })

  describe('401 and 403', () => {
    it('asks for a key, and for the role admin, before it looks at the body', async () => {
      const pipeId = await addPipe()
      const before = (await get(pipeId)).body.result
      for (const body of [{ name: 'a' }, { name: '' }]) {
        assert.equal((await app().request('PATCH', path(pipeId), { key: null, body })).status, 401)
        const { status, text } = await app().request('PATCH', path(pipeId), { key: app().developer, body })
        assert.equal(status, 403)
        assert.match(text, /needs a key with the role admin/)
      }
      assert.deepEqual((await get(pipeId)).body.result, before)
    })
  })

  describe('404', () => {
    it('does not find a pipe that is not there, is in another service or in another organization', async () => {
      const pipeId = await addPipe()
      const { organizationId, serviceId } = app().sample
      const other = await app().addOrganization()
      const secondService = await app().addService(organizationId)
      for (const [request, sentence, caller] of [
        [path(unknownId), `pipe ${unknownId} was not found in service ${serviceId}`],
        [path(pipeId, { ...key(pipeId), serviceId: secondService }), `pipe ${pipeId} was not found in service`],
        [path(pipeId, { ...key(pipeId), serviceId: unknownId }), `service ${unknownId} was not found in organization`],
        [path(pipeId), `organization ${organizationId} was not found`, other.admin],
        [path(pipeId, { ...key(pipeId), ...other }), `pipe ${pipeId} was not found in service`, other.admin],
      ] as const) {
        for (const body of [{ name: 'stolen' }, { name: 'stolen', state: 'Running' }]) {
          const { status, body: answer } = await app().request('PATCH', request, { key: caller ?? app().admin, body })
          assert.equal(status, 404)
          assert.ok(answer.error.startsWith(`NOT_FOUND: ${sentence}`), answer.error)
        }
      }
      assert.notEqual((await get(pipeId)).body.result.name, 'stolen')
    })
  })

  describe('412', () => {
    it('changes nothing when the pipe has changed since it was read', async () => {
      const pipeId = await addPipe()
      const { etag } = (await get(pipeId)).headers
      assert.equal((await patch(pipeId, { name: 'first' })).status, 200)
      for (const ifMatch of [String(etag), `W/${(await get(pipeId)).headers.etag}`, '"other"']) {
        const { status, body } = await patch(pipeId, { name: 'second' }, { 'if-match': ifMatch })
        assert.equal(status, 412)
        assert.match(body.error, /^PRECONDITION_FAILED: If-Match does not match/)
      }
      assert.equal((await get(pipeId)).body.result.name, 'first')
      assert.equal((await activities(pipeId)).length, 1)
    })

    it('is the answer also to a whole pipe that was read before the change', async () => {
      const pipeId = await addPipe()
      const stale = await get(pipeId)
      await sleep(2)
      assert.equal((await patch(pipeId, { name: 'first' })).status, 200)
      const body = { ...stale.body.result, name: 'second' }
      const answer = await patch(pipeId, body, { 'if-match': String(stale.headers.etag) })
      assert.equal(answer.status, 412, answer.text)
    })

    it('lets one of several that read the same win', async () => {
      const pipeId = await addPipe()
      const { etag } = (await get(pipeId)).headers
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          patch(pipeId, { name: `writer ${index}` }, { 'if-match': String(etag) }),
        ),
      )
      const won = answers.filter(({ status }) => status === 200)
      assert.equal(won.length, 1)
      assert.equal(answers.filter(({ status }) => status === 412).length, 9)
      assert.equal((await get(pipeId)).body.result.name, won[0]!.body.result.name)
    })
  })
})
