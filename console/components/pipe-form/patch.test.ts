import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  KafkaSource,
  ObjectStorageSource,
  Pipe,
  PipePatch,
  PipeSettings,
  TableMapping,
} from '../../../src/client/shapes.ts'
import { settingFields } from '../pipe-fields.ts'
import { patchOf, withCheck, withoutSecrets } from './body.ts'
import { changesOf, jsonText } from './patch-changes.ts'
import { draftOf, type Values } from './pipe-draft.ts'
import { emptiedFields } from './steps.ts'

const settings = Object.fromEntries(
  Object.entries(settingFields).map(([name, field]) => [name, field.default]),
) as unknown as PipeSettings

const orders: TableMapping = {
  sourceSchemaName: 'public',
  sourceTable: 'orders',
  targetTable: 'shop_orders',
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: true,
  sortingKeys: ['id'],
  excludedColumns: [],
}

const kafka: KafkaSource = {
  type: 'kafka',
  authentication: 'PLAIN',
  brokers: 'broker.example:9092',
  topics: 'orders',
  format: 'JSONEachRow',
  caCertificate: 'PEM',
  reversePrivateEndpointIds: ['rpe-1'],
}

const objectStorage: ObjectStorageSource = {
  type: 's3',
  format: 'Parquet',
  authentication: 'IAM_ROLE',
  iamRole: 'arn:1',
  url: 'https://bucket.example/*',
  compression: 'auto',
  isContinuous: false,
}

const azure: ObjectStorageSource = {
  type: 'azureblobstorage',
  format: 'Parquet',
  authentication: 'CONNECTION_STRING',
  azureContainerName: 'invoices',
  path: '*.parquet',
  connectionString: 'AccountName=northwind;AccountKey=***',
  compression: 'auto',
  isContinuous: false,
}

const postgres = {
  host: 'db.example',
  port: 5432,
  database: 'shop',
  settings: {
    allowNullableColumns: false,
    enableFailoverSlots: false,
    initialLoadParallelism: 4,
    pullBatchSize: 5_000,
    replicationMode: 'cdc' as const,
    snapshotNumRowsPerPartition: 100_000,
    snapshotNumberOfParallelTables: 1,
    syncIntervalSeconds: 60,
  },
  tableMappings: [orders, { ...orders, sourceTable: 'customers', targetTable: 'shop_customers' }],
}

function pipeWith(source: Pipe['source']): Pipe {
  return {
    id: 'pipe',
    serviceId: 'service',
    name: 'orders',
    state: 'Running',
    createdAt: '2026-11-15T00:00:00.000Z',
    updatedAt: '2026-11-15T00:00:00.000Z',
    destination: { database: 'shop', table: 'orders', columns: [{ name: 'id', type: 'UInt64' }] },
    // In the order of the API, which differs from the form's.
    fieldMappings: [{ destinationField: 'id', sourceField: 'order_id' }],
    scaling: { concurrency: 0, replicas: 1, replicaCpuMillicores: 125, replicaMemoryGb: 0.5 },
    settings,
    source,
  }
}

const kafkaPipe = pipeWith({ kafka })

const change = (pipe: Pipe, values: Values): PipePatch | undefined => patchOf(draftOf(pipe, values))

