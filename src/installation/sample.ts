// Sample organization of the try-it mode: two people, a service, a stopped pipe of each kind with all fields set, and running pipes for
// sample files and the sample shop. The engine is on this machine; all other hosts end in `.example` and do not resolve.
import type { WriteContext } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'
import { newKey } from '../keys/key.ts'
import { insertKey } from '../keys/store.ts'
import { newId } from '../lib/id.ts'
import { insertMember, insertUser } from '../members/store.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import { pipeExample } from '../pipes/pipe-example.ts'
import { defaultScaling } from '../pipes/scaling.ts'
import { insertPipe, sealSecrets } from '../pipes/store.ts'
import { passwordContext } from '../services/service.ts'
import { insertService } from '../services/store.ts'
import { maskConnectionString } from '../source-shapes/object-storage-source.ts'
import type { SourceKindName, SourceSecrets } from '../source-shapes/source-kind.ts'
import { initialize } from './initialize.ts'

export interface Sample {
  organizationId: string
  adminUserId: string
  userId: string
  serviceId: string
  keyId: string
  keySecret: string
  developerKeyId: string
  developerKeySecret: string
  pipeIds: Record<SourceKindName, string>
  /** Id of the pipe that loads files, if there are files. */
  runningPipeId?: string
  /** Id of the pipe that replicates the shop, if there is one. */
  shopPipeId?: string
}

export interface SampleInput {
  /** Default: ClickHouse on this machine with its default settings. */
  engine?: { url: string; username: string; password: string }
  /** Source URL of order files, for a pipe that loads them. */
  filesUrl?: string
  /** A PostgreSQL database, for a pipe that replicates it. */
  shop?: SampleShop
}

export interface SampleShop {
  host: string
  port: number
  database: string
  username: string
  password: string
}

/** A ClickHouse on this machine with its default settings. */
const defaultEngine = { url: 'http://127.0.0.1:8123', username: 'default', password: '' }

export const sampleAdminEmail = 'ingrid.solheim@northwind.example'

/** Returns undefined when the store is not empty. */
export async function createSample(
  { sql, vault }: WriteContext,
  { engine = defaultEngine, filesUrl, shop }: SampleInput,
): Promise<Sample | undefined> {
  const first = await initialize(
    { sql, vault },
    {
      organizationName: 'Northwind Analytics',
      adminName: 'Ingrid Solheim',
      adminEmail: sampleAdminEmail,
    },
  )
  if (!first) return undefined
  const now = new Date().toISOString()
  const { organizationId } = first
  const userId = newId()
  await insertUser(sql, { id: userId, name: 'Amara Okafor', email: 'amara.okafor@northwind.example', now })
  await insertMember(sql, { organizationId, userId, role: 'developer', now })
  const developerKey = newKey(vault)
  await insertKey(sql, {
    id: newId(),
    organizationId,
    key: developerKey,
    name: 'Developer key',
    role: 'developer',
    now,
  })
  const serviceId = newId()
  await insertService(sql, {
    id: serviceId,
    organizationId,
    name: 'analytics',
    provider: 'aws',
    region: 'us-east-1',
    endpoint: {
      url: engine.url,
      username: engine.username,
      sealedPassword: vault.seal(engine.password, passwordContext({ id: serviceId, organizationId })),
    },
    now,
  })

  const pipeIds = {} as Record<SourceKindName, string>
  for (const [kind, sample] of Object.entries(samplePipes) as [SourceKindName, SamplePipe][]) {
    const id = newId()
    pipeIds[kind] = id
    const { secrets, table, ...pipe } = sample
    await insertPipe(sql, {
      ...pipe,
      id,
      kind,
      organizationId,
      serviceId,
      fieldMappings: pipeExample.fieldMappings,
      // A database that every engine has, and a table that no running pipe fills.
      destination: { ...pipeExample.destination, database: 'default', table, tableDefinition },
      scaling: pipeExample.scaling,
      settings: {},
      sealedSecrets: sealSecrets(vault, { id, organizationId }, secrets),
      createdAt: now,
      updatedAt: now,
    })
  }
  const ids = { organizationId, serviceId }
  const runningPipeId = filesUrl === undefined ? undefined : await insertRunningPipe(sql, ids, filesUrl, now)
  const shopPipeId = shop && (await insertShopPipe({ sql, vault }, ids, shop, now))
  return {
    organizationId,
    adminUserId: first.adminUserId,
    userId,
    serviceId,
    keyId: first.keyId,
    keySecret: first.keySecret,
    developerKeyId: developerKey.keyId,
    developerKeySecret: developerKey.secret.reveal(),
    pipeIds,
    ...(runningPipeId === undefined ? {} : { runningPipeId }),
    ...(shopPipeId === undefined ? {} : { shopPipeId }),
  }
}

