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
import { patchOf, withCheck } from './patch.ts'
import { changesOf, jsonText, shownPatch } from './patch-changes.ts'
import { missingFields, type PipeDraft, type SourceDraft } from './pipe-draft.ts'

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

function kafkaPatch(source: SourceDraft, pipe = kafkaPipe): unknown {
  return patchOf(pipe, { source })?.source?.kafka
}

test('untouched and unchanged fields give no patch', () => {
  assert.equal(patchOf(kafkaPipe, {}), undefined)
  const draft: PipeDraft = {
    name: ' orders ',
    columns: [{ type: 'UInt64', name: 'id' }],
    fieldMappings: [{ sourceField: 'order_id', destinationField: 'id' }],
    settings: { ...settings, engine_max_threads: null },
    source: {
      authentication: 'PLAIN',
      caCertificate: 'PEM',
      iamRole: '',
      reversePrivateEndpointIds: ['rpe-1'],
      secrets: { password: '' },
      forgottenSecrets: [],
    },
  }
  assert.equal(patchOf(kafkaPipe, draft), undefined)
  const tables: SourceDraft = { host: 'db.example', port: 5432, database: 'shop', removedTables: [], addedTables: [] }
  assert.equal(patchOf(pipeWith({ postgres }), { source: tables }), undefined)
})

test('only what differs is sent', () => {
  assert.deepEqual(patchOf(kafkaPipe, { name: 'orders (eu)' }), { name: 'orders (eu)' })
  assert.deepEqual(patchOf(kafkaPipe, { settings: { engine_max_threads: 8, engine_max_insert_threads: 1 } }), {
    settings: { engine_max_threads: 8 },
  })
})

test('an emptied setting is sent as null, unless it has its default already', () => {
  const changed = { ...kafkaPipe, settings: { ...settings, engine_max_threads: 8 } }
  const draft: PipeDraft = { settings: { engine_max_threads: null, engine_max_insert_threads: null } }
  assert.deepEqual(patchOf(changed, draft), { settings: { engine_max_threads: null } })
  const batch = patchOf(pipeWith({ postgres }), { source: { pullBatchSize: null, syncIntervalSeconds: null } })
  assert.deepEqual(batch, { source: { postgres: { settings: { pullBatchSize: null } } } })
})

