// The rules of each kind of source when a pipe is created: every value, bound, need and exclusion. Every secret in this file
// has the word "hush" in it.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import {
  type Json,
  leastPipes,
  pointersOf,
  type ServiceOfPipes,
  serviceOfPipes,
  withField,
} from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { openSecrets } from './store.ts'

const text = (length: number) => 'x'.repeat(length)
const pem = (name: string, content: string) => `-----BEGIN ${name}-----\n${content}\n-----END ${name}-----\n`
const login = { username: 'hush-user', password: 'hush-password' }
const userKey = { accessKeyId: 'hush-key-id', secretKey: 'hush-secret-key' }
const clientCertificate = { certificate: pem('CERTIFICATE', 'hush1'), privateKey: pem('PRIVATE KEY', 'hush2') }
const eventHub = { connectionString: 'Endpoint=sb://x.example;SharedAccessKey=hush' }
const iamRole = 'arn:aws:iam::000000000000:role/penstock'
const caCertificate = pem('CERTIFICATE', 'MIIBkTCCATegAwIBAgIU')
const accountString = 'AccountName=northwind;AccountKey=hush+key/==;EndpointSuffix=core.example'
const accountMask = 'AccountName=northwind;AccountKey=***;EndpointSuffix=core.example'

/** Fields that replace those of the minimal source; undefined removes one. */
type Change = Json

interface Accepted {
  title: string
  kind: SourceKindName
  change: Change
  /** Shown although not sent. */
  added?: Json
  /** Sent, but shown differently or not at all. */
  shown?: Json
  secrets?: Json
}

interface Refused {
  title: string
  kind: SourceKindName
  change: Change
  /** Relative to the source. */
  fields: string[]
  says?: RegExp
}

const each = <Value>(values: Value[], make: (value: Value) => Accepted): Accepted[] => values.map(make)
const azure: Change = {
  type: 'azureblobstorage',
  url: undefined,
  azureContainerName: 'invoices',
  path: '**/*.json',
  connectionString: accountString,
}
const azureShown = { connectionString: accountMask }
const mapping = { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }
const mappingDefaults = {
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}
const postgresDefaults = {
  allowNullableColumns: false,
  enableFailoverSlots: false,
  initialLoadParallelism: 4,
  pullBatchSize: 100000,
  replicationMode: 'cdc',
  snapshotNumRowsPerPartition: 100000,
  snapshotNumberOfParallelTables: 1,
  syncIntervalSeconds: 60,
}

