// Labels and explanations of pipe kinds, states and fields, shared by pages and forms.
import { type FieldRules, pipeFieldRules } from '../../src/client/fields.ts'
import type {
  KafkaSource,
  KinesisSource,
  ObjectStorageSource,
  Pipe,
  PipeScaling,
  PipeSettings,
  PostgresSource,
  TableDefinition,
  TableMapping,
} from '../../src/client/shapes.ts'

export type PipeKind = 'kafka' | 'kinesis' | 'objectStorage' | 'postgres'
export type PipeState = Pipe['state']

export interface KindText {
  label: string
  /** Explanation when choosing a kind. */
  about: string
}

export const kinds: Record<PipeKind, KindText> = {
  kafka: { label: 'Kafka', about: 'Reads messages of topics, from Kafka and compatible brokers.' },
  kinesis: { label: 'Kinesis', about: 'Reads the records of an Amazon Kinesis data stream.' },
  objectStorage: {
    label: 'Object storage',
    about: 'Loads files of a bucket: once, or continuously.',
  },
  postgres: { label: 'PostgreSQL', about: 'Loads tables and replicates their changes by logical replication.' },
}

export const kindNames = Object.keys(kinds) as PipeKind[]

export function kindOf({ source }: Pick<Pipe, 'source'>): PipeKind {
  return kindNames.find((kind) => source[kind] !== undefined)!
}

export function kindLabel(pipe: Pick<Pipe, 'source'>): string {
  return kinds[kindOf(pipe)].label
}

/** Explanation of each state. */
export const stateMeanings: Record<PipeState, string> = {
  Provisioning: 'The pipe was started and waits for its first run.',
  Setup: 'The pipe creates publication, replication slot and tables.',
  Snapshot: 'The pipe loads the existing rows of the source tables.',
  Running: 'The pipe moves data or waits for new data.',
  Modifying: 'The pipe applies a change while it moves data.',
  Resync: 'The pipe loads everything again.',
  Stopping: 'The pipe finishes its current work, then stops.',
  Stopped: 'The pipe is stopped. Nothing is read until it is started.',
  Pausing: 'The pipe finishes its current work, then pauses.',
  Paused: 'The pipe is paused and keeps its position in the source. Nothing is read until it is started.',
  Completed: 'The pipe has loaded all data and is finished.',
  Degraded: 'Errors, retrying.',
  Failed: 'The pipe has stopped because of an error that needs a person. Fix it, then start the pipe again.',
  InternalError: 'The pipe has stopped because of a defect of Penstock. It can be started again.',
}

export const stateNames = Object.keys(stateMeanings) as PipeState[]

export interface FieldText {
  label: string
  about?: string
}

/** Rules of the API for a field, by pointer. */
export function rulesOf(pointer: string): FieldRules {
  return (pipeFieldRules as Record<string, FieldRules>)[pointer] ?? {}
}

export const kafkaFields = {
  type: { label: 'Provider' },
  authentication: { label: 'Authentication', about: 'Decides which credentials are needed.' },
  brokers: { label: 'Brokers', about: 'host:port, separated by commas.' },
  topics: { label: 'Topics', about: 'Separated by commas.' },
  format: { label: 'Format', about: 'Confluent Avro needs a schema registry.' },
  consumerGroup: { label: 'Consumer group', about: 'Default: penstock- and the id of the pipe.' },
  offset: { label: 'Where reading begins' },
  caCertificate: { label: 'CA certificate', about: 'PEM. Needed when the brokers use a certificate of your own.' },
  iamRole: { label: 'IAM role', about: 'Identifier of a cloud role.' },
  reversePrivateEndpointIds: {
    label: 'Reverse private endpoints',
    about: 'Ids that the operator of Penstock has set up. Brokers named there are connected through private routes.',
  },
  schemaRegistry: { label: 'Schema registry' },
} satisfies Record<keyof KafkaSource, FieldText>

export const schemaRegistryFields = {
  url: { label: 'Registry URL', about: 'http or https, without user name and password.' },
  authentication: { label: 'Registry authentication', about: 'None when the registry asks for nothing.' },
  caCertificate: { label: 'Registry CA certificate', about: 'PEM.' },
} satisfies Record<keyof NonNullable<KafkaSource['schemaRegistry']>, FieldText>

export const offsetFields = {
  strategy: { label: 'Where reading begins' },
  timestamp: { label: 'Begin at', about: 'Date and time in UTC.' },
} satisfies Record<keyof NonNullable<KafkaSource['offset']>, FieldText>