test('lists are sent as a whole, also when they are emptied', () => {
  const columns = [
    { name: 'id', type: 'UInt64' },
    { name: 'amount', type: 'Float64' },
  ]
  assert.deepEqual(patchOf(kafkaPipe, { columns, fieldMappings: [] }), {
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
  assert.deepEqual(patchOf(pipeWith({ objectStorage: azure }), { source: { path: '', azureContainerName: '' } }), {
    source: { objectStorage: { path: null, azureContainerName: null } },
  })
  const isPublic = patchOf(pipeWith({ objectStorage }), { source: { authentication: '' } })
  assert.deepEqual(isPublic, { source: { objectStorage: { authentication: null } } })
})

test('typed secrets are sent, and the others stay', () => {
  assert.deepEqual(kafkaPatch({ secrets: { username: '', password: 'new' } }), { credentials: { password: 'new' } })
  assert.deepEqual(patchOf(pipeWith({ postgres }), { source: { secrets: { password: 'new' } } }), {
    source: { postgres: { credentials: { password: 'new' } } },
  })
  const connectionString = 'AccountName=northwind;AccountKey=c2VjcmV0'
  assert.deepEqual(patchOf(pipeWith({ objectStorage: azure }), { source: { secrets: { connectionString } } }), {
    source: { objectStorage: { connectionString } },
  })
})

test('another authentication is sent with its own credentials only', () => {
  const secrets = { password: 'typed before', accessKeyId: 'AK', secretKey: 'secret' }
  assert.deepEqual(kafkaPatch({ authentication: 'IAM_USER', secrets }), {
    authentication: 'IAM_USER',
    credentials: { accessKeyId: 'AK', secretKey: 'secret' },
  })
  assert.deepEqual(kafkaPatch({ authentication: 'MUTUAL_TLS', secrets: { certificate: 'C', privateKey: 'K' } }), {
    authentication: 'MUTUAL_TLS',
    credentials: { certificate: 'C', privateKey: 'K' },
  })
  assert.deepEqual(kafkaPatch({ authentication: 'IAM_ROLE', iamRole: ' arn:1 ', secrets }), {
    authentication: 'IAM_ROLE',
    iamRole: 'arn:1',
  })
  assert.deepEqual(patchOf(pipeWith({ objectStorage }), { source: { authentication: 'IAM_USER', secrets } }), {
    source: { objectStorage: { authentication: 'IAM_USER', accessKey: { accessKeyId: 'AK', secretKey: 'secret' } } },
  })
})

test('a connection string of Event Hubs is sent in the credentials', () => {
  const pipe = pipeWith({ kafka: { ...kafka, type: 'azureeventhub' } })
  const secrets = { connectionString: 'Endpoint=sb://x' }
  assert.deepEqual(kafkaPatch({ secrets }, pipe), { credentials: secrets })
  assert.equal(kafkaPatch({ secrets }), undefined)
})

test('a role alone does not change the authentication', () => {
  assert.deepEqual(kafkaPatch({ iamRole: 'arn:1' }), { authentication: 'PLAIN', iamRole: 'arn:1' })
  const { authentication: _, iamRole: __, ...open } = objectStorage
  assert.deepEqual(patchOf(pipeWith({ objectStorage: open }), { source: { iamRole: 'arn:1' } }), {
    source: { objectStorage: { authentication: null, iamRole: 'arn:1' } },
  })
})

test('stored secrets are removed only when the authentication does not use them', () => {
  assert.equal(kafkaPatch({ forgottenSecrets: ['credentials'] }), undefined)
  const pipe = pipeWith({ kafka: { ...kafka, iamRole: 'arn:1' } })
  assert.deepEqual(kafkaPatch({ authentication: 'IAM_ROLE', forgottenSecrets: ['credentials'] }, pipe), {
    authentication: 'IAM_ROLE',
    credentials: null,
  })
})

test('tables are removed and added by name', () => {
  const added = { ...orders, targetTable: 'orders_2', useCustomSortingKey: false, sortingKeys: [] }
  const source: SourceDraft = {
    port: 5433,
    // Another person has removed the second one.
    removedTables: [
      { sourceSchemaName: 'public', sourceTable: 'orders' },
      { sourceSchemaName: 'public', sourceTable: 'gone' },
    ],
    addedTables: [added],
  }
  const pipe = pipeWith({ postgres })
  const patch = patchOf(pipe, { source })
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
  const draft: PipeDraft = { name: 'orders (eu)', columns: [{ name: 'id', type: 'UInt32' }] }
  const fresh = { ...kafkaPipe, name: 'orders (eu)', settings: { ...settings, engine_max_threads: 8 } }
  assert.deepEqual(patchOf(fresh, draft), { destination: { columns: draft.columns } })
})

test('the shown patch contains no secrets', () => {
  const secrets = { password: 'hunter2', connectionString: 'SharedAccessKey=hunter2' }
  const patches: [Pipe, PipePatch][] = [kafkaPipe, pipeWith({ objectStorage: azure }), pipeWith({ postgres })].map(
    (pipe) => [pipe, patchOf(pipe, { source: { secrets } })!],
  )
  for (const [pipe, patch] of patches) {
    const shown = JSON.stringify([shownPatch(patch), changesOf(pipe, patch)])
    assert.match(shown, /changed/)
    assert.doesNotMatch(shown, /hunter2/)
    assert.match(JSON.stringify(patch), /hunter2/)
  }
  assert.deepEqual(shownPatch({ source: { kafka: { credentials: null } } }), {
    source: { kafka: { credentials: null } },
  })
})

test('the request to check the source is shown as it is sent, and does not change the pipe', () => {
  const checked = withCheck(patchOf(kafkaPipe, { name: 'orders (eu)', source: { iamRole: 'arn:1' } })!)
  assert.deepEqual(shownPatch(checked), checked)
  assert.equal(shownPatch(withCheck({ name: 'a' })).source?.validateSamples, true)
  assert.deepEqual(
    changesOf(kafkaPipe, checked).map(({ field }) => field),
    ['name', 'source.kafka.iamRole'],
  )
})

test('before and after of every field', () => {
  const patch = patchOf(kafkaPipe, {
    name: 'orders (eu)',
    settings: { engine_max_threads: 8 },
    source: { caCertificate: '', iamRole: 'arn:1', secrets: { password: 'hunter2' } },
  })
  assert.deepEqual(changesOf(kafkaPipe, patch!), [
    { field: 'name', from: 'orders', to: 'orders (eu)' },
    { field: 'source.kafka.credentials.password', from: '(never shown)', to: 'changed' },
    { field: 'source.kafka.iamRole', to: 'arn:1' },
    { field: 'source.kafka.caCertificate', from: 'PEM' },
    { field: 'settings.engine_max_threads', from: 0, to: 8 },
  ])
})

test('missing required fields are listed', () => {
  assert.deepEqual(missingFields({ name: ' ', source: { host: '', port: null, database: 'shop' } }), [
    'name',
    'host',
    'port',
  ])
  assert.deepEqual(missingFields({}), [])
})

test('the shown JSON equals the sent JSON', () => {
  const patch = { name: 'a "b"', fieldMappings: [], destination: { columns: [{ name: 'id', type: 'UInt64' }] } }
  const texts = [patch, {}, { source: { kafka: { caCertificate: null, reversePrivateEndpointIds: ['{', 'b'] } } }]
  for (const value of texts) assert.deepEqual(JSON.parse(jsonText(value)), value)
  assert.match(jsonText(patch), /^ {6}\{ "name": "id", "type": "UInt64" \}$/m)
})
