// Fields of the source of a pipe: a list of sections for each kind.
import { choiceTexts } from '../choice-texts.ts'
import {
  kafkaFields,
  kinesisFields,
  objectStorageFields,
  offsetFields,
  type PipeKind,
  postgresFields,
  postgresSettingFields,
  schemaRegistryFields,
  secretFields,
} from '../pipe-fields.ts'
import { always, type FormSection, fieldsAt, has, type Is, isNew, type More, not, type Row } from './form-field.ts'
import {
  authenticationOf,
  isAzureStorage,
  isOn,
  neededSecrets,
  type PipeDraft,
  presentValue,
  textOf,
  type Value,
} from './pipe-draft.ts'
import { forgetField, secretRow } from './secret-fields.ts'

const forgetAccessKey = 'Forget the stored access key, if there is one'
const aboutSecrets = 'Credentials are stored sealed and never shown again.'
const moreAboutSource = 'More about the source'

/** An existing pipe shows the role also while it is unused, so that it can be cleared. */
const iamRole: More = {
  placeholder: 'arn:aws:iam::123456789012:role/penstock',
  isShown: (draft) => !isNew(draft) || authenticationOf(draft) === 'IAM_ROLE',
  isNeeded: always,
}

const { IAM_ROLE, IAM_USER } = choiceTexts.kafkaAuthentication

const kafka = fieldsAt('source/kafka', kafkaFields)
const offset = fieldsAt('source/kafka/offset', offsetFields)
const registry = fieldsAt('source/kafka/schemaRegistry', schemaRegistryFields)
const isRegistryNeeded = has('source/kafka/format', 'AvroConfluent')
const hasRegistryLogin = has('source/kafka/schemaRegistry/authentication', 'PLAIN')
const registryChoices = { none: 'None', PLAIN: 'User name and password' }

/** Among the rare fields unless the format needs it. */
const registryRows = (isHere: Is): Row[] => [
  registry('url', 'text', {
    placeholder: 'https://registry.example.com:8081',
    isShown: isHere,
    isNeeded: isRegistryNeeded,
    alsoAt: ['source/kafka/schemaRegistry'],
  }),
  registry('authentication', 'choice', { choices: registryChoices, omitted: 'none', isShown: isHere }),
  secretRow('source/kafka/schemaRegistry/credentials', ['username', 'password'], (name) => ({
    label: `Registry ${secretFields[name as 'username'].label.toLowerCase()}`,
    isShown: (draft) => isHere(draft) && hasRegistryLogin(draft),
  })),
  registry('caCertificate', 'pem', { isShown: isHere }),
]

const kafkaSections: FormSection[] = [
  {
    title: 'Where the messages are',
    rows: [
      [kafka('type', 'choice', { choices: choiceTexts.kafkaType })],
      kafka('brokers', 'text', { placeholder: 'broker-1.example.com:9092,broker-2.example.com:9092' }),
      kafka('topics', 'text', { placeholder: 'orders' }),
    ],
  },
  {
    title: 'Authentication',
    about: aboutSecrets,
    rows: [
      kafka('authentication', 'choice', { choices: choiceTexts.kafkaAuthentication }),
      secretRow(
        'source/kafka/credentials',
        ['username', 'password', 'accessKeyId', 'secretKey', 'certificate', 'privateKey', 'connectionString'],
        // A connection string replaces user name and password.
        (name) => ({
          isNeeded: (draft) =>
            name !== 'connectionString' &&
            !(
              neededSecrets(draft)?.names.includes('connectionString') &&
              textOf(draft, 'source/kafka/credentials/connectionString')
            ),
        }),
      ),
      kafka('iamRole', 'text', iamRole),
      forgetField('source/kafka/credentials', 'Forget the stored credentials, if there are any'),
    ],
  },
  {
    title: 'What is read',
    rows: [
      [
        kafka('format', 'choice', { choices: choiceTexts.format }),
        offset('strategy', 'choice', {
          about: 'When the pipe is started for the first time.',
          choices: choiceTexts.offsetStrategy,
          omitted: 'from_beginning',
          alsoAt: ['source/kafka/offset'],
        }),
        offset('timestamp', 'time', {
          isShown: has('source/kafka/offset/strategy', 'from_timestamp'),
          isNeeded: always,
        }),
      ],
      ...registryRows(isRegistryNeeded),
    ],
    more: {
      label: moreAboutSource,
      rows: [
        kafka('consumerGroup', 'text'),
        kafka('caCertificate', 'pem'),
        kafka('reversePrivateEndpointIds', 'texts', {
          about: `${kafkaFields.reversePrivateEndpointIds.about} Their ids, each ended with Enter.`,
        }),
        ...registryRows(not(isRegistryNeeded)),
      ],
    },
  },
]

