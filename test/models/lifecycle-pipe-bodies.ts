// Bodies for creating pipes, and their expected results (docs/reference/pipes.md).
import { type Json, leastPipes, withField } from '../harness/pipes.ts'

export interface PipeBody {
  what: string
  body: Json
  /** Absent if the body is refused by its shape or by the rules of the pipe. */
  shown?: { kind: string; atRest: string; destination: Json; source(pipeId: string): Json }
  refused?: 'shape' | 'rules' | 'samples'
}

export const defaultSettings: Record<string, number | boolean> = {
  engine_max_download_threads: 4,
  engine_max_insert_threads: 1,
  engine_max_threads: 0,
  engine_min_insert_block_size_bytes: 1_073_741_824,
  engine_parallel_distributed_insert_select: 2,
  engine_parallel_view_processing: false,
  object_storage_concurrency: 1,
  object_storage_max_file_count: 100,
  object_storage_max_insert_bytes: 10_737_418_240,
  object_storage_polling_interval_ms: 30_000,
  object_storage_use_cluster_function: true,
  streaming_max_insert_wait_ms: 5_000,
}

export const defaultScaling: Record<string, number> = {
  concurrency: 0,
  replicas: 1,
  replicaCpuMillicores: 125,
  replicaMemoryGb: 0.5,
}

const table = {
  database: 'analytics',
  table: 'orders',
  managedTable: true,
  columns: [{ name: 'order_id', type: 'UInt64' }],
  tableDefinition: { engine: { type: 'MergeTree' } },
}

const mapping = { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }
const mappingDefaults = {
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}

/** Paths and values to set; undefined removes the field. */
type Changes = Record<string, unknown>

function changed(body: Json, changes: Changes): Json {
  return Object.entries(changes).reduce((into, [path, value]) => withField(into, path, value), body)
}

const { kafka, kinesis, objectStorage, postgres } = leastPipes

const accepted: PipeBody[] = [
  {
    what: 'the least kafka pipe',
    body: kafka,
    shown: {
      kind: 'kafka',
      atRest: 'Stopped',
      destination: table,
      source: (pipeId) => ({
        type: 'kafka',
        format: 'JSONEachRow',
        brokers: 'broker:9092',
        topics: 'orders',
        authentication: 'PLAIN',
        consumerGroup: `penstock-${pipeId}`,
        offset: { strategy: 'from_beginning' },
      }),
    },
  },
  {
    what: 'a kafka pipe with a registry, a group and an empty list',
    body: changed(kafka, {
      'source.kafka.format': 'AvroConfluent',
      'source.kafka.consumerGroup': 'orders-eu',
      'source.kafka.offset': { strategy: 'from_timestamp', timestamp: '2026-01-31T12:00' },
      'source.kafka.reversePrivateEndpointIds': [],
      'source.kafka.schemaRegistry': {
        url: 'https://registry.northwind.example',
        credentials: { username: 'hush', password: 'hush' },
      },
      'destination.managedTable': false,
      'destination.tableDefinition': undefined,
      fieldMappings: [{ destinationField: 'order_id', sourceField: 'id' }],
    }),
    shown: {
      kind: 'kafka',
      atRest: 'Stopped',
      destination: { database: 'analytics', table: 'orders', managedTable: false, columns: table.columns },
      source: () => ({
        type: 'kafka',
        format: 'AvroConfluent',
        brokers: 'broker:9092',
        topics: 'orders',
        authentication: 'PLAIN',
        consumerGroup: 'orders-eu',
        offset: { strategy: 'from_timestamp', timestamp: '2026-01-31T12:00' },
        reversePrivateEndpointIds: [],
        schemaRegistry: { url: 'https://registry.northwind.example', authentication: 'PLAIN' },
      }),
    },
  },
  {
    what: 'the least kinesis pipe',
    body: kinesis,
    shown: {
      kind: 'kinesis',
      atRest: 'Stopped',
      destination: table,
      source: () => ({ ...((kinesis.source as Json).kinesis as Json), useEnhancedFanOut: false }),
    },
  },
  {
    what: 'a bucket whose access key decides the authentication',
    body: changed(objectStorage, {
      'source.objectStorage.accessKey': { accessKeyId: 'hush', secretKey: 'hush' },
      'source.objectStorage.isContinuous': true,
      'source.objectStorage.queueUrl': 'https://sqs.example/000000000000/orders',
    }),
    shown: {
      kind: 'objectStorage',
      atRest: 'Stopped',
      destination: table,
      source: () => ({
        type: 's3',
        format: 'JSONEachRow',
        url: 'https://bucket.s3.example/*.json',
        authentication: 'IAM_USER',
        compression: 'auto',
        isContinuous: true,
        queueUrl: 'https://sqs.example/000000000000/orders',
      }),
    },
  },
  {
    what: 'a container of Azure',
    body: changed(objectStorage, {
      'source.objectStorage': {
        type: 'azureblobstorage',
        format: 'CSV',
        delimiter: ';',
        azureContainerName: 'orders',
        path: '*.csv',
        connectionString: 'AccountName=northwind;AccountKey=aHVzaA==;EndpointSuffix=core.example',
      },
    }),
    shown: {
      kind: 'objectStorage',
      atRest: 'Stopped',
      destination: table,
      source: () => ({
        type: 'azureblobstorage',
        format: 'CSV',
        delimiter: ';',
        azureContainerName: 'orders',
        path: '*.csv',
        authentication: 'CONNECTION_STRING',
        connectionString: 'AccountName=northwind;AccountKey=***;EndpointSuffix=core.example',
        compression: 'auto',
        isContinuous: false,
      }),
    },
  },
  {
    what: 'the least postgres pipe',
    body: postgres,
    shown: {
      kind: 'postgres',
      atRest: 'Paused',
      destination: { database: 'analytics', columns: [] },
      source: () => ({
        host: 'db.northwind.example',
        port: 5432,
        database: 'shop',
        settings: {
          allowNullableColumns: false,
          enableFailoverSlots: false,
          initialLoadParallelism: 4,
          pullBatchSize: 100_000,
          replicationMode: 'cdc',
          snapshotNumRowsPerPartition: 100_000,
          snapshotNumberOfParallelTables: 1,
          syncIntervalSeconds: 60,
        },
        tableMappings: [{ ...mapping, ...mappingDefaults }],
      }),
    },
  },
]

