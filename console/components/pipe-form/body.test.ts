import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pipeFieldRules } from '../../../src/client/fields.ts'
import { createBody, withoutSecrets } from './body.ts'
import { fieldsOfRows, rowsOf, shownFields } from './form-fields.ts'
import { emptyDraft, hasInput, type PipeDraft, type Values } from './pipe-draft.ts'
import { sourceSections } from './source-fields.ts'
import { missingIn, stepOfError, stepOfPointer } from './steps.ts'

/** Values below a pointer. */
const at = (path: string, values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${path}/${name}`, value]))

const table = at('destination', {
  database: 'analytics',
  table: 'orders',
  columns: [{ name: 'id', type: 'UInt64' }],
})

const kafkaDraft: PipeDraft = {
  serviceId: 'a-service',
  kind: 'kafka',
  values: {
    name: 'orders',
    'source/validateSamples': false,
    ...at('source/kafka', { brokers: 'broker.example:9092', topics: 'orders' }),
    ...at('source/kafka/credentials', { username: 'penstock', password: 'a-password' }),
    ...table,
  },
}

/** The draft with other values. */
const change = (values: Values, kind = kafkaDraft.kind): PipeDraft => ({
  ...kafkaDraft,
  kind,
  values: { ...kafkaDraft.values, ...values },
})
const kafkaWith = (values: Values) => createBody(change(at('source/kafka', values))).source.kafka!
const storageWith = (values: Values) =>
  createBody(change(at('source/objectStorage', values), 'objectStorage')).source.objectStorage!

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
  const { 'source/validateSamples': _, ...values } = kafkaDraft.values
  assert.equal(createBody({ ...kafkaDraft, values }).source.validateSamples, true)
  assert.ok(!('validateSamples' in createBody(kafkaDraft).source))
})

test('spaces around a text are not sent', () => {
  assert.equal(kafkaWith({ topics: ' orders ' }).topics, 'orders')
  assert.equal(storageWith({ format: 'CSV', delimiter: ' ' }).delimiter, ' ')
})

test('only settings that differ from their default and apply to the kind are sent', () => {
  const values: Values = {
    ...at('settings', {
      streaming_max_insert_wait_ms: 1_000,
      engine_max_threads: 0,
      engine_max_insert_threads: null,
      object_storage_concurrency: 5,
    }),
    ...at('scaling', { replicas: 1, replicaMemoryGb: 1.5 }),
    startPaused: true,
  }
  const { settings, scaling, startPaused } = createBody(change(values))
  assert.deepEqual(settings, { streaming_max_insert_wait_ms: 1_000 })
  assert.deepEqual(scaling, { replicaMemoryGb: 1.5 })
  assert.equal(startPaused, true)
  assert.deepEqual(createBody(change(values, 'objectStorage')).settings, { object_storage_concurrency: 5 })
  assert.equal(createBody(change({ 'settings/engine_max_threads': 0 }, 'kinesis')).settings, undefined)
})

test('credentials of other authentications are omitted', () => {
  const everything = {
    iamRole: 'a-role',
    ...at('credentials', {
      username: 'u',
      password: 'p',
      accessKeyId: 'i',
      secretKey: 's',
      certificate: 'c',
      privateKey: 'k',
      connectionString: 'a=b',
    }),
  }
  const sent = (values: Values) => {
    const { credentials, iamRole } = kafkaWith({ ...everything, ...values })
    return { ...credentials, ...(iamRole === undefined ? {} : { iamRole }) }
  }
  assert.deepEqual(sent({ authentication: 'SCRAM-SHA-256' }), { username: 'u', password: 'p' })
  assert.deepEqual(sent({ authentication: 'IAM_ROLE' }), { iamRole: 'a-role' })
  assert.deepEqual(sent({ authentication: 'IAM_USER' }), { accessKeyId: 'i', secretKey: 's' })
  assert.deepEqual(sent({ authentication: 'MUTUAL_TLS' }), { certificate: 'c', privateKey: 'k' })
  assert.deepEqual(sent({ type: 'azureeventhub' }), { username: 'u', password: 'p', connectionString: 'a=b' })
})

test('a schema registry is sent when any of its fields is set', () => {
  const registryOf = (values: Values) => kafkaWith(at('schemaRegistry', values)).schemaRegistry
  assert.equal(registryOf({}), undefined)
  const url = 'https://registry.example'
  assert.deepEqual(registryOf({ url }), { url })
  const credentials = at('credentials', { username: 'u', password: 'p' })
  assert.deepEqual(registryOf({ url, ...credentials }), { url })
  const login = { url, authentication: 'PLAIN', credentials: { username: 'u', password: 'p' } }
  assert.deepEqual(registryOf({ url, authentication: 'PLAIN', ...credentials }), login)
  const needed = at('schemaRegistry', { url, authentication: 'PLAIN', ...credentials })
  assert.deepEqual(kafkaWith({ format: 'AvroConfluent', ...needed }).schemaRegistry, login)
})

test('a timestamp is sent only when reading begins at a timestamp', () => {
  const timestamp = '2026-11-01T12:30'
  const offsetOf = (strategy: string) => kafkaWith(at('offset', { strategy, timestamp })).offset
  assert.equal(offsetOf('from_beginning'), undefined)
  assert.deepEqual(offsetOf('from_latest'), { strategy: 'from_latest' })
  assert.deepEqual(offsetOf('from_timestamp'), { strategy: 'from_timestamp', timestamp })
  const kinesis = { region: 'eu-west-1', streamName: 'orders', timestamp }
  const kinesisTimestamp = (values: Values) =>
    createBody(change(at('source/kinesis', { ...kinesis, ...values }), 'kinesis')).source.kinesis!.timestamp
  assert.equal(kinesisTimestamp({}), undefined)
  assert.equal(kinesisTimestamp({ iteratorType: 'AT_TIMESTAMP' }), Date.UTC(2026, 10, 1, 12, 30) / 1000)
})

test('object storage has the fields of its type, its format and its way of loading', () => {
  const typed: Values = {
    authentication: 'IAM_USER',
    url: 'https://bucket.example/*.json',
    azureContainerName: 'container',
    path: '*.csv',
    connectionString: 'AccountKey=a-key',
    iamRole: 'a-role',
    'accessKey/accessKeyId': 'i',
    'accessKey/secretKey': 's',
    delimiter: ';',
    queueUrl: 'https://queue.example',
  }
  assert.deepEqual(storageWith(typed), {
    type: 's3',
    format: 'JSONEachRow',
    authentication: 'IAM_USER',
    url: 'https://bucket.example/*.json',
    accessKey: { accessKeyId: 'i', secretKey: 's' },
  })
  const azure = { type: 'azureblobstorage', format: 'CSV', isContinuous: true, compression: 'gzip' }
  assert.deepEqual(storageWith({ ...typed, ...azure }), {
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
  })
  assert.equal(storageWith({ ...typed, authentication: 'none' }).authentication, undefined)
})

test('a queue is sent where it is supported, and existing objects are loaded first by default', () => {
  const queueUrl = 'https://queue.example'
  const queueOf = (values: Values) => {
    const { queueUrl: sent, skipInitialLoad } = storageWith({ isContinuous: true, queueUrl, ...values })
    return { queueUrl: sent, skipInitialLoad }
  }
  const none = { queueUrl: undefined, skipInitialLoad: undefined }
  assert.deepEqual(queueOf({}), { queueUrl, skipInitialLoad: undefined })
  assert.deepEqual(queueOf({ skipInitialLoad: true }), { queueUrl, skipInitialLoad: true })
  assert.deepEqual(queueOf({ skipInitialLoad: true, type: 'azureblobstorage' }), { queueUrl, skipInitialLoad: true })
  assert.deepEqual(queueOf({ skipInitialLoad: true, queueUrl: '' }), none)
  assert.deepEqual(queueOf({ skipInitialLoad: true, isContinuous: false }), none)
  assert.deepEqual(queueOf({ skipInitialLoad: true, type: 'gcs' }), none)
  assert.deepEqual(queueOf({ skipInitialLoad: true, type: 'dospaces' }), none)
})

test('a postgres pipe has table mappings instead of a table', () => {
  const orders = { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }
  const items = {
    sourceSchemaName: 'public',
    sourceTable: 'items',
    targetTable: 'items',
    tableEngine: 'Null' as const,
    excludedColumns: ['note'],
  }
  const values: Values = {
    ...at('source/postgres', { host: 'postgres.example', port: null, database: 'shop' }),
    ...at('source/postgres/credentials', { username: 'u', password: 'p' }),
    ...at('source/postgres/settings', {
      replicationMode: 'cdc',
      publicationName: '',
      syncIntervalSeconds: 30,
      pullBatchSize: null,
    }),
    'source/postgres/tableMappings': [{ ...orders, sortingKeys: [] }, items],
    fieldMappings: [{ sourceField: 'a', destinationField: 'id' }],
  }
  assert.deepEqual(createBody(change(values, 'postgres')), {
    name: 'orders',
    source: {
      postgres: {
        host: 'postgres.example',
        database: 'shop',
        credentials: { username: 'u', password: 'p' },
        settings: { syncIntervalSeconds: 30 },
        tableMappings: [orders, items],
      },
    },
    destination: { database: 'analytics' },
  })
})

test('an unmanaged table has no definition, and a table engine only its own columns', () => {
  const destinationOf = (values: Values) => createBody(change(at('destination', values))).destination
  const unmanaged = destinationOf({ managedTable: false, 'tableDefinition/sortingKey': ['id'] })
  assert.equal(unmanaged.managedTable, false)
  assert.equal(unmanaged.tableDefinition, undefined)
  const definitionOf = (type: string) =>
    destinationOf(
      at('tableDefinition', {
        'engine/type': type,
        'engine/versionColumnId': 'at',
        'engine/columnIds': ['amount'],
        sortingKey: ['id'],
      }),
    ).tableDefinition
  assert.deepEqual(definitionOf('ReplacingMergeTree'), {
    engine: { type: 'ReplacingMergeTree', versionColumnId: 'at' },
    sortingKey: ['id'],
  })
  assert.deepEqual(definitionOf('SummingMergeTree')?.engine, { type: 'SummingMergeTree', columnIds: ['amount'] })
})

test('the shown body equals the sent one without secrets', () => {
  const shown = JSON.stringify(withoutSecrets(createBody(kafkaDraft)))
  assert.doesNotMatch(shown, /a-password|"penstock"/)
  assert.match(shown, /broker\.example:9092/)
  for (const group of ['credentials', 'accessKey']) {
    assert.deepEqual(withoutSecrets({ [group]: { some: 'secret' } }), { [group]: { some: '••••••••' } })
  }
  assert.deepEqual(withoutSecrets({ connectionString: 'AccountKey=x' }), { connectionString: '••••••••' })
})

test('the form has every field of the API, and no other', () => {
  const pointers = new Set(
    (['kafka', 'kinesis', 'objectStorage', 'postgres'] as const).flatMap((kind) => [
      ...fieldsOfRows(sourceSections[kind].flatMap(rowsOf))
        .filter(({ input }) => input !== 'note' && input !== 'forget')
        .map(({ pointer }) => pointer),
      ...shownFields({ ...kafkaDraft, kind }).map(({ pointer }) => pointer),
      ...['ReplacingMergeTree', 'SummingMergeTree'].flatMap((type) =>
        shownFields(change({ 'destination/tableDefinition/engine/type': type })).map(({ pointer }) => pointer),
      ),
    ]),
  )
  const known = Object.keys(pipeFieldRules).filter((pointer) => !pointer.includes('*'))
  const missing = known.filter((pointer) => !pointers.has(pointer) && !/^settings\/(?:streaming|object)_/.test(pointer))
  assert.deepEqual(missing, [])
  assert.deepEqual(
    [...pointers].filter((pointer) => !known.includes(pointer)),
    [],
  )
})

test('service, kind and emptied fields are no input that could be lost', () => {
  assert.ok(!hasInput({ ...emptyDraft, serviceId: 'a', kind: 'kafka', values: { name: '', startPaused: false } }))
  assert.ok(hasInput({ ...emptyDraft, values: { 'source/kafka/topics': 'orders' } }))
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
  const eventHub = at('source/kafka', {
    type: 'azureeventhub',
    brokers: 'b:1',
    topics: 't',
    'credentials/connectionString': 'a=b',
  })
  assert.deepEqual(missingIn('source', { ...emptyDraft, kind: 'kafka', values: eventHub }), [])
  assert.deepEqual(missingIn('destination', { ...emptyDraft, kind: 'postgres' }), ['Database', 'A table'])
  const halfTable = [
    { name: 'id', type: 'UInt64' },
    { name: 'at', type: '' },
  ]
  assert.deepEqual(missingIn('destination', change({ 'destination/columns': halfTable })), [
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
