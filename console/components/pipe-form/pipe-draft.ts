// Form state of a pipe change, separate from the pipe.
import type { Column, FieldMapping, Pipe, PipeSettings, TableMappingToAdd } from '../../../src/client/shapes.ts'

export type SecretName =
  | 'username'
  | 'password'
  | 'accessKeyId'
  | 'secretKey'
  | 'certificate'
  | 'privateKey'
  | 'connectionString'

/** Source fields with secrets. */
const secretGroups = ['credentials', 'accessKey', 'connectionString'] as const

export type SecretGroup = (typeof secretGroups)[number]

export function isSecretGroup(field: string): field is SecretGroup {
  return (secretGroups as readonly string[]).includes(field)
}

export interface TableName {
  sourceSchemaName: string
  sourceTable: string
}

/** A missing field is untouched and follows the pipe, also after concurrent changes. */
export interface PipeDraft {
  name?: string
  columns?: Column[]
  fieldMappings?: FieldMapping[]
  /** Null: the default. */
  settings?: { [Name in keyof PipeSettings]?: number | boolean | null }
  source?: SourceDraft
}

/** Fields of all source kinds. An empty text clears the field where the API allows it. */
export interface SourceDraft {
  authentication?: string
  caCertificate?: string
  iamRole?: string
  azureContainerName?: string
  path?: string
  host?: string
  database?: string
  /** Null: empty. */
  port?: number | null
  reversePrivateEndpointIds?: string[]
  pullBatchSize?: number | null
  syncIntervalSeconds?: number | null
  /** Typed secrets; empty ones keep the stored value. */
  secrets?: { [Name in SecretName]?: string }
  forgottenSecrets?: SecretGroup[]
  removedTables?: TableName[]
  addedTables?: TableMappingToAdd[]
}

/** Defaults of docs/contract.md. */
export const postgresNumberDefaults = { pullBatchSize: 100_000, syncIntervalSeconds: 60 }

/** The authentication in the form; an empty text for no authentication. */
export function chosenAuthentication(pipe: Pick<Pipe, 'source'>, draft: PipeDraft): string {
  return draft.source?.authentication ?? presentAuthentication(pipe)
}

function presentAuthentication({ source }: Pick<Pipe, 'source'>): string {
  const { authentication = '' } = source.kafka ?? source.kinesis ?? source.objectStorage ?? {}
  return authentication
}

const login: SecretName[] = ['username', 'password']
const userKey: SecretName[] = ['accessKeyId', 'secretKey']

/** The secrets of an authentication, and the field that contains them. */
export function neededSecrets(
  { source }: Pick<Pipe, 'source'>,
  authentication: string,
): { group: SecretGroup; names: SecretName[] } | undefined {
  if (source.postgres) return { group: 'credentials', names: login }
  if (source.objectStorage?.type === 'azureblobstorage') {
    return { group: 'connectionString', names: ['connectionString'] }
  }
  if (authentication === 'IAM_ROLE' || authentication === '') return undefined
  if (!source.kafka) {
    return authentication === 'IAM_USER' ? { group: 'accessKey', names: userKey } : undefined
  }
  if (authentication === 'IAM_USER') return { group: 'credentials', names: userKey }
  if (authentication === 'MUTUAL_TLS') return { group: 'credentials', names: ['certificate', 'privateKey'] }
  const isAzure = source.kafka.type === 'azureeventhub'
  return { group: 'credentials', names: isAzure ? [...login, 'connectionString'] : login }
}

/** Stored secrets that the authentication does not use and that can be removed. */
export function forgettableSecrets(pipe: Pick<Pipe, 'source'>, authentication: string): SecretGroup[] {
  const { kafka, kinesis, objectStorage } = pipe.source
  const groups: SecretGroup[] = kafka ? ['credentials'] : kinesis ? ['accessKey'] : []
  if (objectStorage) {
    groups.push('accessKey')
    if (objectStorage.connectionString !== undefined) groups.push('connectionString')
  }
  const used = neededSecrets(pipe, authentication)?.group
  return groups.filter((group) => group !== used)
}

/** Required fields that are empty. */
export function missingFields(draft: PipeDraft): ('name' | 'host' | 'port' | 'database')[] {
  const { host, port, database } = draft.source ?? {}
  const empty = {
    name: draft.name?.trim() === '',
    host: host?.trim() === '',
    port: port === null,
    database: database === '',
  }
  return (['name', 'host', 'port', 'database'] as const).filter((field) => empty[field])
}

/** Whether secrets were typed, which the shown patch does not contain. */
export function hasTypedSecrets({ source }: PipeDraft): boolean {
  return Object.values(source?.secrets ?? {}).some((secret) => secret !== '')
}

export function isSameTable(one: TableName, other: TableName): boolean {
  return one.sourceSchemaName === other.sourceSchemaName && one.sourceTable === other.sourceTable
}