const byRules: [what: string, body: Json][] = [
  ['no kind', withField(kafka, 'source', {})],
  ['two kinds', withField(kafka, 'source.objectStorage', (objectStorage.source as Json).objectStorage)],
  ['no table', withField(kinesis, 'destination.table', undefined)],
  ['no columns', withField(kinesis, 'destination.columns', [])],
  ['no definition of a managed table', withField(kafka, 'destination.tableDefinition', undefined)],
  ['a definition of a table that is not managed', withField(kafka, 'destination.managedTable', false)],
  ['a table for postgres', withField(postgres, 'destination.table', 'orders')],
  ['no password', withField(kafka, 'source.kafka.credentials', { username: 'hush' })],
  ['a role without its name', withField(kafka, 'source.kafka.authentication', 'IAM_ROLE')],
  ['a timestamp without its strategy', withField(kafka, 'source.kafka.offset', { strategy: 'from_timestamp' })],
  ['a column twice', withField(kinesis, 'destination.columns', [table.columns[0], table.columns[0]])],
  ['a mapping to no column', withField(kafka, 'fieldMappings', [{ destinationField: 'note', sourceField: 'note' }])],
  ['a queue that nobody waits for', withField(objectStorage, 'source.objectStorage.queueUrl', 'https://sqs.example/q')],
  ['no URL', withField(objectStorage, 'source.objectStorage.url', undefined)],
  ['a table mapped twice', withField(postgres, 'source.postgres.tableMappings', [mapping, mapping])],
  ['a slot without cdc_only', withField(postgres, 'source.postgres.settings', { replicationSlotName: 'slot' })],
]

const byShape: [what: string, body: Json][] = [
  ['no name', withField(kafka, 'name', undefined)],
  ['no destination', withField(kafka, 'destination', undefined)],
  ['an unknown field', withField(kafka, 'nmae', 'x')],
  ['an unknown field of the source', withField(kafka, 'source.kafka.topic', 'x')],
  ['a setting out of bounds', withField(kafka, 'settings', { engine_max_threads: 65 })],
  ['too many replicas', withField(postgres, 'scaling', { replicas: 41 })],
  ['a state', withField(kafka, 'state', 'Running')],
  ['a format of another kind', withField(kinesis, 'source.kinesis.format', 'Protobuf')],
]

export const pipeBodies: PipeBody[] = [
  ...accepted,
  ...byRules.map(([what, body]) => ({ what, body, refused: 'rules' as const })),
  ...byShape.map(([what, body]) => ({ what, body, refused: 'shape' as const })),
  { what: 'samples to validate', body: withField(kafka, 'source.validateSamples', true), refused: 'samples' },
]

export const acceptedPipeBodies = accepted.length
