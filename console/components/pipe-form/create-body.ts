// Builds the body that creates a pipe from the form: empty fields, defaults and credentials of other authentications are
// omitted.
import type {
  KafkaSourceCreate,
  KinesisSourceCreate,
  ObjectStorageSourceCreate,
  PipeCreate,
  PipeDestinationCreate,
  PipeScalingCreate,
  PipeSettingsCreate,
  TableDefinition,
  TableMappingToAdd,
} from '../../../src/client/shapes.ts'
import { type PipeKind, scalingFields, settingFields } from '../pipe-fields.ts'
import type {
  AccessKeyDraft,
  DestinationDraft,
  KafkaDraft,
  KinesisDraft,
  ObjectStorageDraft,
  PipeDraft,
  PostgresDraft,
  PostgresSettings,
} from './create-draft.ts'
import { isSecretGroup, postgresNumberDefaults } from './pipe-draft.ts'

/** The secrets that a Kafka source needs for its authentication. */
export function kafkaSecretNames({ type, authentication }: KafkaDraft): (keyof KafkaDraft['credentials'])[] {
  switch (authentication) {
    case 'IAM_ROLE':
      return []
    case 'IAM_USER':
      return ['accessKeyId', 'secretKey']
    case 'MUTUAL_TLS':
      return ['certificate', 'privateKey']
    default:
      return type === 'azureeventhub' ? ['connectionString', 'username', 'password'] : ['username', 'password']
  }
}

/** Settings with these prefixes apply to some source kinds only, and are neither shown nor sent for others. */
const kindsOfSettings: [beginning: string, kinds: PipeKind[]][] = [
  ['streaming_', ['kafka', 'kinesis']],
  ['object_storage_', ['objectStorage']],
]

export function settingMatters(name: string, kind: PipeKind | undefined): boolean {
  const special = kindsOfSettings.find(([beginning]) => name.startsWith(beginning))
  return special === undefined || (kind !== undefined && special[1].includes(kind))
}

export function createBody(draft: PipeDraft): PipeCreate {
  const isPostgres = draft.kind === 'postgres'
  const settings = Object.entries(draft.settings).filter(([name]) => settingMatters(name, draft.kind))
  return filled({
    name: draft.name,
    source: { ...sourceOf(draft), ...(draft.validateSamples ? { validateSamples: true } : {}) },
    destination: isPostgres ? { database: draft.destination.database } : destinationOf(draft.destination),
    fieldMappings: isPostgres ? [] : draft.fieldMappings,
    scaling: changed(draft.scaling, scalingFields) as PipeScalingCreate,
    settings: changed(Object.fromEntries(settings), settingFields) as PipeSettingsCreate,
    startPaused: draft.startPaused || undefined,
  }) as PipeCreate
}

/** The source with the secrets of the chosen authentication. */
export function sourceOf({
  kind,
  kafka,
  kinesis,
  objectStorage,
  postgres,
}: PipeDraft): Omit<PipeCreate['source'], 'validateSamples'> {
  switch (kind) {
    case 'kafka':
      return { kafka: kafkaOf(kafka) }
    case 'kinesis':
      return { kinesis: kinesisOf(kinesis) }
    case 'objectStorage':
      return { objectStorage: objectStorageOf(objectStorage) }
    case 'postgres':
      return { postgres: postgresOf(postgres) }
    default:
      return {}
  }
}

function kafkaOf(draft: KafkaDraft): KafkaSourceCreate {
  const { type, authentication, brokers, topics, format, offsetStrategy: strategy } = draft
  const isAtMoment = strategy === 'from_timestamp'
  return {
    type,
    authentication,
    brokers,
    topics,
    format,
    ...filled({
      consumerGroup: draft.consumerGroup,
      offset:
        strategy === 'from_beginning'
          ? undefined
          : { strategy, ...filled({ timestamp: isAtMoment ? draft.offsetTimestamp : undefined }) },
      caCertificate: draft.caCertificate,
      iamRole: authentication === 'IAM_ROLE' ? draft.iamRole : undefined,
      reversePrivateEndpointIds: draft.reversePrivateEndpointIds,
      credentials: picked(draft.credentials, kafkaSecretNames(draft)),
      schemaRegistry: registryOf(draft),
    }),
  }
}

function registryOf(draft: KafkaDraft): KafkaSourceCreate['schemaRegistry'] {
  const hasLogin = draft.registryAuthentication === 'PLAIN'
  const rest = filled({
    authentication: hasLogin ? ('PLAIN' as const) : undefined,
    caCertificate: draft.registryCaCertificate,
    credentials: hasLogin ? picked(draft.registryCredentials, ['username', 'password']) : undefined,
  })
  const isEmpty = draft.registryUrl === '' && Object.keys(rest).length === 0
  return isEmpty ? undefined : { url: draft.registryUrl, ...rest }
}

function kinesisOf(draft: KinesisDraft): KinesisSourceCreate {
  const { authentication, format, iteratorType, region, streamName } = draft
  return {
    authentication,
    format,
    iteratorType,
    region,
    streamName,
    ...filled({
      timestamp: iteratorType === 'AT_TIMESTAMP' ? secondsOf(draft.timestamp) : undefined,
      ...cloudCredentialsOf(draft),
      useEnhancedFanOut: draft.useEnhancedFanOut || undefined,
    }),
  }
}

function secondsOf(minute: string): number | undefined {
  const milliseconds = Date.parse(`${minute}:00Z`)
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000
}