const accepted: Accepted[] = [
  {
    title: 'the least, with defaults',
    kind: 'kafka',
    change: {},
    secrets: { credentials: login },
  },
  {
    title: 'every field',
    kind: 'kafka',
    change: {
      type: 'confluent',
      format: 'AvroConfluent',
      brokers: 'broker-1.example:9092,10.0.0.1:65535,[2001:db8::1]:1,a_b:9093',
      topics: 'orders,orders.v2,_a-B9',
      authentication: 'SCRAM-SHA-512',
      credentials: { ...login, ...userKey },
      consumerGroup: 'my group',
      offset: { strategy: 'from_timestamp', timestamp: '2024-02-29T23:59' },
      schemaRegistry: {
        url: 'https://registry.example:8081/base',
        authentication: 'PLAIN',
        caCertificate,
        credentials: { username: 'hush-registry', password: 'hush-registry-password' },
      },
      caCertificate: `${caCertificate}${caCertificate}`,
      iamRole,
      reversePrivateEndpointIds: ['rpe-1', 'rpe-2'],
    },
    shown: { schemaRegistry: { url: 'https://registry.example:8081/base', authentication: 'PLAIN', caCertificate } },
    secrets: {
      credentials: { ...login, ...userKey },
      schemaRegistry: { username: 'hush-registry', password: 'hush-registry-password' },
    },
  },
  ...each(['kafka', 'redpanda', 'msk', 'confluent', 'warpstream', 'azureeventhub', 'dokafka'], (type) => ({
    title: `type ${type}`,
    kind: 'kafka',
    change: { type },
  })),
  ...each(['JSONEachRow', 'Avro', 'Protobuf'], (format) => ({
    title: `format ${format}`,
    kind: 'kafka',
    change: { format },
  })),
  {
    title: 'AvroConfluent with a registry that asks for nothing',
    kind: 'kafka',
    change: { format: 'AvroConfluent', schemaRegistry: { url: 'http://registry.example' } },
    secrets: { credentials: login },
  },
  {
    title: 'PLAIN for a registry whose credentials are sent',
    kind: 'kafka',
    change: { schemaRegistry: { url: 'http://registry.example', credentials: login } },
    shown: { schemaRegistry: { url: 'http://registry.example', authentication: 'PLAIN' } },
    secrets: { credentials: login, schemaRegistry: login },
  },
  ...each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'], (authentication) => ({
    title: `authentication ${authentication}`,
    kind: 'kafka',
    change: { authentication },
    secrets: { credentials: login },
  })),
  {
    title: 'authentication IAM_ROLE',
    kind: 'kafka',
    change: { authentication: 'IAM_ROLE', iamRole, credentials: undefined },
    secrets: {},
  },
  {
    title: 'authentication IAM_USER',
    kind: 'kafka',
    change: { authentication: 'IAM_USER', credentials: userKey },
    secrets: { credentials: userKey },
  },
  {
    title: 'authentication MUTUAL_TLS',
    kind: 'kafka',
    change: { authentication: 'MUTUAL_TLS', credentials: clientCertificate },
    secrets: { credentials: clientCertificate },
  },
  {
    title: 'the connection string of Event Hubs',
    kind: 'kafka',
    change: { type: 'azureeventhub', credentials: eventHub },
    secrets: { credentials: eventHub },
  },
  ...each(['from_beginning', 'from_latest'], (strategy) => ({
    title: `offset ${strategy}`,
    kind: 'kafka',
    change: { offset: { strategy } },
  })),
  { title: 'the least, with defaults', kind: 'kinesis', change: {}, added: { useEnhancedFanOut: false }, secrets: {} },
  {
    title: 'every field',
    kind: 'kinesis',
    change: {
      authentication: 'IAM_USER',
      accessKey: userKey,
      iamRole,
      format: 'Avro',
      iteratorType: 'AT_TIMESTAMP',
      region: 'us-gov-west-1',
      streamName: `a_B.9-${text(122)}`,
      timestamp: 1767225600,
      useEnhancedFanOut: true,
    },
    secrets: { accessKey: userKey },
  },
  ...each(['JSONEachRow', 'Avro', 'AvroConfluent'], (format) => ({
    title: `format ${format}`,
    kind: 'kinesis',
    change: { format },
    added: { useEnhancedFanOut: false },
  })),
  ...each(['TRIM_HORIZON', 'LATEST'], (iteratorType) => ({
    title: `iteratorType ${iteratorType}`,
    kind: 'kinesis',
    change: { iteratorType },
    added: { useEnhancedFanOut: false },
  })),
  ...each([0, 253402300799], (timestamp) => ({
    title: `timestamp ${timestamp}`,
    kind: 'kinesis',
    change: { iteratorType: 'AT_TIMESTAMP', timestamp },
    added: { useEnhancedFanOut: false },
  })),
  {
    title: 'the least, with defaults',
    kind: 'objectStorage',
    change: {},
    added: { compression: 'auto', isContinuous: false },
    secrets: {},
  },
  {
    title: 'every field but those of azure',
    kind: 'objectStorage',
    change: {
      authentication: 'IAM_USER',
      accessKey: userKey,
      iamRole,
      compression: 'zstd',
      delimiter: '|',
      format: 'CSV',
      isContinuous: true,
      queueUrl: 'https://sqs.example/000000000000/invoices',
      url: 's3://bucket/{a,b}/**/data_?.[0-9].csv',
    },
    secrets: { accessKey: userKey },
  },
  {
    title: 'a queue whose initial load is skipped',
    kind: 'objectStorage',
    change: {
      iamRole,
      isContinuous: true,
      queueUrl: 'https://sqs.example/000000000000/invoices',
      skipInitialLoad: true,
    },
    added: { compression: 'auto', authentication: 'IAM_ROLE' },
  },
  {
    title: 'a queue of azure',
    kind: 'objectStorage',
    change: { ...azure, isContinuous: true, queueUrl: 'https://account.queue.example/invoices' },
    shown: azureShown,
    added: { compression: 'auto', authentication: 'CONNECTION_STRING' },
  },
  {
    title: 'azure, whose connection string decides the authentication',
    kind: 'objectStorage',
    change: azure,
    shown: azureShown,
    added: { compression: 'auto', isContinuous: false, authentication: 'CONNECTION_STRING' },
    secrets: { connectionString: accountString },
  },
  {
    title: 'azure with its authentication',
    kind: 'objectStorage',
    change: { ...azure, authentication: 'CONNECTION_STRING' },
    shown: azureShown,
    added: { compression: 'auto', isContinuous: false },
    secrets: { connectionString: accountString },
  },
  {
    title: 'an access key that decides the authentication',
    kind: 'objectStorage',
    change: { accessKey: userKey },
    added: { compression: 'auto', isContinuous: false, authentication: 'IAM_USER' },
    secrets: { accessKey: userKey },
  },
  {
    title: 'a role that decides the authentication',
    kind: 'objectStorage',
    change: { iamRole },
    added: { compression: 'auto', isContinuous: false, authentication: 'IAM_ROLE' },
    secrets: {},
  },
  {
    title: 'authentication IAM_ROLE',
    kind: 'objectStorage',
    change: { authentication: 'IAM_ROLE', iamRole },
    added: { compression: 'auto', isContinuous: false },
    secrets: {},
  },
  ...each(['s3', 'gcs', 'dospaces'], (type) => ({
    title: `type ${type}`,
    kind: 'objectStorage',
    change: { type },
    added: { compression: 'auto', isContinuous: false },
  })),
  ...each(
    ['JSONEachRow', 'CSV', 'CSVWithNames', 'TabSeparated', 'TabSeparatedWithNames', 'Parquet', 'Avro'],
    (format) => ({
      title: `format ${format}`,
      kind: 'objectStorage',
      change: { format },
      added: { compression: 'auto', isContinuous: false },
    }),
  ),
  ...each(['auto', 'none', 'gzip', 'gz', 'brotli', 'br', 'xz', 'LZMA', 'zstd'], (compression) => ({
    title: `compression ${compression}`,
    kind: 'objectStorage',
    change: { compression },
    added: { isContinuous: false },
  })),
  {
    title: 'the least, with defaults',
    kind: 'postgres',
    change: {},
    added: { port: 5432, settings: postgresDefaults },
    shown: { tableMappings: [{ ...mapping, ...mappingDefaults }] },
    secrets: { credentials: login },
  },
  {
    title: 'every field',
    kind: 'postgres',
    change: {
      host: '2001:db8::1',
      port: 65535,
      settings: {
        allowNullableColumns: true,
        enableFailoverSlots: false,
        initialLoadParallelism: 1,
        publicationName: 'Some Publication',
        pullBatchSize: 2147483647,
        replicationMode: 'cdc_only',
        replicationSlotName: 'slot_1',
        snapshotNumRowsPerPartition: 1000,
        snapshotNumberOfParallelTables: 2147483647,
        syncIntervalSeconds: 1,
      },
      tableMappings: [
        {
          ...mapping,
          tableEngine: 'MergeTree',
          useCustomSortingKey: true,
          sortingKeys: ['id', 'at'],
          excludedColumns: ['note'],
        },
        { ...mapping, ...mappingDefaults, sourceSchemaName: 'other', targetTable: 'others', tableEngine: 'Null' },
      ],
    },
    secrets: { credentials: login },
  },
  ...each(['cdc', 'snapshot', 'cdc_only'], (replicationMode) => ({
    title: `replicationMode ${replicationMode}`,
    kind: 'postgres',
    change: { settings: { replicationMode } },
    added: { port: 5432 },
    shown: {
      settings: { ...postgresDefaults, replicationMode },
      tableMappings: [{ ...mapping, ...mappingDefaults }],
    },
  })),
  {
    title: 'failover slots without a slot name',
    kind: 'postgres',
    change: { settings: { enableFailoverSlots: true } },
    added: { port: 5432 },
    shown: {
      settings: { ...postgresDefaults, enableFailoverSlots: true },
      tableMappings: [{ ...mapping, ...mappingDefaults }],
    },
  },
]

