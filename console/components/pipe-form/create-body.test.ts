import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBody, withoutSecrets } from './create-body.ts'
import { emptyDraft, type PipeDraft } from './create-draft.ts'
import { missingIn, stepOfError, stepOfPointer } from './steps.ts'

const table = {
  ...emptyDraft.destination,
  database: 'analytics',
  table: 'orders',
  columns: [{ name: 'id', type: 'UInt64' }],
}

const kafkaDraft: PipeDraft = {
  ...emptyDraft,
  serviceId: 'a-service',
  kind: 'kafka',
  name: 'orders',
  validateSamples: false,
  kafka: {
    ...emptyDraft.kafka,
    brokers: 'broker.example:9092',
    topics: 'orders',
    credentials: { ...emptyDraft.kafka.credentials, username: 'penstock', password: 'a-password' },
  },
  destination: table,
}

test('empty fields and defaults are omitted', () => {
  assert.deepEqual(createBody(kafkaDraft), {
    name: 'orders',
    source: {
      kafka: {
        type: 'kafka',
        authentication: 'PLAIN',
        brokers: 'broker.example:9092',
        topics: 'orders',
        format: 'JSONEachRow',
        credentials: { username: 'penstock', password: 'a-password' },
      },
    },
    destination: {
      database: 'analytics',
      table: 'orders',
      columns: [{ name: 'id', type: 'UInt64' }],
      tableDefinition: { engine: { type: 'MergeTree' } },
    },
  })
})

test('the check of the source is requested by default', () => {
  assert.equal(emptyDraft.validateSamples, true)
  assert.equal(createBody({ ...kafkaDraft, validateSamples: true }).source.validateSamples, true)
  assert.ok(!('validateSamples' in createBody(kafkaDraft).source))
})

test('only settings that differ from their default and apply to the kind are sent', () => {
  const draft: PipeDraft = {
    ...kafkaDraft,
    settings: {
      streaming_max_insert_wait_ms: 1_000,
      engine_max_threads: 0,
      engine_max_insert_threads: null,
      object_storage_concurrency: 5,
    },
    scaling: { replicas: 1, replicaMemoryGb: 1.5 },
    startPaused: true,
  }
  const { settings, scaling, startPaused } = createBody(draft)
  assert.deepEqual(settings, { streaming_max_insert_wait_ms: 1_000 })
  assert.deepEqual(scaling, { replicaMemoryGb: 1.5 })
  assert.equal(startPaused, true)
  assert.deepEqual(createBody({ ...draft, kind: 'objectStorage' }).settings, { object_storage_concurrency: 5 })
  assert.equal(createBody({ ...draft, kind: 'kinesis', settings: { engine_max_threads: 0 } }).settings, undefined)
})

test('credentials of other authentications are omitted', () => {
  const everything = {
    ...kafkaDraft.kafka,
    iamRole: 'a-role',
    credentials: {
      username: 'u',
      password: 'p',
      accessKeyId: 'i',
      secretKey: 's',
      certificate: 'c',
      privateKey: 'k',
      connectionString: 'a=b',
    },
  }
  const sent = (changed: Partial<PipeDraft['kafka']>) => {
    const { credentials, iamRole } = createBody({ ...kafkaDraft, kafka: { ...everything, ...changed } }).source.kafka!
    return { ...credentials, ...(iamRole === undefined ? {} : { iamRole }) }
  }
  assert.deepEqual(sent({ authentication: 'SCRAM-SHA-256' }), { username: 'u', password: 'p' })
  assert.deepEqual(sent({ authentication: 'IAM_ROLE' }), { iamRole: 'a-role' })
  assert.deepEqual(sent({ authentication: 'IAM_USER' }), { accessKeyId: 'i', secretKey: 's' })
  assert.deepEqual(sent({ authentication: 'MUTUAL_TLS' }), { certificate: 'c', privateKey: 'k' })
  assert.deepEqual(sent({ type: 'azureeventhub' }), { username: 'u', password: 'p', connectionString: 'a=b' })
})

test('a schema registry is sent when any of its fields is set', () => {
  const registryOf = (changed: Partial<PipeDraft['kafka']>) =>
    createBody({ ...kafkaDraft, kafka: { ...kafkaDraft.kafka, ...changed } }).source.kafka!.schemaRegistry
  assert.equal(registryOf({}), undefined)
  assert.deepEqual(registryOf({ registryUrl: 'https://registry.example' }), { url: 'https://registry.example' })
  const registryCredentials = { username: 'u', password: 'p' }
  assert.deepEqual(registryOf({ registryUrl: 'https://registry.example', registryCredentials }), {
    url: 'https://registry.example',
  })
  assert.deepEqual(
    registryOf({ registryUrl: 'https://registry.example', registryAuthentication: 'PLAIN', registryCredentials }),
    { url: 'https://registry.example', authentication: 'PLAIN', credentials: registryCredentials },
  )
})

