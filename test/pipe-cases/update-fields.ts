// The fields of a pipe for the tests of updates: accepted values, refused values, and fields that cannot be changed.
import type { SourceKindName } from '../../src/source-shapes/source-kind.ts'

export type Json = Record<string, unknown>

export const kinds: SourceKindName[] = ['kafka', 'kinesis', 'objectStorage', 'postgres']
export const unknownId = '00000000-0000-4000-8000-000000000000'
export const pem = '-----BEGIN CERTIFICATE-----\nMIIBkTCCATegAwIBAgIU\n-----END CERTIFICATE-----'
const text = (length: number) => 'x'.repeat(length)

/** An invalid value; `inside` is where the response points, if that is below the field itself. */
export type Refused = [value: unknown, inside?: string]

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

export const wrongTypes: Record<Field['type'], unknown[]> = {
  string: [5, true, ['a'], { a: 'b' }],
  integer: ['5', true, 1.5, [5], { a: 5 }],
  boolean: ['true', 0, [true], { a: true }],
  list: ['a', 5, true, { a: 'b' }],
}
const cleared = { value: undefined }

export const settings: [name: string, least: number | boolean, most: number | boolean, standard: number | boolean][] = [
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

export const columns = [
  { name: 'customer', type: 'LowCardinality(String)' },
  { name: 'größe', type: 'Nullable(Float64)' },
]

// The fields outside the source are the same for every kind, so one kind is enough.
export const fields: Field[] = [
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
export const immutable: [path: string, other: unknown, only?: SourceKindName][] = [
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