export const kinesisFields = {
  authentication: { label: 'Authentication', about: 'A role needs an IAM role, a user needs an access key.' },
  format: { label: 'Format' },
  iteratorType: { label: 'Where reading begins' },
  region: { label: 'Region', about: 'Such as eu-west-1.' },
  streamName: { label: 'Stream' },
  timestamp: { label: 'Begin at' },
  iamRole: { label: 'IAM role', about: 'Identifier of a cloud role.' },
  useEnhancedFanOut: {
    label: 'Enhanced fan-out',
    about:
      'The stream pushes its records to a consumer of this pipe, which AWS bills separately. Where that is not possible, the pipe polls and reports why.',
  },
} satisfies Record<keyof KinesisSource, FieldText>

export const objectStorageFields = {
  type: { label: 'Provider' },
  format: { label: 'Format' },
  authentication: { label: 'Authentication', about: 'Without authentication the objects must be public.' },
  azureContainerName: { label: 'Container', about: 'For Azure Blob Storage.' },
  delimiter: { label: 'Delimiter', about: 'One character, for CSV.' },
  iamRole: { label: 'IAM role', about: 'Identifier of a cloud role.' },
  path: { label: 'Path', about: 'Path or glob pattern within the container.' },
  queueUrl: {
    label: 'Queue URL',
    about:
      'A queue for this pipe only, with notifications of new objects. Without one the bucket is listed periodically.',
  },
  skipInitialLoad: {
    label: 'Load existing objects first',
    about: 'Otherwise only objects announced by the queue are loaded.',
  },
  url: { label: 'URL', about: 'URL or glob pattern of the objects.' },
  compression: { label: 'Compression' },
  connectionString: { label: 'Connection string', about: 'Its secret parts are shown as ***.' },
  isContinuous: { label: 'Continuous', about: 'Also load objects that arrive later. Otherwise the pipe completes.' },
} satisfies Record<keyof ObjectStorageSource, FieldText>

export const postgresFields = {
  host: { label: 'Host' },
  port: { label: 'Port' },
  database: { label: 'Database', about: 'Database in PostgreSQL.' },
  settings: { label: 'Replication' },
  tableMappings: { label: 'Tables' },
} satisfies Record<keyof PostgresSource, FieldText>

export const postgresSettingFields = {
  replicationMode: { label: 'Replication mode' },
  publicationName: { label: 'Publication', about: 'An existing one. Default: Penstock creates one.' },
  replicationSlotName: {
    label: 'Replication slot',
    about: 'An existing one; only when the pipe just replicates changes.',
  },
  enableFailoverSlots: { label: 'Failover slots', about: 'Only without a replication slot of your own.' },
  allowNullableColumns: { label: 'Nullable columns', about: 'Columns that may be NULL stay so.' },
  pullBatchSize: { label: 'Batch size', about: 'Most changes in one batch.' },
  syncIntervalSeconds: { label: 'Sync interval', about: 'Seconds between two batches.' },
  initialLoadParallelism: { label: 'Connections per table', about: 'Connections that load one table.' },
  snapshotNumberOfParallelTables: {
    label: 'Tables at the same time',
    about: 'Tables that are loaded at the same time.',
  },
  snapshotNumRowsPerPartition: { label: 'Rows per partition', about: 'Rows that are loaded at once.' },
} satisfies Record<keyof PostgresSource['settings'], FieldText>

export const tableMappingFields = {
  sourceSchemaName: { label: 'Source schema', about: 'Schema of the table in PostgreSQL.' },
  sourceTable: { label: 'Source table', about: 'Table in PostgreSQL.' },
  targetTable: { label: 'Target table', about: 'Table of the service; each once in a pipe.' },
  tableEngine: { label: 'Table engine' },
  useCustomSortingKey: {
    label: 'Sorting key of your own',
    about: 'Otherwise the primary key of the source sorts the table.',
  },
  sortingKeys: { label: 'Sorting key', about: 'Columns of the sorting key.' },
  excludedColumns: { label: 'Excluded columns', about: 'Columns that are not replicated.' },
} satisfies Record<keyof TableMapping, FieldText>

/** Write-only: stored sealed and never shown. */
export const secretFields = {
  username: { label: 'User name' },
  password: { label: 'Password' },
  accessKeyId: { label: 'Access key id', about: 'Id of an access key of a cloud user.' },
  secretKey: { label: 'Secret key', about: 'Secret of the access key.' },
  certificate: { label: 'Client certificate', about: 'PEM.' },
  privateKey: { label: 'Private key', about: 'PEM, not encrypted: the key of the client certificate.' },
  connectionString: { label: 'Connection string', about: 'Stands for user name and password.' },
} satisfies Record<string, FieldText>

export const destinationFields = {
  database: { label: 'Database', about: 'Database of the service. It cannot be changed later.' },
  table: { label: 'Table', about: 'Table of the service.' },
  managedTable: { label: 'Managed table', about: 'Penstock creates and extends the table.' },
  columns: { label: 'Columns', about: 'All columns of the table.' },
  tableDefinition: { label: 'Table definition' },
} satisfies Record<keyof Pipe['destination'], FieldText>