const kinesis = fieldsAt('source/kinesis', kinesisFields)
// A Kinesis source has no schema registry, which Confluent Avro needs.
const { AvroConfluent: _, ...formatsWithoutRegistry } = choiceTexts.format

const kinesisSections: FormSection[] = [
  {
    title: 'Where the records are',
    rows: [
      [
        kinesis('region', 'text', { placeholder: 'eu-west-1' }),
        kinesis('streamName', 'text', { about: 'Name of the data stream.', placeholder: 'orders' }),
      ],
    ],
  },
  {
    title: 'Authentication',
    about: aboutSecrets,
    rows: [
      kinesis('authentication', 'choice', { choices: { IAM_ROLE, IAM_USER } }),
      secretRow('source/kinesis/accessKey', ['accessKeyId', 'secretKey']),
      kinesis('iamRole', 'text', iamRole),
      forgetField('source/kinesis/accessKey', forgetAccessKey),
    ],
  },
  {
    title: 'What is read',
    rows: [
      [
        kinesis('format', 'choice', { choices: formatsWithoutRegistry }),
        kinesis('iteratorType', 'choice', { choices: choiceTexts.iteratorType }),
        kinesis('timestamp', 'time', {
          isShown: has('source/kinesis/iteratorType', 'AT_TIMESTAMP'),
          isNeeded: always,
          toBody: secondsOf,
        }),
      ],
    ],
    more: { label: moreAboutSource, rows: [kinesis('useEnhancedFanOut', 'switch')] },
  },
]

function secondsOf(minute: Value | undefined): number | undefined {
  const milliseconds = Date.parse(`${minute}:00Z`)
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000
}

const objects = fieldsAt('source/objectStorage', objectStorageFields)
const isAzure: Is = isAzureStorage
const mayHaveQueue: Is = (draft) =>
  isOn(draft, 'source/objectStorage/isContinuous') && has('source/objectStorage/type', 's3', 'azureblobstorage')(draft)
export const hasQueue: Is = (draft) => mayHaveQueue(draft) && textOf(draft, 'source/objectStorage/queueUrl') !== ''

/** Fields of another store that an existing pipe still has. */
const isUnused = (name: string): Is => {
  const isOfAzure = name !== 'iamRole'
  return (draft) =>
    !isNew(draft) && isAzure(draft) !== isOfAzure && presentValue(draft, `source/objectStorage/${name}`) !== undefined
}
const unusedNames = ['azureContainerName', 'path', 'iamRole']

const storageAuthentications = (draft: PipeDraft): Record<string, string> => {
  const all: Record<string, string> = choiceTexts.objectStorageAuthentication
  const present = isNew(draft) ? undefined : presentValue(draft, 'source/objectStorage/authentication')
  const mayBeNone = !hasQueue(draft) || (!isNew(draft) && present === undefined)
  const names = isAzure(draft) ? ['CONNECTION_STRING'] : ['IAM_ROLE', 'IAM_USER']
  if (typeof present === 'string' && !names.includes(present)) names.push(present)
  return {
    ...Object.fromEntries(names.map((name) => [name, all[name]!])),
    // A queue requires credentials.
    ...(mayBeNone ? { none: 'None (public objects)' } : {}),
  }
}

const exampleUrls: Record<string, string> = {
  s3: 'https://orders.s3.eu-west-1.amazonaws.com/2026/*.json',
  gcs: 'https://storage.googleapis.com/orders/2026/*.json',
  dospaces: 'https://orders.fra1.digitaloceanspaces.com/2026/*.json',
}