/** The pipe starts loading as soon as the engine of the service answers. */
async function insertRunningPipe(
  sql: Sql,
  ids: { organizationId: string; serviceId: string },
  filesUrl: string,
  now: string,
): Promise<string> {
  const id = newId()
  await insertPipe(sql, {
    ...ids,
    id,
    kind: 'objectStorage',
    name: 'Orders from files',
    state: 'Provisioning',
    source: { type: 's3', format: 'JSONEachRow', compression: 'auto', isContinuous: true, url: filesUrl },
    sealedSecrets: null,
    destination: {
      database: 'default',
      table: 'orders',
      managedTable: true,
      columns: [
        { name: 'order_id', type: 'UInt64' },
        { name: 'ordered_at', type: 'DateTime' },
        { name: 'product', type: 'String' },
        { name: 'country', type: 'String' },
        { name: 'amount', type: 'Float64' },
      ],
      tableDefinition: { engine: { type: 'MergeTree' }, sortingKey: ['ordered_at', 'order_id'] },
    },
    fieldMappings: [],
    scaling: defaultScaling,
    settings: { object_storage_polling_interval_ms: 2_000 },
    createdAt: now,
    updatedAt: now,
  })
  return id
}

/** Initial load and change data capture (CDC) of the shop's tables. */
async function insertShopPipe(
  { sql, vault }: Pick<WriteContext, 'sql' | 'vault'>,
  ids: { organizationId: string; serviceId: string },
  { host, port, database, username, password }: SampleShop,
  now: string,
): Promise<string> {
  const id = newId()
  const { organizationId } = ids
  const mapping = (table: string) => ({
    sourceSchemaName: 'public',
    sourceTable: table,
    targetTable: `shop_${table}`,
    tableEngine: 'ReplacingMergeTree' as const,
    useCustomSortingKey: false,
    sortingKeys: [],
    excludedColumns: [],
  })
  await insertPipe(sql, {
    ...ids,
    id,
    kind: 'postgres',
    name: 'Shop from PostgreSQL',
    state: 'Provisioning',
    source: {
      host,
      port,
      database,
      settings: {
        allowNullableColumns: false,
        enableFailoverSlots: false,
        initialLoadParallelism: 1,
        pullBatchSize: 100000,
        replicationMode: 'cdc',
        snapshotNumRowsPerPartition: 100000,
        snapshotNumberOfParallelTables: 1,
        syncIntervalSeconds: 2,
      },
      tableMappings: [mapping('orders'), mapping('customers')],
    },
    sealedSecrets: sealSecrets(vault, { id, organizationId }, { credentials: { username, password } }),
    destination: { database: 'default', columns: [] },
    fieldMappings: [],
    scaling: defaultScaling,
    settings: {},
    createdAt: now,
    updatedAt: now,
  })
  return id
}

const tableDefinition = {
  engine: { type: 'MergeTree' as const, columnIds: ['amount'], versionColumnId: 'ordered_at' },
  partitionBy: 'toYYYYMM(ordered_at)',
  primaryKey: 'order_id',
  // Empty, and the engine uses neither of the columns above, so that users can send any columns.
  sortingKey: [],
}

const caCertificate = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBkTCCATegAwIBAgIUdsTk7iKbN0f+u+eZt7erVohg0R0wCgYIKoZIzj0EAwIw',
  'HjEcMBoGA1UEAwwTTm9ydGh3aW5kIHNhbXBsZSBDQTAeFw0yNjExMTUwMjMyNDNa',
  'Fw0zNjExMTIwMjMyNDNaMB4xHDAaBgNVBAMME05vcnRod2luZCBzYW1wbGUgQ0Ew',
  'WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATxalqrOPJse0g2T6RauaRx4CcMNGKh',
  '9PBCkyWufBkizH/ZkPKLoOLyHlrKPU7jHKo++cbwgSe5E1yeQ8N9Xlb9o1MwUTAd',
  'BgNVHQ4EFgQUrqRm3f8kduvQnXvaEB25HhaZTkEwHwYDVR0jBBgwFoAUrqRm3f8k',
  'duvQnXvaEB25HhaZTkEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF',
  'AiA5wEG4Vt5edR17YwUSHoPE0P+p17Q/aoZ7oCH93MBvKQIhAKCeL73qO2jyfml2',
  'J1zKm4bR1Na873JS2Wje8vzcbCnG',
  '-----END CERTIFICATE-----',
].join('\n')