export const tableDefinitionFields = {
  engine: { label: 'Table engine' },
  partitionBy: { label: 'Partition by', about: 'Expression that makes the partitions.' },
  primaryKey: { label: 'Primary key', about: 'Expression of the primary key.' },
  sortingKey: { label: 'Sorting key', about: 'Columns by which the table is sorted.' },
} satisfies Record<keyof TableDefinition, FieldText>

export const tableEngineFields = {
  type: { label: 'Table engine' },
  versionColumnId: { label: 'Version column', about: 'The column by which a ReplacingMergeTree keeps the newest row.' },
  columnIds: { label: 'Summed columns', about: 'Columns that a SummingMergeTree adds up.' },
} satisfies Record<keyof TableDefinition['engine'], FieldText>

export const columnFields = {
  name: { label: 'Column' },
  type: { label: 'Type', about: 'A type of the engine, such as UInt64 or Nullable(String).' },
} satisfies Record<keyof Pipe['destination']['columns'][number], FieldText>

export const fieldMappingFields = {
  sourceField: { label: 'Source field', about: 'A field of the source.' },
  destinationField: { label: 'Destination column', about: 'A column of the destination.' },
} satisfies Record<keyof Pipe['fieldMappings'][number], FieldText>

export type Unit = 'threads' | 'bytes' | 'files' | 'ms' | 'replicas' | 'millicores' | 'GB'

export interface NumberField extends FieldText {
  about: string
  default: number
  minimum: number
  maximum: number
  unit?: Unit
  /** Allows fractions. */
  isFractional?: boolean
}

export interface SwitchField extends FieldText {
  about: string
  default: boolean
}

interface SettingText extends FieldText {
  about: string
  unit?: Unit
}

/** Adds the bounds and defaults of the API. */
function withRules<Name extends string>(
  group: 'settings' | 'scaling',
  texts: Record<Name, SettingText>,
): Record<Name, NumberField | SwitchField> {
  const fields = Object.entries<SettingText>(texts).map(([name, text]) => [
    name,
    { ...text, ...rulesOf(`${group}/${name}`) },
  ])
  return Object.fromEntries(fields)
}

export const settingFields = withRules<keyof PipeSettings>('settings', {
  streaming_max_insert_wait_ms: {
    label: 'Longest wait before an insert',
    about: 'Rows are inserted after this time at the latest.',
    unit: 'ms',
  },
  object_storage_concurrency: {
    label: 'Files at the same time',
    about: 'Files that are loaded at the same time.',
    unit: 'files',
  },
  object_storage_max_file_count: {
    label: 'Most files in one insert',
    about: 'An insert is sent when it holds this many files.',
    unit: 'files',
  },
  object_storage_max_insert_bytes: {
    label: 'Most bytes in one insert',
    about: 'An insert is sent when it holds this many bytes.',
    unit: 'bytes',
  },
  object_storage_polling_interval_ms: {
    label: 'Polling interval',
    about: 'Time between two listings of new files, when there is no queue.',
    unit: 'ms',
  },
  object_storage_use_cluster_function: {
    label: 'Read with all replicas',
    about: 'Distribute the files over all replicas of the pipe; otherwise one replica loads them all.',
  },
  engine_max_download_threads: {
    label: 'Download threads',
    about: 'Threads of the engine that download data.',
    unit: 'threads',
  },
  engine_max_insert_threads: {
    label: 'Insert threads',
    about: 'Threads of the engine that execute an insert.',
    unit: 'threads',
  },
  engine_max_threads: {
    label: 'Query threads',
    about: 'Threads of the engine that process a query. With 0 the engine decides.',
    unit: 'threads',
  },
  engine_min_insert_block_size_bytes: {
    label: 'Smallest insert block',
    about: 'Smaller blocks are joined up to this size.',
    unit: 'bytes',
  },
  engine_parallel_distributed_insert_select: {
    label: 'Distributed inserts',
    about: 'How an insert from a select is spread over the shards: 0, 1 or 2, as the engine numbers it.',
  },
  engine_parallel_view_processing: {
    label: 'Parallel views',
    about: 'Push to attached materialized views at the same time.',
  },
})

export const scalingFields = withRules<keyof PipeScaling>('scaling', {
  replicas: {
    label: 'Replicas',
    about: 'Copies of the pipe that share the work.',
    unit: 'replicas',
  },
  replicaCpuMillicores: {
    label: 'CPU of each replica',
    about: 'A weight: pipes of a busy runner share its CPU in this proportion.',
    unit: 'millicores',
  },
  replicaMemoryGb: {
    label: 'Memory of each replica',
    about: 'In gigabytes. Bounds how much is read ahead; more than 0.9 changes nothing.',
    unit: 'GB',
  },
  concurrency: {
    label: 'Concurrency',
    about: 'Parts of the work that are done at the same time. With 0 Penstock decides.',
  },
})
