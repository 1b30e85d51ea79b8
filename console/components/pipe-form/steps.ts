// Steps of the form for a new pipe: their missing fields, and the step of each field.
import type { FieldError } from '../../../src/client/error.ts'
import {
  destinationFields,
  kafkaFields,
  kinesisFields,
  objectStorageFields,
  offsetFields,
  postgresFields,
  schemaRegistryFields,
  secretFields,
} from '../pipe-fields.ts'
import { kafkaSecretNames } from './create-body.ts'
import type { AccessKeyDraft, PipeDraft } from './create-draft.ts'

export const steps = ['start', 'source', 'destination', 'settings', 'review'] as const
export type Step = (typeof steps)[number]

export const stepLabels: Record<Step, string> = {
  start: 'Service and kind',
  source: 'Source',
  destination: 'Destination',
  settings: 'Settings',
  review: 'Review',
}

/** The step of a field, from a pointer such as `#/source/kafka/brokers`. */
export function stepOfPointer(pointer: string): Step {
  const [, first, second, third] = pointer.split('/')
  if (first === 'source') {
    if (second === undefined) return 'start'
    if (second === 'validateSamples') return 'review'
    return second === 'postgres' && third === 'tableMappings' ? 'destination' : 'source'
  }
  if (first === 'destination' || first === 'fieldMappings') return 'destination'
  return first === 'settings' || first === 'scaling' ? 'settings' : 'review'
}

/** The step where an error can be fixed. Records that do not match the columns are fixed in the destination step. */
export function stepOfError({ pointer, detail }: FieldError): Step {
  return /^\S+: the step "fit" failed/.test(detail) ? 'destination' : stepOfPointer(pointer)
}

/** Labels of missing required fields. */
export function missingIn(step: Step, draft: PipeDraft): string[] {
  const missing = (values: [value: string | undefined, label: string][]): string[] =>
    values.filter(([value]) => !value).map(([, label]) => label)
  switch (step) {
    case 'start':
      return missing([
        [draft.serviceId, 'Service'],
        [draft.kind, 'Kind of source'],
      ])
    case 'source':
      return missing(neededOfSource(draft))
    case 'destination':
      return missing(neededOfDestination(draft))
    case 'settings':
      return []
    case 'review':
      return missing([[draft.name, 'Name']])
  }
}

type Needed = [value: string | undefined, label: string][]

function neededOfSource({ kind, kafka, kinesis, objectStorage, postgres }: PipeDraft): Needed {
  switch (kind) {
    case 'kafka':
      return [
        [kafka.brokers, kafkaFields.brokers.label],
        [kafka.topics, kafkaFields.topics.label],
        ...neededOfKafkaLogin(kafka),
        ...(kafka.offsetStrategy === 'from_timestamp'
          ? ([[kafka.offsetTimestamp, offsetFields.timestamp.label]] satisfies Needed)
          : []),
        ...(kafka.format === 'AvroConfluent'
          ? ([[kafka.registryUrl, schemaRegistryFields.url.label]] satisfies Needed)
          : []),
        ...(kafka.registryAuthentication === 'PLAIN'
          ? ([
              [kafka.registryCredentials.username, 'Registry user name'],
              [kafka.registryCredentials.password, 'Registry password'],
            ] satisfies Needed)
          : []),
      ]
    case 'kinesis':
      return [
        [kinesis.region, kinesisFields.region.label],
        [kinesis.streamName, kinesisFields.streamName.label],
        ...(kinesis.iteratorType === 'AT_TIMESTAMP'
          ? ([[kinesis.timestamp, kinesisFields.timestamp.label]] satisfies Needed)
          : []),
        ...neededOfCloud(kinesis),
      ]
    case 'objectStorage':
      return objectStorage.type === 'azureblobstorage'
        ? [
            [objectStorage.connectionString, objectStorageFields.connectionString.label],
            [objectStorage.azureContainerName, objectStorageFields.azureContainerName.label],
            [objectStorage.path, objectStorageFields.path.label],
          ]
        : [[objectStorage.url, objectStorageFields.url.label], ...neededOfCloud(objectStorage)]
    case 'postgres':
      return [
        [postgres.host, postgresFields.host.label],
        [postgres.database, postgresFields.database.label],
        [postgres.credentials.username, secretFields.username.label],
        [postgres.credentials.password, secretFields.password.label],
      ]
    default:
      return []
  }
}

function neededOfKafkaLogin(kafka: PipeDraft['kafka']): Needed {
  if (kafka.authentication === 'IAM_ROLE') return [[kafka.iamRole, kafkaFields.iamRole.label]]
  const names = kafkaSecretNames(kafka).filter((name) => name !== 'connectionString')
  // A connection string replaces user name and password.
  const isConnected = kafkaSecretNames(kafka).includes('connectionString') && kafka.credentials.connectionString !== ''
  return isConnected ? [] : names.map((name) => [kafka.credentials[name], secretFields[name].label])
}

function neededOfCloud(source: { authentication: string; iamRole: string; accessKey: AccessKeyDraft }): Needed {
  if (source.authentication === 'IAM_ROLE') return [[source.iamRole, kinesisFields.iamRole.label]]
  if (source.authentication !== 'IAM_USER') return []
  return [
    [source.accessKey.accessKeyId, secretFields.accessKeyId.label],
    [source.accessKey.secretKey, secretFields.secretKey.label],
  ]
}

function neededOfDestination({ kind, destination, postgres }: PipeDraft): Needed {
  const database: Needed = [[destination.database, destinationFields.database.label]]
  if (kind === 'postgres') {
    const names = postgres.tableMappings.flatMap(({ sourceSchemaName, sourceTable, targetTable }) => [
      sourceSchemaName,
      sourceTable,
      targetTable,
    ])
    return [...database, ...neededRows(names, 'A table', 'Names of all tables')]
  }
  const cells = destination.columns.flatMap(({ name, type }) => [name, type])
  return [
    ...database,
    [destination.table, destinationFields.table.label],
    ...neededRows(cells, 'A column', 'Name and type of all columns'),
  ]
}

/** A list needs at least one row, and each row all of its cells. */
function neededRows(cells: string[], oneLabel: string, allLabel: string): Needed {
  if (cells.length === 0) return [['', oneLabel]]
  return cells.includes('') ? [['', allLabel]] : []
}