// Fictitious: no account has this name.
const connectionString =
  'DefaultEndpointsProtocol=https;AccountName=northwindexample;AccountKey=c2FtcGxlLWFjY291bnQta2V5;EndpointSuffix=core.example'

type SamplePipe = Pick<StoredPipe, 'name' | 'state' | 'source'> & { secrets: SourceSecrets; table: string }

const samplePipes: Record<SourceKindName, SamplePipe> = {
  kafka: {
    name: 'Orders from Kafka (add a broker to start)',
    table: 'kafka_orders',
    state: 'Stopped',
    source: {
      type: 'kafka',
      authentication: 'PLAIN',
      brokers: 'broker-1.northwind.example:9092,broker-2.northwind.example:9092',
      topics: 'orders',
      consumerGroup: 'penstock-orders',
      format: 'JSONEachRow',
      caCertificate,
      iamRole: 'arn:aws:iam::000000000000:role/penstock-kafka',
      offset: { strategy: 'from_beginning', timestamp: '2026-01-01T00:00' },
      reversePrivateEndpointIds: ['rpe-orders-1'],
      schemaRegistry: { url: 'https://registry.northwind.example', authentication: 'PLAIN', caCertificate },
    },
    secrets: { credentials: { username: 'penstock', password: 'sample-password' } },
  },
  kinesis: {
    name: 'Clicks from Kinesis (add a stream to start)',
    table: 'kinesis_clicks',
    state: 'Stopped',
    source: {
      authentication: 'IAM_ROLE',
      format: 'JSONEachRow',
      iamRole: 'arn:aws:iam::000000000000:role/penstock-kinesis',
      iteratorType: 'TRIM_HORIZON',
      region: 'us-east-1',
      streamName: 'clicks',
      timestamp: 1767225600,
      useEnhancedFanOut: false,
    },
    secrets: {},
  },
  objectStorage: {
    name: 'Invoices from S3 (add a bucket to start)',
    table: 's3_invoices',
    state: 'Stopped',
    source: {
      type: 's3',
      authentication: 'IAM_ROLE',
      azureContainerName: 'invoices',
      compression: 'auto',
      connectionString: maskConnectionString(connectionString),
      delimiter: ',',
      format: 'JSONEachRow',
      iamRole: 'arn:aws:iam::000000000000:role/penstock-invoices',
      isContinuous: true,
      path: 'invoices/**.json',
      queueUrl: 'https://sqs.us-east-1.amazonaws.example/000000000000/invoices',
      url: 'https://northwind-invoices.s3.us-east-1.amazonaws.example/invoices/*.json',
    },
    secrets: { connectionString },
  },
  postgres: {
    name: 'Customers from PostgreSQL (add a server to start)',
    table: 'northwind_orders',
    state: 'Paused',
    source: {
      host: 'shop-db.northwind.example',
      port: 5432,
      database: 'shop',
      settings: {
        allowNullableColumns: false,
        enableFailoverSlots: false,
        initialLoadParallelism: 4,
        publicationName: 'penstock_shop',
        pullBatchSize: 100000,
        replicationMode: 'cdc_only',
        replicationSlotName: 'penstock_shop',
        snapshotNumRowsPerPartition: 100000,
        snapshotNumberOfParallelTables: 1,
        syncIntervalSeconds: 60,
      },
      tableMappings: [
        {
          sourceSchemaName: 'public',
          sourceTable: 'orders',
          targetTable: 'northwind_orders',
          tableEngine: 'ReplacingMergeTree',
          useCustomSortingKey: true,
          sortingKeys: ['order_id'],
          excludedColumns: ['internal_note'],
        },
        {
          sourceSchemaName: 'public',
          sourceTable: 'customers',
          targetTable: 'northwind_customers',
          tableEngine: 'MergeTree',
          useCustomSortingKey: false,
          sortingKeys: [],
          excludedColumns: [],
        },
      ],
    },
    secrets: { credentials: { username: 'penstock', password: 'sample-password' } },
  },
}