/** Values below a pointer. */
const at = (path: string, values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${path}/${name}`, value]))

const kafkaPatch = (values: Values, pipe = kafkaPipe): unknown =>
  change(pipe, at('source/kafka', values))?.source?.kafka
const storagePatch = (source: ObjectStorageSource, values: Values): unknown =>
  change(pipeWith({ objectStorage: source }), at('source/objectStorage', values))?.source?.objectStorage
const postgresPatch = (values: Values): unknown =>
  change(pipeWith({ postgres }), at('source/postgres', values))?.source?.postgres

test('untouched and unchanged fields give no patch', () => {
  assert.equal(change(kafkaPipe, {}), undefined)
  const values: Values = {
    name: ' orders ',
    'destination/columns': [{ type: 'UInt64', name: 'id' }],
    fieldMappings: [{ sourceField: 'order_id', destinationField: 'id' }],
    ...at('settings', { ...settings, engine_max_threads: null }),
    ...at('source/kafka', {
      authentication: 'PLAIN',
      caCertificate: 'PEM',
      iamRole: '',
      reversePrivateEndpointIds: ['rpe-1'],
      'credentials/password': '',
    }),
  }
  assert.equal(change(kafkaPipe, values), undefined)
  const tables = { host: 'db.example', port: 5432, database: 'shop', tableMappingsToRemove: [], tableMappingsToAdd: [] }
  assert.equal(postgresPatch(tables), undefined)
})

test('only what differs is sent', () => {
  assert.deepEqual(change(kafkaPipe, { name: 'orders (eu)' }), { name: 'orders (eu)' })
  const values = at('settings', { engine_max_threads: 8, engine_max_insert_threads: 1 })
  assert.deepEqual(change(kafkaPipe, values), { settings: { engine_max_threads: 8 } })
})

test('fields that cannot be changed are not sent', () => {
  assert.equal(kafkaPatch({ brokers: 'other.example:9092', type: 'msk', format: 'Avro' }), undefined)
  assert.equal(change(kafkaPipe, { 'destination/database': 'other', 'scaling/replicas': 3 }), undefined)
})

test('an emptied setting is sent as null, unless it has its default already', () => {
  const changed = { ...kafkaPipe, settings: { ...settings, engine_max_threads: 8 } }
  const values = at('settings', { engine_max_threads: null, engine_max_insert_threads: null })
  assert.deepEqual(change(changed, values), { settings: { engine_max_threads: null } })
  assert.deepEqual(postgresPatch(at('settings', { pullBatchSize: null, syncIntervalSeconds: null })), {
    settings: { pullBatchSize: null },
  })
})

test('a setting of another kind is sent only if the pipe has one', () => {
  const values = { 'settings/object_storage_concurrency': 1 }
  assert.equal(change(kafkaPipe, { 'settings/object_storage_concurrency': 5 }), undefined)
  const changed = { ...kafkaPipe, settings: { ...settings, object_storage_concurrency: 5 } }
  assert.deepEqual(change(changed, values), { settings: { object_storage_concurrency: 1 } })
})

test('lists are sent as a whole, also when they are emptied', () => {
  const columns = [
    { name: 'id', type: 'UInt64' },
    { name: 'amount', type: 'Float64' },
  ]
  assert.deepEqual(change(kafkaPipe, { 'destination/columns': columns, fieldMappings: [] }), {
    destination: { columns },
    fieldMappings: [],
  })
  assert.deepEqual(kafkaPatch({ reversePrivateEndpointIds: ['rpe-1', 'rpe-2'] }), {
    reversePrivateEndpointIds: ['rpe-1', 'rpe-2'],
  })
})

test('null clears an optional field', () => {
  assert.deepEqual(kafkaPatch({ caCertificate: '', reversePrivateEndpointIds: [] }), {
    caCertificate: null,
    reversePrivateEndpointIds: null,
  })
  assert.deepEqual(storagePatch(azure, { path: '', azureContainerName: '' }), { path: null, azureContainerName: null })
  assert.deepEqual(storagePatch(objectStorage, { authentication: 'none' }), { authentication: null })
  assert.deepEqual(storagePatch({ ...objectStorage, path: 'kept' }, { path: '' }), { path: null })
})

test('typed secrets are sent, and the others stay', () => {
  assert.deepEqual(kafkaPatch({ 'credentials/username': '', 'credentials/password': 'new' }), {
    credentials: { password: 'new' },
  })
  assert.deepEqual(postgresPatch({ 'credentials/password': 'new' }), { credentials: { password: 'new' } })
  const connectionString = 'AccountName=northwind;AccountKey=c2VjcmV0'
  assert.deepEqual(storagePatch(azure, { connectionString }), { connectionString })
})

test('another authentication is sent with its own credentials only', () => {
  const secrets = at('credentials', { password: 'typed before', accessKeyId: 'AK', secretKey: 'secret' })
  assert.deepEqual(kafkaPatch({ authentication: 'IAM_USER', ...secrets }), {
    authentication: 'IAM_USER',
    credentials: { accessKeyId: 'AK', secretKey: 'secret' },
  })
  const mutual = at('credentials', { certificate: 'C', privateKey: 'K' })
  assert.deepEqual(kafkaPatch({ authentication: 'MUTUAL_TLS', ...mutual }), {
    authentication: 'MUTUAL_TLS',
    credentials: { certificate: 'C', privateKey: 'K' },
  })
  assert.deepEqual(kafkaPatch({ authentication: 'IAM_ROLE', iamRole: ' arn:1 ', ...secrets }), {
    authentication: 'IAM_ROLE',
    iamRole: 'arn:1',
  })
  const key = at('accessKey', { accessKeyId: 'AK', secretKey: 'secret' })
  assert.deepEqual(storagePatch(objectStorage, { authentication: 'IAM_USER', ...key }), {
    authentication: 'IAM_USER',
    accessKey: { accessKeyId: 'AK', secretKey: 'secret' },
  })
})

test('a connection string of Event Hubs is sent in the credentials', () => {
  const pipe = pipeWith({ kafka: { ...kafka, type: 'azureeventhub' } })
  const values = { 'credentials/connectionString': 'Endpoint=sb://x' }
  assert.deepEqual(kafkaPatch(values, pipe), { credentials: { connectionString: 'Endpoint=sb://x' } })
  assert.equal(kafkaPatch(values), undefined)
})

test('a role alone does not change the authentication', () => {
  assert.deepEqual(kafkaPatch({ iamRole: 'arn:1' }), { authentication: 'PLAIN', iamRole: 'arn:1' })
  const { authentication: _, iamRole: __, ...open } = objectStorage
  assert.deepEqual(storagePatch(open, { iamRole: 'arn:1' }), { authentication: null, iamRole: 'arn:1' })
})

test('stored secrets are removed only when the authentication does not use them', () => {
  assert.equal(kafkaPatch({ credentials: null }), undefined)
  const pipe = pipeWith({ kafka: { ...kafka, iamRole: 'arn:1' } })
  assert.deepEqual(kafkaPatch({ authentication: 'IAM_ROLE', credentials: null }, pipe), {
    authentication: 'IAM_ROLE',
    credentials: null,
  })
  const withString = { ...objectStorage, connectionString: 'AccountKey=***' }
  assert.deepEqual(storagePatch(withString, { connectionString: null, accessKey: null }), {
    connectionString: null,
    accessKey: null,
  })
})

test('tables are removed and added by name', () => {
  const added = { ...orders, targetTable: 'orders_2', useCustomSortingKey: false, sortingKeys: [] }
  const values: Values = at('source/postgres', {
    port: 5433,
    // Another person has removed the second one.
    tableMappingsToRemove: [
      { sourceSchemaName: 'public', sourceTable: 'orders' },
      { sourceSchemaName: 'public', sourceTable: 'gone' },
    ],
    tableMappingsToAdd: [added],
  })
  const pipe = pipeWith({ postgres })
  const patch = change(pipe, values)
  assert.deepEqual(patch, {
    source: {
      postgres: {
        port: 5433,
        tableMappingsToRemove: [{ sourceSchemaName: 'public', sourceTable: 'orders' }],
        tableMappingsToAdd: [
          {
            sourceSchemaName: 'public',
            sourceTable: 'orders',
            targetTable: 'orders_2',
            tableEngine: 'ReplacingMergeTree',
          },
        ],
      },
    },
  })
  assert.deepEqual(
    changesOf(pipe, patch!).map(({ field }) => field),
    ['source.postgres.port', 'source.postgres.tableMappings public.orders'],
  )
})

test('after a rebase only what still differs is sent', () => {
  const columns = [{ name: 'id', type: 'UInt32' }]
  const fresh = { ...kafkaPipe, name: 'orders (eu)', settings: { ...settings, engine_max_threads: 8 } }
  assert.deepEqual(change(fresh, { name: 'orders (eu)', 'destination/columns': columns }), { destination: { columns } })
})

test('the shown patch contains no secrets', () => {
  const storage = pipeWith({ objectStorage: azure })
  const patches: [Pipe, Values][] = [
    [kafkaPipe, { 'source/kafka/credentials/password': 'hunter2' }],
    [storage, { 'source/objectStorage/connectionString': 'SharedAccessKey=hunter2' }],
    [pipeWith({ postgres }), { 'source/postgres/credentials/password': 'hunter2' }],
  ]
  for (const [pipe, values] of patches) {
    const patch = change(pipe, values)!
    const shown = JSON.stringify([withoutSecrets(patch, 'changed'), changesOf(pipe, patch)])
    assert.match(shown, /changed/)
    assert.doesNotMatch(shown, /hunter2/)
    assert.match(JSON.stringify(patch), /hunter2/)
  }
  const cleared = { source: { kafka: { credentials: null } } }
  assert.deepEqual(withoutSecrets(cleared, 'changed'), cleared)
})

test('the request to check the source is shown as it is sent, and does not change the pipe', () => {
  const checked = withCheck(change(kafkaPipe, { name: 'orders (eu)', 'source/kafka/iamRole': 'arn:1' })!)
  assert.deepEqual(withoutSecrets(checked), checked)
  assert.equal(withoutSecrets(withCheck({ name: 'a' })).source?.validateSamples, true)
  assert.deepEqual(
    changesOf(kafkaPipe, checked).map(({ field }) => field),
    ['name', 'source.kafka.iamRole'],
  )
})

test('before and after of every field', () => {
  const patch = change(kafkaPipe, {
    name: 'orders (eu)',
    'settings/engine_max_threads': 8,
    fieldMappings: [],
    ...at('source/kafka', { caCertificate: '', iamRole: 'arn:1', 'credentials/password': 'hunter2' }),
  })
  assert.deepEqual(changesOf(kafkaPipe, patch!), [
    { field: 'name', from: 'orders', to: 'orders (eu)' },
    { field: 'source.kafka.credentials.password', from: '(never shown)', to: 'changed' },
    { field: 'source.kafka.iamRole', to: 'arn:1' },
    { field: 'source.kafka.caCertificate', from: 'PEM' },
    { field: 'fieldMappings', from: 'order_id → id', to: '' },
    { field: 'settings.engine_max_threads', from: 0, to: 8 },
  ])
  const reset = { ...kafkaPipe, settings: { ...settings, engine_max_threads: 8 } }
  assert.deepEqual(changesOf(reset, { settings: { engine_max_threads: null } }), [
    { field: 'settings.engine_max_threads', from: 8, to: 0 },
  ])
})

test('emptied required fields are listed', () => {
  const emptied = { name: ' ', ...at('source/postgres', { host: '', port: null, database: 'shop' }) }
  assert.deepEqual(emptiedFields(draftOf(pipeWith({ postgres }), emptied)), ['Name', 'Host', 'Port'])
  assert.deepEqual(emptiedFields(draftOf(kafkaPipe)), [])
  assert.deepEqual(emptiedFields(draftOf(kafkaPipe, { 'source/kafka/caCertificate': '' })), [])
})

test('the shown JSON equals the sent JSON', () => {
  const patch = { name: 'a "b"', fieldMappings: [], destination: { columns: [{ name: 'id', type: 'UInt64' }] } }
  const texts = [patch, {}, { source: { kafka: { caCertificate: null, reversePrivateEndpointIds: ['{', 'b'] } } }]
  for (const value of texts) assert.deepEqual(JSON.parse(jsonText(value)), value)
  assert.match(jsonText(patch), /^ {6}\{ "name": "id", "type": "UInt64" \}$/m)
})
