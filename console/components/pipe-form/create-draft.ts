// Form state of a new pipe. It has the fields of all kinds, so that switching the kind loses no input.
import type {
  Column,
  FieldMapping,
  KafkaSourceCreate,
  KinesisSourceCreate,
  ObjectStorageSourceCreate,
  PostgresSourceCreate,
  TableDefinition,
  TableMappingToAdd,
} from '../../../src/client/shapes.ts'
import type { PipeKind } from '../pipe-fields.ts'

export type KafkaDraft = Pick<KafkaSourceCreate, 'type' | 'authentication' | 'brokers' | 'topics' | 'format'> & {
  consumerGroup: string
  offsetStrategy: NonNullable<KafkaSourceCreate['offset']>['strategy']
  /** `YYYY-MM-DDTHH:MM`, UTC. */
  offsetTimestamp: string
  caCertificate: string
  iamRole: string
  reversePrivateEndpointIds: string[]
  credentials: Required<NonNullable<KafkaSourceCreate['credentials']>>
  registryUrl: string
  registryAuthentication: 'none' | 'PLAIN'
  registryCaCertificate: string
  registryCredentials: { username: string; password: string }
}

export interface AccessKeyDraft {
  accessKeyId: string
  secretKey: string
}

export type KinesisDraft = Pick<
  KinesisSourceCreate,
  'authentication' | 'format' | 'iteratorType' | 'region' | 'streamName'
> & {
  /** `YYYY-MM-DDTHH:MM`, UTC. */
  timestamp: string
  accessKey: AccessKeyDraft
  iamRole: string
  useEnhancedFanOut: boolean
}

export type ObjectStorageDraft = Pick<ObjectStorageSourceCreate, 'type' | 'format'> & {
  /** Not for Azure Blob Storage, which uses a connection string. */
  authentication: 'none' | 'IAM_ROLE' | 'IAM_USER'
  url: string
  azureContainerName: string
  path: string
  connectionString: string
  iamRole: string
  accessKey: AccessKeyDraft
  delimiter: string
  compression: NonNullable<ObjectStorageSourceCreate['compression']>
  isContinuous: boolean
  queueUrl: string
  skipInitialLoad: boolean
}

export type PostgresSettings = NonNullable<PostgresSourceCreate['settings']>

export interface PostgresDraft {
  host: string
  port: number | null
  database: string
  credentials: { username: string; password: string }
  /** Changed values only; null resets to the default. */
  settings: { [Name in keyof PostgresSettings]?: PostgresSettings[Name] | null }
  tableMappings: TableMappingToAdd[]
}

export interface DestinationDraft {
  database: string
  table: string
  managedTable: boolean
  columns: Column[]
  engineType: TableDefinition['engine']['type']
  versionColumnId: string
  columnIds: string[]
  sortingKey: string[]
  partitionBy: string
  primaryKey: string
}

export interface PipeDraft {
  serviceId: string
  kind: PipeKind | undefined
  name: string
  startPaused: boolean
  /** Whether the source is checked before the pipe is created. */
  validateSamples: boolean
  kafka: KafkaDraft
  kinesis: KinesisDraft
  objectStorage: ObjectStorageDraft
  postgres: PostgresDraft
  destination: DestinationDraft
  fieldMappings: FieldMapping[]
  /** Changed values only; null resets to the default. */
  settings: Record<string, number | boolean | null>
  scaling: Record<string, number | boolean | null>
}

const noAccessKey: AccessKeyDraft = { accessKeyId: '', secretKey: '' }

export const emptyDraft: PipeDraft = {
  serviceId: '',
  kind: undefined,
  name: '',
  startPaused: false,
  validateSamples: true,
  kafka: {
    type: 'kafka',
    authentication: 'PLAIN',
    brokers: '',
    topics: '',
    format: 'JSONEachRow',
    consumerGroup: '',
    offsetStrategy: 'from_beginning',
    offsetTimestamp: '',
    caCertificate: '',
    iamRole: '',
    reversePrivateEndpointIds: [],
    credentials: { username: '', password: '', ...noAccessKey, certificate: '', privateKey: '', connectionString: '' },
    registryUrl: '',
    registryAuthentication: 'none',
    registryCaCertificate: '',
    registryCredentials: { username: '', password: '' },
  },
  kinesis: {
    authentication: 'IAM_ROLE',
    format: 'JSONEachRow',
    iteratorType: 'TRIM_HORIZON',
    region: '',
    streamName: '',
    timestamp: '',
    accessKey: noAccessKey,
    iamRole: '',
    useEnhancedFanOut: false,
  },
  objectStorage: {
    type: 's3',
    format: 'JSONEachRow',
    authentication: 'IAM_ROLE',
    url: '',
    azureContainerName: '',
    path: '',
    connectionString: '',
    iamRole: '',
    accessKey: noAccessKey,
    delimiter: '',
    compression: 'auto',
    isContinuous: false,
    queueUrl: '',
    skipInitialLoad: false,
  },
  postgres: {
    host: '',
    port: null,
    database: '',
    credentials: { username: '', password: '' },
    settings: {},
    tableMappings: [],
  },
  destination: {
    database: '',
    table: '',
    managedTable: true,
    columns: [],
    engineType: 'MergeTree',
    versionColumnId: '',
    columnIds: [],
    sortingKey: [],
    partitionBy: '',
    primaryKey: '',
  },
  fieldMappings: [],
  settings: {},
  scaling: {},
}