test('a timestamp is sent only when reading begins at a timestamp', () => {
  const offset = { offsetStrategy: 'from_latest', offsetTimestamp: '2026-11-01T12:30' } as const
  const kafkaOffset = (kafka: Partial<PipeDraft['kafka']>) =>
    createBody({ ...kafkaDraft, kafka: { ...kafkaDraft.kafka, ...kafka } }).source.kafka!.offset
  assert.deepEqual(kafkaOffset(offset), { strategy: 'from_latest' })
  assert.deepEqual(kafkaOffset({ ...offset, offsetStrategy: 'from_timestamp' }), {
    strategy: 'from_timestamp',
    timestamp: '2026-11-01T12:30',
  })
  const kinesis = { ...emptyDraft.kinesis, region: 'eu-west-1', streamName: 'orders', timestamp: '2026-11-01T12:30' }
  const kinesisTimestamp = (changed: Partial<PipeDraft['kinesis']>) =>
    createBody({ ...kafkaDraft, kind: 'kinesis', kinesis: { ...kinesis, ...changed } }).source.kinesis!.timestamp
  assert.equal(kinesisTimestamp({}), undefined)
  assert.equal(kinesisTimestamp({ iteratorType: 'AT_TIMESTAMP' }), Date.UTC(2026, 10, 1, 12, 30) / 1000)
})

test('object storage has the fields of its type, its format and its way of loading', () => {
  const objectStorage: PipeDraft['objectStorage'] = {
    type: 's3',
    format: 'JSONEachRow',
    authentication: 'IAM_USER',
    url: 'https://bucket.example/*.json',
    azureContainerName: 'container',
    path: '*.csv',
    connectionString: 'AccountKey=a-key',
    iamRole: 'a-role',
    accessKey: { accessKeyId: 'i', secretKey: 's' },
    delimiter: ';',
    compression: 'auto',
    isContinuous: false,
    queueUrl: 'https://queue.example',
    skipInitialLoad: false,
  }
  const sent = (changed: Partial<PipeDraft['objectStorage']>) =>
    createBody({ ...kafkaDraft, kind: 'objectStorage', objectStorage: { ...objectStorage, ...changed } }).source
  assert.deepEqual(sent({}), {
    objectStorage: {
      type: 's3',
      format: 'JSONEachRow',
      authentication: 'IAM_USER',
      url: 'https://bucket.example/*.json',
      accessKey: { accessKeyId: 'i', secretKey: 's' },
    },
  })
  assert.deepEqual(sent({ type: 'azureblobstorage', format: 'CSV', isContinuous: true, compression: 'gzip' }), {
    objectStorage: {
      type: 'azureblobstorage',
      format: 'CSV',
      authentication: 'CONNECTION_STRING',
      azureContainerName: 'container',
      path: '*.csv',
      connectionString: 'AccountKey=a-key',
      delimiter: ';',
      compression: 'gzip',
      isContinuous: true,
      queueUrl: 'https://queue.example',
    },
  })
  assert.equal(sent({ authentication: 'none' }).objectStorage!.authentication, undefined)
})

test('a queue is sent where it is supported, and existing objects are loaded first by default', () => {
  const queueOf = (changed: Partial<PipeDraft['objectStorage']>) => {
    const queued = { isContinuous: true, queueUrl: 'https://queue.example', ...changed }
    const objectStorage = { ...emptyDraft.objectStorage, ...queued }
    const { queueUrl, skipInitialLoad } = createBody({ ...kafkaDraft, kind: 'objectStorage', objectStorage }).source
      .objectStorage!
    return { queueUrl, skipInitialLoad }
  }
  const none = { queueUrl: undefined, skipInitialLoad: undefined }
  const queueUrl = 'https://queue.example'
  assert.deepEqual(queueOf({}), { queueUrl, skipInitialLoad: undefined })
  assert.deepEqual(queueOf({ skipInitialLoad: true }), { queueUrl, skipInitialLoad: true })
  assert.deepEqual(queueOf({ skipInitialLoad: true, type: 'azureblobstorage' }), { queueUrl, skipInitialLoad: true })
  assert.deepEqual(queueOf({ skipInitialLoad: true, queueUrl: '' }), none)
  assert.deepEqual(queueOf({ skipInitialLoad: true, isContinuous: false }), none)
  assert.deepEqual(queueOf({ skipInitialLoad: true, type: 'gcs' }), none)
  assert.deepEqual(queueOf({ skipInitialLoad: true, type: 'dospaces' }), none)
})