const objectStorageSections: FormSection[] = [
  {
    title: 'Where the files are',
    rows: [
      objects('type', 'choice', { choices: choiceTexts.objectStorageType }),
      [
        objects('azureContainerName', 'text', {
          about: 'Container of the storage account.',
          placeholder: 'orders',
          isShown: isAzure,
          isNeeded: always,
        }),
        objects('path', 'text', { placeholder: '2026/*.json', isShown: isAzure, isNeeded: always }),
      ],
      objects('url', 'text', {
        placeholder: (draft) => exampleUrls[textOf(draft, 'source/objectStorage/type')] ?? '',
        isShown: not(isAzure),
        isNeeded: always,
      }),
    ],
  },
  {
    title: 'Authentication',
    about: aboutSecrets,
    rows: [
      objects('authentication', 'choice', {
        choices: storageAuthentications,
        isShown: (draft) => !isNew(draft) || !isAzure(draft),
        toBody: (value) => (value === 'none' ? '' : value),
      }),
      objects('authentication', 'other', {
        isShown: (draft) => isNew(draft) && isAzure(draft),
        toBody: () => 'CONNECTION_STRING',
      }),
      secretRow('source/objectStorage/connectionString', ['connectionString'], () => ({
        about: 'Of the storage account: name=value parts, separated by semicolons.',
        alsoAt: ['source/objectStorage/authentication'],
      })),
      secretRow('source/objectStorage/accessKey', ['accessKeyId', 'secretKey']),
      objects('iamRole', 'text', {
        ...iamRole,
        isShown: (draft) => !isAzure(draft) && iamRole.isShown!(draft),
      }),
      {
        pointer: '',
        input: 'note',
        label: '',
        about: (draft) =>
          `${choiceTexts.objectStorageType[textOf(draft, 'source/objectStorage/type') as 's3']} does not use what follows. It is kept with the pipe, and can be cleared.`,
        isShown: (draft) => unusedNames.some((name) => isUnused(name)(draft)),
        isMutable: true,
      },
      ...unusedNames.map((name) => objects(name, 'text', { isShown: isUnused(name) })),
      forgetField('source/objectStorage/accessKey', forgetAccessKey),
      forgetField('source/objectStorage/connectionString', 'Forget the stored connection string', {
        isShown: (draft) =>
          !isNew(draft) && !isAzure(draft) && draft.pipe?.source.objectStorage?.connectionString !== undefined,
      }),
    ],
  },
  {
    title: 'What is read',
    rows: [
      [
        objects('format', 'choice', { choices: choiceTexts.format }),
        objects('delimiter', 'text', {
          about: undefined,
          placeholder: ',',
          isExact: true,
          isShown: has('source/objectStorage/format', 'CSV', 'CSVWithNames'),
        }),
      ],
      objects('isContinuous', 'switch'),
      objects('queueUrl', 'text', {
        about: (draft) =>
          isAzure(draft)
            ? 'A storage queue for this pipe only, which Event Grid notifies of new blobs. If empty, the container is listed periodically.'
            : 'An SQS queue for this pipe only, which the bucket notifies of new objects. If empty, the bucket is listed periodically.',
        placeholder: (draft) =>
          isAzure(draft)
            ? 'https://northwind.queue.core.windows.net/orders'
            : 'https://sqs.eu-west-1.amazonaws.com/123456789012/orders',
        isShown: mayHaveQueue,
      }),
      objects('skipInitialLoad', 'switch', { isInverted: true, isShown: hasQueue }),
    ],
    more: {
      label: moreAboutSource,
      rows: [objects('compression', 'choice', { choices: choiceTexts.compression })],
    },
  },
]

const postgres = fieldsAt('source/postgres', postgresFields)
const replication = fieldsAt('source/postgres/settings', postgresSettingFields)

const postgresSections: FormSection[] = [
  {
    title: 'Where the tables are',
    rows: [
      [
        postgres('host', 'text', { about: 'Host name or IP address.', placeholder: 'postgres.example.com' }),
        postgres('port', 'number'),
        postgres('database', 'text', { placeholder: 'shop' }),
      ],
    ],
  },
  {
    title: 'Authentication',
    about: aboutSecrets,
    rows: [secretRow('source/postgres/credentials', ['username', 'password'])],
  },
  {
    title: 'Replication',
    rows: [replication('replicationMode', 'choice', { choices: choiceTexts.replicationMode })],
    more: {
      label: 'More about the replication',
      rows: [
        replication('publicationName', 'text'),
        replication('replicationSlotName', 'text', {
          isShown: (draft) =>
            has('source/postgres/settings/replicationMode', 'cdc_only')(draft) ||
            textOf(draft, 'source/postgres/settings/replicationSlotName') !== '',
        }),
        replication('allowNullableColumns', 'switch'),
        replication('enableFailoverSlots', 'switch'),
        [
          replication('syncIntervalSeconds', 'number'),
          replication('pullBatchSize', 'number'),
          replication('initialLoadParallelism', 'number'),
          replication('snapshotNumberOfParallelTables', 'number'),
          replication('snapshotNumRowsPerPartition', 'number'),
        ],
      ],
    },
  },
]

export const sourceSections: Record<PipeKind, FormSection[]> = {
  kafka: kafkaSections,
  kinesis: kinesisSections,
  objectStorage: objectStorageSections,
  postgres: postgresSections,
}

/** What cannot be changed later, in words. */
export const fixedParts: Record<PipeKind, string> = {
  kafka: 'Provider, brokers, topics, format, consumer group, where reading begins and schema registry',
  kinesis: 'Stream, region, format, where reading begins and enhanced fan-out',
  objectStorage: 'Provider, URL, format, compression, whether it is continuous, and queue',
  postgres: 'Replication mode, publication and slot',
}