const wrong = (kind: SourceKindName, field: string, values: unknown[], says?: RegExp): Refused[] =>
  values.map((value) => ({
    title: `${field} ${JSON.stringify(value)?.slice(0, 70) ?? 'left out'}`,
    kind,
    change: { [field.split('.')[0]!]: value },
    fields: [field],
    ...(says ? { says } : {}),
  }))
const combination = (
  kind: SourceKindName,
  title: string,
  change: Change,
  fields: string | string[],
  says?: RegExp,
): Refused => ({ kind, title, change, fields: [fields].flat(), ...(says ? { says } : {}) })

const refused: Refused[] = [
  ...wrong('kafka', 'type', [undefined, 'nats', null, 5]),
  ...wrong('kafka', 'format', [undefined, 'CSV', 'jsoneachrow']),
  ...wrong('kafka', 'authentication', [undefined, null, 'plain', 'CONNECTION_STRING']),
  ...wrong('kafka', 'brokers', [undefined, '', text(8193), ['broker:9092']]),
  ...wrong(
    'kafka',
    'brokers',
    [
      'broker',
      'broker:',
      ':9092',
      'broker:0',
      'broker:65536',
      'broker:9092,',
      ',broker:9092',
      'broker:9092,,b:1',
      'broker:9092, b:9092',
      'kafka://broker:9092',
      '2001:db8::1:9092',
      '[2001:db8::zz]:9092',
      '[10.0.0.1]:9092',
      '[fe80::1%eth0]:9092',
      '[broker]:9092',
      '300.0.0.1:9092',
      'bro ker:9092',
      '-broker:9092',
      `${text(64)}:9092`,
      'hush:hush@broker:9092',
    ],
    /must be "host:port", separated by commas and nothing else, but has ("|a user name)/,
  ),
  ...wrong('kafka', 'topics', [undefined, '', text(8193), ['orders']]),
  ...wrong(
    'kafka',
    'topics',
    [',', 'orders,', ',orders', 'a,,b', 'a, b', 'or ders', '.', '..', 'größe', 'a/b', text(250)],
    /must be names of topics, separated by commas and nothing else, but has "/,
  ),
  ...wrong('kafka', 'consumerGroup', ['', text(256), null]),
  ...wrong('kafka', 'caCertificate', ['', 'MIIB', null, pem('PRIVATE KEY', 'MIIB')]),
  ...wrong('kafka', 'iamRole', ['', text(2049), null]),
  ...wrong('kafka', 'reversePrivateEndpointIds', [null, 'rpe', Array.from({ length: 65 }, (_, at) => `rpe-${at}`)]),
  ...wrong('kafka', 'reversePrivateEndpointIds.0', [[''], [text(256)], [null]]),
  ...wrong('kafka', 'offset', [null, 'from_latest']),
  ...wrong('kafka', 'offset.strategy', [{}, { strategy: 'latest' }, { strategy: null }]),
  ...wrong('kafka', 'offset.partition', [{ strategy: 'from_latest', partition: 1 }]),
  ...wrong(
    'kafka',
    'offset.timestamp',
    ['2026-01-01', '2026-01-01T00:00:00', '2026-01-01T00:00Z', '2026-1-1T00:00', '', null].map((timestamp) => ({
      strategy: 'from_timestamp',
      timestamp,
    })),
  ),
  ...wrong(
    'kafka',
    'offset.timestamp',
    ['2026-02-29T00:00', '2026-04-31T00:00', '2026-13-01T00:00', '2026-01-01T24:00', '2026-01-01T00:60'].map(
      (timestamp) => ({ strategy: 'from_timestamp', timestamp }),
    ),
    /must be an existing date and time/,
  ),
  ...wrong('kafka', 'offset.timestamp', [{ strategy: 'from_timestamp' }], /is required, because strategy is/),
  ...wrong(
    'kafka',
    'offset.timestamp',
    ['from_beginning', 'from_latest'].map((strategy) => ({ strategy, timestamp: '2026-01-01T00:00' })),
    /is only for from_timestamp/,
  ),
  ...wrong('kafka', 'schemaRegistry', [null, 'https://registry.example']),
  ...wrong('kafka', 'schemaRegistry.url', [
    {},
    { url: '' },
    { url: 'registry.example' },
    { url: 'ftp://registry.example' },
    { url: 'https://' },
    { url: 'https:///x' },
    { url: 'https://registry.example/a b' },
    { url: 'https://registry.example:99999' },
    { url: 'https://registry.example?token=hush' },
  ]),
  ...wrong('kafka', 'schemaRegistry.url', [{ url: 'https://hush:hush@registry.example' }], /must not hold a user name/),
  ...wrong('kafka', 'schemaRegistry.authentication', [{ url: 'https://r.example', authentication: 'IAM_ROLE' }]),
  ...wrong('kafka', 'schemaRegistry.caCertificate', [{ url: 'https://r.example', caCertificate: 'x' }]),
  ...wrong(
    'kafka',
    'schemaRegistry.credentials',
    [
      { url: 'https://r.example', authentication: 'PLAIN' },
      { url: 'https://r.example', credentials: {} },
      { url: 'https://r.example', credentials: { username: 'hush' } },
    ],
    /must have .*password, because authentication is PLAIN/,
  ),
  ...wrong('kafka', 'schemaRegistry.credentials.apiKey', [
    { url: 'https://r.example', credentials: { apiKey: 'hush' } },
  ]),
  combination(
    'kafka',
    'AvroConfluent without a registry',
    { format: 'AvroConfluent' },
    'schemaRegistry',
    /because format is/,
  ),
  combination('kafka', 'a login left out', { credentials: undefined }, 'credentials', /username and password/),
  combination('kafka', 'a login with no parts', { credentials: {} }, 'credentials', /username and password/),
  combination('kafka', 'no password', { credentials: { username: 'hush' } }, 'credentials', /must have password/),
  combination(
    'kafka',
    'SCRAM with an access key',
    { authentication: 'SCRAM-SHA-256', credentials: userKey },
    'credentials',
    /username and password/,
  ),
  combination('kafka', 'IAM_ROLE without a role', { authentication: 'IAM_ROLE' }, 'iamRole', /because authentication/),
  combination(
    'kafka',
    'IAM_USER with a login',
    { authentication: 'IAM_USER' },
    'credentials',
    /accessKeyId and secretKey/,
  ),
  combination(
    'kafka',
    'MUTUAL_TLS without a key',
    { authentication: 'MUTUAL_TLS', credentials: { certificate: clientCertificate.certificate } },
    'credentials',
    /must have privateKey/,
  ),
  combination(
    'kafka',
    'a certificate that is not PEM',
    { authentication: 'MUTUAL_TLS', credentials: { certificate: 'hush', privateKey: 'hush' } },
    ['credentials.certificate', 'credentials.privateKey'],
    /PEM/,
  ),
  ...['hush', 'Endpoint=sb://x.example\nSharedAccessKey=hush', 'Shared Access Key=hush'].map((connectionString) =>
    combination(
      'kafka',
      `a connection string of no parts (${connectionString.length} characters)`,
      { type: 'azureeventhub', credentials: { connectionString } },
      'credentials.connectionString',
      /must be "name=value" parts separated by ";"/,
    ),
  ),
  combination('kafka', 'a connection string for another type', { credentials: eventHub }, 'credentials', /username/),
  ...wrong('kafka', 'credentials', [null, 'hush', ['hush']]),
  ...wrong('kafka', 'accessKey', [userKey]),
  ...wrong('kafka', 'topic', ['orders']),

  ...wrong('kinesis', 'format', [undefined, 'Protobuf', 'CSV']),
  ...wrong('kinesis', 'authentication', [undefined, 'PLAIN', null]),
  ...wrong('kinesis', 'iteratorType', [undefined, 'LAST', null]),
  ...wrong('kinesis', 'region', [undefined, '', 'europe', 'EU-WEST-1', 'eu-west-', 'eu west-1', `eu-${text(70)}-1`]),
  ...wrong('kinesis', 'streamName', [undefined, '', 'a b', 'a/b', 'größe', text(129)]),
  ...wrong('kinesis', 'useEnhancedFanOut', ['true', null]),
  ...wrong('kinesis', 'iamRole', ['', text(2049), null]),
  ...wrong('kinesis', 'accessKey', [null, 'hush']),
  ...wrong('kinesis', 'stream', ['x']),
  ...[-1, 1.5, '1', 253402300800, null].map((timestamp) =>
    combination('kinesis', `timestamp ${timestamp}`, { iteratorType: 'AT_TIMESTAMP', timestamp }, 'timestamp'),
  ),
  combination('kinesis', 'AT_TIMESTAMP without one', { iteratorType: 'AT_TIMESTAMP' }, 'timestamp', /is required/),
  combination('kinesis', 'a timestamp with LATEST', { timestamp: 0 }, 'timestamp', /is only for AT_TIMESTAMP/),
  combination('kinesis', 'IAM_ROLE without a role', { iamRole: undefined }, 'iamRole', /because authentication/),
  combination(
    'kinesis',
    'IAM_USER without a key',
    { authentication: 'IAM_USER' },
    'accessKey',
    /accessKeyId and secretKey/,
  ),
  combination(
    'kinesis',
    'IAM_USER without the secret of its key',
    { authentication: 'IAM_USER', accessKey: { accessKeyId: 'hush' } },
    'accessKey',
    /must have secretKey/,
  ),

  ...wrong('objectStorage', 'type', [undefined, 'minio', null]),
  ...wrong('objectStorage', 'format', [undefined, 'Protobuf']),
  ...wrong('objectStorage', 'compression', [null, 'lzma', 'snappy']),
  ...wrong('objectStorage', 'authentication', [null, 'PLAIN']),
  ...wrong('objectStorage', 'isContinuous', [null, 'true']),
  ...wrong('objectStorage', 'url', [
    undefined,
    '',
    text(2049),
    'bucket/*.json',
    'file:///etc/passwd',
    'https://',
    'https://bucket.example/a b',
  ]),
  ...wrong('objectStorage', 'url', ['https://hush:hush@bucket.example/*'], /must not hold a user name/),
  ...wrong(
    'objectStorage',
    'url',
    [
      'https://b.example/*?X-Amz-Signature=hush',
      'https://b.example/*?sv=1&sig=hush',
      'https://b.example/?x-goog-signature=hush',
      'https://b.example/*?Signature=hush&AWSAccessKeyId=hush',
      'https://b.example/*?AWSAccessKeyId=hush',
      'https://b.example/*?X-Amz-Security-Token=hush',
      'https://b.example/*?x-amz-credential=hush',
      'https://b.example/*?token=hush',
      'https://b.example/*?access_token=hush',
      'https://b.example/*?client_secret=hush',
      'https://b.example/*?db-password=hush',
      'https://b.example/*?%73ig=hush',
      'https://b.example/*?sv=1%26sig%3Dhush',
      'https://b.example/*?a=1;sig=hush',
      'https://b.example/*;sig=hush',
      'https://b.example/*#sig=hush',
      'https://b.example/*?+sig=hush',
      's3://bucket/*?Sig=hush',
    ],
    /must not hold a signature/,
  ),
  ...wrong('objectStorage', 'path', ['', text(1025), null]),
  ...wrong('objectStorage', 'azureContainerName', ['', text(256), null]),
  ...wrong('objectStorage', 'delimiter', ['', ';;', null]),
  ...wrong('objectStorage', 'connectionString', ['', 5, null, 'hush', 'AccountName=a\nAccountKey=hush']),
  combination(
    'objectStorage',
    'a connection string with a mask',
    { ...azure, connectionString: 'AccountName=a;AccountKey=***' },
    'connectionString',
    /has \*\*\* in place of its secret/,
  ),
  ...wrong('objectStorage', 'bucket', ['x']),
  ...['JSONEachRow', 'TabSeparated', 'TabSeparatedWithNames', 'Parquet', 'Avro'].map((format) =>
    combination('objectStorage', `a delimiter of ${format}`, { format, delimiter: ';' }, 'delimiter', /is only for/),
  ),
  combination(
    'objectStorage',
    'a queue of a pipe that ends',
    { iamRole, queueUrl: 'https://sqs.example/1' },
    'queueUrl',
    /is only for a pipe with isContinuous/,
  ),
  ...['https://sqs.example', 'https://sqs.example/', 'https://sqs.example/a%20b', 'https://sqs.example?queue=a'].map(
    (queueUrl) =>
      combination(
        'objectStorage',
        `${queueUrl} for a queue`,
        { iamRole, isContinuous: true, queueUrl },
        'queueUrl',
        /queueUrl names no queue; write it as https:\/\/sqs\.eu-west-1\.amazonaws\.com\//,
      ),
  ),
  combination(
    'objectStorage',
    'a queue of azure without a name',
    { ...azure, isContinuous: true, queueUrl: 'https://account.queue.example/' },
    'queueUrl',
    /names no queue; write it as https:\/\/account\.queue\./,
  ),
  combination(
    'objectStorage',
    'a queue without credentials',
    { isContinuous: true, queueUrl: 'https://sqs.example/000000000000/invoices' },
    'authentication',
    /is required, because nobody reads a queue without credentials: send accessKey or iamRole/,
  ),
  ...['gcs', 'dospaces'].map((type) =>
    combination(
      'objectStorage',
      `a queue of ${type}`,
      { type, iamRole, isContinuous: true, queueUrl: 'https://sqs.example/000000000000/invoices' },
      'queueUrl',
      new RegExp(`is only for s3 and azureblobstorage: ${type} has no queue that Penstock can read`),
    ),
  ),
  ...wrong('objectStorage', 'skipInitialLoad', [null, 'true', 1]),
  combination(
    'objectStorage',
    'an initial load that is skipped, without a queue',
    { isContinuous: true, skipInitialLoad: true },
    'skipInitialLoad',
    /is only for a pipe with queueUrl/,
  ),
  combination(
    'objectStorage',
    'a queue that is no URL',
    { iamRole, isContinuous: true, queueUrl: 'invoices' },
    'queueUrl',
  ),
  combination('objectStorage', 'IAM_ROLE without a role', { authentication: 'IAM_ROLE' }, 'iamRole'),
  combination('objectStorage', 'IAM_USER without a key', { authentication: 'IAM_USER' }, 'accessKey'),
  combination('objectStorage', 'half an access key', { accessKey: { secretKey: 'hush' } }, 'accessKey', /accessKeyId/),
  combination(
    'objectStorage',
    's3 with CONNECTION_STRING',
    { authentication: 'CONNECTION_STRING', connectionString: accountString },
    ['authentication', 'connectionString'],
  ),
  ...['s3', 'gcs', 'dospaces'].map((type) =>
    combination(
      'objectStorage',
      `${type} with the fields of azure`,
      { type, azureContainerName: 'invoices', connectionString: accountString, path: '*.json' },
      ['azureContainerName', 'connectionString', 'path'],
      new RegExp(`is only for azureblobstorage; type is ${type}`),
    ),
  ),
  combination(
    'objectStorage',
    'azure with the credentials of the others',
    { ...azure, accessKey: userKey, iamRole },
    ['accessKey', 'iamRole'],
    /is not for azureblobstorage, which has connectionString/,
  ),
  combination('objectStorage', 'azure with IAM_ROLE', { ...azure, authentication: 'IAM_ROLE', iamRole }, [
    'authentication',
    'iamRole',
  ]),
  combination('objectStorage', 'azure with a url', { ...azure, url: 'https://x.example' }, 'url', /is not for azure/),
  combination(
    'objectStorage',
    'azure with nothing',
    { type: 'azureblobstorage', url: undefined },
    ['azureContainerName', 'connectionString', 'path'],
    /because type is azureblobstorage/,
  ),

  ...wrong('postgres', 'host', [undefined, '', 'a b', 'http://db', '300.1.1.1', 'db:5432', text(254), null]),
  ...wrong('postgres', 'port', [0, 65536, '5432', null]),
  ...wrong('postgres', 'database', [undefined, '', text(256), null]),
  ...wrong('postgres', 'credentials', [undefined, null, {}, { username: 'hush' }, { password: 'hush' }]),
  ...wrong('postgres', 'tableMappings', [undefined, null, [], Array.from({ length: 1001 }, () => mapping)]),
  ...wrong('postgres', 'tableMappings.0.targetTable', [[{ ...mapping, targetTable: undefined }]]),
  ...wrong('postgres', 'tableMappings.0.tableEngine', [[{ ...mapping, tableEngine: 'Log' }]]),
  ...wrong('postgres', 'tableMappings.0.sortingKeys', [[{ ...mapping, sortingKeys: ['a', 'a'] }]]),
  ...wrong('postgres', 'tableMappings.0.engine', [[{ ...mapping, engine: 'MergeTree' }]]),
  combination(
    'postgres',
    'a table twice',
    { tableMappings: [mapping, { ...mapping, targetTable: 'other' }] },
    'tableMappings.1',
    /names public\.orders a second time/,
  ),
  combination(
    'postgres',
    'a target twice',
    { tableMappings: [mapping, { ...mapping, sourceTable: 'other' }] },
    'tableMappings.1.targetTable',
    /is "orders", where public\.orders goes already/,
  ),
  combination(
    'postgres',
    'a custom sorting key without columns',
    { tableMappings: [{ ...mapping, useCustomSortingKey: true }] },
    'tableMappings.0.sortingKeys',
    /sortingKeys is required/,
  ),
  combination(
    'postgres',
    'a sorting key that is excluded',
    { tableMappings: [{ ...mapping, sortingKeys: ['id'], excludedColumns: ['id'] }] },
    'tableMappings.0.excludedColumns',
    /excludedColumns has columns of the sorting key/,
  ),
  combination(
    'postgres',
    'a slot name without cdc_only',
    { settings: { replicationSlotName: 'slot' } },
    'settings.replicationSlotName',
    /is only for replicationMode cdc_only/,
  ),
  combination(
    'postgres',
    'failover slots with a slot name',
    { settings: { replicationMode: 'cdc_only', replicationSlotName: 'slot', enableFailoverSlots: true } },
    'settings.enableFailoverSlots',
  ),
  ...(
    [
      ['syncIntervalSeconds', 0],
      ['syncIntervalSeconds', 2147483648],
      ['pullBatchSize', 0],
      ['initialLoadParallelism', 0],
      ['snapshotNumRowsPerPartition', 999],
      ['snapshotNumberOfParallelTables', 0],
      ['pullBatchSize', null],
      ['replicationMode', 'full'],
      ['publicationName', ''],
      ['publicationName', text(64)],
      ['replicationSlotName', ''],
      ['replicationSlotName', 'Slot'],
      ['replicationSlotName', text(64)],
      ['allowNullableColumns', 'true'],
      ['enableFailoverSlots', null],
      ['slot', 'x'],
    ] as const
  ).map(([name, value]) =>
    combination('postgres', `setting ${name} ${value}`, { settings: { [name]: value } }, `settings.${name}`),
  ),
]

onBothDatabases('createPipe with a source', (app) => {
  let service: ServiceOfPipes
  before(async () => {
    service = await serviceOfPipes(app())
  })
  const answers: string[] = []

  const bodyOf = (kind: SourceKindName, change: Change): Json =>
    Object.entries(change).reduce(
      (body, [field, value]) => withField(body, `source.${kind}.${field}`, value),
      leastPipes[kind],
    )

  describe('200', () => {
    for (const { title, kind, change, added = {}, shown = {}, secrets } of accepted) {
      it(`${kind}: ${title}`, async () => {
        const body = bodyOf(kind, change)
        const pipe = await service.create(body)
        const { credentials: _, accessKey: __, ...sent } = (body.source as Record<string, Json>)[kind]!
        const defaults =
          kind === 'kafka'
            ? { consumerGroup: `penstock-${pipe.id}`, offset: { strategy: 'from_beginning' }, ...added }
            : added
        assert.deepEqual((pipe.source as Json)[kind], { ...defaults, ...sent, ...shown })
        if (secrets) assert.deepEqual(openSecrets(app().app.vault, await service.load(pipe.id)), secrets)

        const read = await service.send('GET', `/${pipe.id}`)
        assert.deepEqual(read.body.result, pipe)
        const back = await service.send('PATCH', `/${pipe.id}`, read.body.result)
        assert.equal(back.status, 200, back.text)
        assert.equal(back.headers.etag, read.headers.etag)
        answers.push(read.text, back.text, JSON.stringify(pipe))
      })
    }

    it('does not show that the initial load of a queue is not skipped', async () => {
      const queue = { iamRole, isContinuous: true, queueUrl: 'https://sqs.example/000000000000/invoices' }
      for (const change of [{ ...queue, skipInitialLoad: false }, { skipInitialLoad: false }]) {
        const { source } = await service.create(bodyOf('objectStorage', change))
        assert.ok(!('skipInitialLoad' in (source as { objectStorage: Json }).objectStorage))
      }
    })

    it('keeps the credentials of a schema registry when the others change', async () => {
      const registry = { url: 'https://registry.example', credentials: login }
      const { id } = await service.create(bodyOf('kafka', { schemaRegistry: registry }))
      const credentials = { password: 'hush-new' }
      assert.equal((await service.send('PATCH', `/${id}`, { source: { kafka: { credentials } } })).status, 200)
      assert.deepEqual(openSecrets(app().app.vault, await service.load(id)), {
        credentials: { ...login, ...credentials },
        schemaRegistry: login,
      })
      const wrong = await service.send('PATCH', `/${id}`, { source: { kafka: { schemaRegistry: registry } } })
      assert.equal(wrong.status, 400)
      answers.push(wrong.text)
    })
  })

  describe('400', () => {
    for (const { title, kind, change, fields, says } of refused) {
      it(`${kind}: ${title}`, async () => {
        const answer = await service.send('POST', '', bodyOf(kind, change))
        answers.push(answer.text)
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.code, 'invalid_body')
        const pointers = fields.map((field) => `#/source/${kind}/${field.replaceAll('.', '/')}`)
        assert.deepEqual(pointersOf(answer), pointers.sort())
        if (says) assert.match(answer.body.detail, says)
      })
    }
  })

  describe('secrets', () => {
    it('are in no answer, no line of the log, no activity and no row', async () => {
      assert.ok(answers.length > 200)
      const rows = [await app().query('SELECT * FROM pipes'), await app().query('SELECT * FROM activities')]
      assert.doesNotMatch(JSON.stringify([answers, rows, app().logged]), /hush/)
    })
  })
})