test('a postgres pipe has table mappings instead of a table', () => {
  const draft: PipeDraft = {
    ...kafkaDraft,
    kind: 'postgres',
    postgres: {
      host: 'postgres.example',
      port: null,
      database: 'shop',
      credentials: { username: 'u', password: 'p' },
      settings: { replicationMode: 'cdc', publicationName: '', syncIntervalSeconds: 30, pullBatchSize: null },
      tableMappings: [
        { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders', sortingKeys: [] },
        {
          sourceSchemaName: 'public',
          sourceTable: 'items',
          targetTable: 'items',
          tableEngine: 'Null',
          excludedColumns: ['note'],
        },
      ],
    },
    fieldMappings: [{ sourceField: 'a', destinationField: 'id' }],
  }
  assert.deepEqual(createBody(draft), {
    name: 'orders',
    source: {
      postgres: {
        host: 'postgres.example',
        database: 'shop',
        credentials: { username: 'u', password: 'p' },
        settings: { syncIntervalSeconds: 30 },
        tableMappings: [
          { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' },
          {
            sourceSchemaName: 'public',
            sourceTable: 'items',
            targetTable: 'items',
            tableEngine: 'Null',
            excludedColumns: ['note'],
          },
        ],
      },
    },
    destination: { database: 'analytics' },
  })
})

test('an unmanaged table has no definition, and a table engine only its own columns', () => {
  const destinationOf = (changed: Partial<PipeDraft['destination']>) =>
    createBody({ ...kafkaDraft, destination: { ...table, ...changed } }).destination
  const unmanaged = destinationOf({ managedTable: false, sortingKey: ['id'] })
  assert.equal(unmanaged.managedTable, false)
  assert.equal(unmanaged.tableDefinition, undefined)
  const names = { versionColumnId: 'at', columnIds: ['amount'], sortingKey: ['id'] }
  assert.deepEqual(destinationOf({ ...names, engineType: 'ReplacingMergeTree' }).tableDefinition, {
    engine: { type: 'ReplacingMergeTree', versionColumnId: 'at' },
    sortingKey: ['id'],
  })
  assert.deepEqual(destinationOf({ ...names, engineType: 'SummingMergeTree' }).tableDefinition?.engine, {
    type: 'SummingMergeTree',
    columnIds: ['amount'],
  })
})

test('the shown body equals the sent one without secrets', () => {
  const body = createBody(kafkaDraft)
  const shown = JSON.stringify(withoutSecrets(body))
  assert.doesNotMatch(shown, /a-password|"penstock"/)
  assert.match(shown, /broker\.example:9092/)
  for (const group of ['credentials', 'accessKey']) {
    assert.deepEqual(withoutSecrets({ [group]: { some: 'secret' } }), { [group]: { some: '••••••••' } })
  }
  assert.deepEqual(withoutSecrets({ connectionString: 'AccountKey=x' }), { connectionString: '••••••••' })
})

test('every field belongs to a step', () => {
  assert.equal(stepOfPointer('#/source'), 'start')
  assert.equal(stepOfPointer('#/source/kafka/credentials'), 'source')
  assert.equal(stepOfPointer('#/source/validateSamples'), 'review')
  assert.equal(stepOfPointer('#/source/postgres/settings/pullBatchSize'), 'source')
  assert.equal(stepOfPointer('#/source/postgres/tableMappings/0/targetTable'), 'destination')
  assert.equal(stepOfPointer('#/destination/columns/0/name'), 'destination')
  assert.equal(stepOfPointer('#/fieldMappings/0/sourceField'), 'destination')
  assert.equal(stepOfPointer('#/scaling/replicas'), 'settings')
  assert.equal(stepOfPointer('#/name'), 'review')
})

test('a step lists its missing fields', () => {
  assert.deepEqual(missingIn('start', emptyDraft), ['Service', 'Kind of source'])
  assert.deepEqual(missingIn('source', { ...emptyDraft, kind: 'kafka' }), [
    'Brokers',
    'Topics',
    'User name',
    'Password',
  ])
  const eventHub = { ...emptyDraft.kafka, type: 'azureeventhub', brokers: 'b:1', topics: 't' } as const
  const credentials = { ...eventHub.credentials, connectionString: 'a=b' }
  assert.deepEqual(missingIn('source', { ...emptyDraft, kind: 'kafka', kafka: { ...eventHub, credentials } }), [])
  assert.deepEqual(missingIn('destination', { ...emptyDraft, kind: 'postgres' }), ['Database', 'A table'])
  const halfTable = { ...table, columns: [...table.columns, { name: 'at', type: '' }] }
  assert.deepEqual(missingIn('destination', { ...kafkaDraft, destination: halfTable }), [
    'Name and type of all columns',
  ])
  for (const step of ['start', 'source', 'destination', 'settings', 'review'] as const) {
    assert.deepEqual(missingIn(step, kafkaDraft), [])
  }
})

test('mismatched records lead to the destination step, other errors to the step of their field', () => {
  const pointer = '#/source/kafka'
  const detailOf = (step: string) => `source.kafka: the step "${step}" failed: no record has the field id; change it`
  assert.equal(stepOfError({ pointer, detail: detailOf('fit') }), 'destination')
  assert.equal(stepOfError({ pointer, detail: detailOf('decode') }), 'source')
})