function objectStorageOf(draft: ObjectStorageDraft): ObjectStorageSourceCreate {
  const { type, format, authentication, compression, isContinuous } = draft
  const location =
    type === 'azureblobstorage'
      ? {
          authentication: 'CONNECTION_STRING' as const,
          azureContainerName: draft.azureContainerName,
          path: draft.path,
          connectionString: draft.connectionString,
        }
      : {
          authentication: authentication === 'none' ? undefined : authentication,
          url: draft.url,
          ...cloudCredentialsOf(draft),
        }
  return {
    type,
    format,
    ...filled({
      ...location,
      delimiter: format.startsWith('CSV') ? draft.delimiter : undefined,
      compression: compression === 'auto' ? undefined : compression,
      isContinuous: isContinuous || undefined,
      ...queueOf(draft),
    }),
  }
}

/** Whether the object store supports a notification queue. */
export function mayHaveQueue({ type, isContinuous }: ObjectStorageDraft): boolean {
  return isContinuous && (type === 's3' || type === 'azureblobstorage')
}

export function hasQueue(draft: ObjectStorageDraft): boolean {
  return mayHaveQueue(draft) && draft.queueUrl !== ''
}

function queueOf(draft: ObjectStorageDraft): Pick<ObjectStorageSourceCreate, 'queueUrl' | 'skipInitialLoad'> {
  if (!hasQueue(draft)) return {}
  return { queueUrl: draft.queueUrl, ...(draft.skipInitialLoad ? { skipInitialLoad: true } : {}) }
}

function cloudCredentialsOf(draft: { authentication: string; iamRole: string; accessKey: AccessKeyDraft }) {
  return {
    iamRole: draft.authentication === 'IAM_ROLE' ? draft.iamRole : undefined,
    accessKey: draft.authentication === 'IAM_USER' ? picked(draft.accessKey, ['accessKeyId', 'secretKey']) : undefined,
  }
}

function postgresOf({ host, port, database, credentials, settings, tableMappings }: PostgresDraft) {
  return {
    host,
    ...(port === null ? {} : { port }),
    database,
    credentials: filled(credentials),
    ...filled({ settings: changed(settings, postgresSettingDefaults) as PostgresSettings }),
    tableMappings: tableMappings.map(mappingOf),
  }
}

function mappingOf(mapping: TableMappingToAdd): TableMappingToAdd {
  const { sourceSchemaName, sourceTable, targetTable, tableEngine, useCustomSortingKey, sortingKeys } = mapping
  return {
    sourceSchemaName,
    sourceTable,
    targetTable,
    ...filled({
      tableEngine: tableEngine === 'ReplacingMergeTree' ? undefined : tableEngine,
      useCustomSortingKey: useCustomSortingKey || undefined,
      sortingKeys,
      excludedColumns: mapping.excludedColumns,
    }),
  }
}

function destinationOf(draft: DestinationDraft): PipeDestinationCreate {
  const { database, table, managedTable, columns } = draft
  return {
    database,
    table,
    ...(managedTable ? {} : { managedTable }),
    columns,
    ...(managedTable ? { tableDefinition: tableDefinitionOf(draft) } : {}),
  }
}

function tableDefinitionOf(draft: DestinationDraft): TableDefinition {
  const { engineType: type, versionColumnId, columnIds, partitionBy, primaryKey, sortingKey } = draft
  return {
    engine: {
      type,
      ...filled({
        versionColumnId: type === 'ReplacingMergeTree' ? versionColumnId : undefined,
        columnIds: type === 'SummingMergeTree' ? columnIds : undefined,
      }),
    },
    ...filled({ partitionBy, primaryKey, sortingKey }),
  }
}

interface WithDefault {
  default: number | boolean | string | undefined
}

/** Defaults of docs/contract.md, which need not be sent. */
export const postgresSettingDefaults = {
  replicationMode: { default: 'cdc' },
  publicationName: { default: undefined },
  replicationSlotName: { default: undefined },
  enableFailoverSlots: { default: false },
  allowNullableColumns: { default: false },
  pullBatchSize: { default: postgresNumberDefaults.pullBatchSize },
  syncIntervalSeconds: { default: postgresNumberDefaults.syncIntervalSeconds },
  initialLoadParallelism: { default: 4 },
  snapshotNumberOfParallelTables: { default: 1 },
  snapshotNumRowsPerPartition: { default: 100_000 },
} as const satisfies Record<keyof PostgresSettings, WithDefault>

function changed(values: Record<string, unknown>, fields: Record<string, WithDefault>): Record<string, unknown> {
  const entries = Object.entries(values).filter(([name, value]) => value !== null && value !== fields[name]?.default)
  return filled(Object.fromEntries(entries))
}

type Filled<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

/** Removes undefined values, empty texts, lists and objects. */
function filled<Values extends object>(values: Values): Filled<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value))) as Filled<Values>
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '') return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function picked<Name extends string>(values: { [Each in Name]: string }, names: Name[]): { [Picked in Name]?: string } {
  return filled(Object.fromEntries(names.map((name) => [name, values[name]]))) as { [Picked in Name]?: string }
}

const dots = '••••••••'

/** Replaces secrets by dots, for display. */
export function withoutSecrets(value: unknown, isSecret = false): unknown {
  if (typeof value === 'string') return isSecret ? dots : value
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, isSecret))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withoutSecrets(member, isSecret || isSecretGroup(name))]),
  )
}
