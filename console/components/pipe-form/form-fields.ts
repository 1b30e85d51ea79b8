// Fields of the pipe form as data: create and edit render, check and send the same list.
import {
  choiceTexts,
  destinationFields,
  type FieldText,
  type fieldMappingFields,
  kafkaFields,
  kinesisFields,
  objectStorageFields,
  offsetFields,
  type PipeKind,
  postgresFields,
  postgresSettingFields,
  rulesOf,
  scalingFields,
  schemaRegistryFields,
  secretFields,
  settingFields,
  tableDefinitionFields,
  tableEngineFields,
} from '../pipe-fields.ts'
import {
  addedTablesPointer,
  authenticationOf,
  isAzureStorage,
  isEmpty,
  isOn,
  isSameTable,
  neededSecrets,
  type PipeDraft,
  presentValue,
  removedTablesPointer,
  type TableName,
  textOf,
  type Value,
  type Values,
} from './pipe-draft.ts'

type Input =
  | 'text'
  | 'texts'
  | 'columnName'
  | 'columnNames'
  | 'time'
  | 'number'
  | 'choice'
  | 'switch'
  | 'pem'
  | 'password'
  | 'privateKey'
  /** Removes a stored secret. */
  | 'forget'
  /** A text without an input. */
  | 'note'
  /** Sent, but rendered elsewhere or not at all. */
  | 'other'

type Is = (draft: PipeDraft) => boolean
type Text = string | undefined | ((draft: PipeDraft) => string)

export interface FormField {
  /** Of the field in the body, and of its errors. */
  pointer: string
  input: Input
  label: string
  about?: Text
  placeholder?: Text
  choices?: Record<string, string> | ((draft: PipeDraft) => Record<string, string>)
  /** Whether the field applies. By default always. */
  isShown?: Is
  /** Whether a new pipe needs it. By default what the API requires. */
  isNeeded?: Is
  /** Whether an existing pipe can change it. By default what the API says. */
  isMutable?: boolean
  /** Never shown: an empty one keeps the stored value. */
  isSecret?: boolean
  /** Leading and trailing spaces are kept. */
  isExact?: boolean
  /** A switch that is on when the value is false. */
  isInverted?: boolean
  /** Not sent if it has this value, besides the default of the API. */
  omitted?: Value
  toBody?: (value: Value | undefined, draft: PipeDraft) => unknown
  /** Other pointers whose errors are shown here. */
  alsoAt?: string[]
}

/** Secrets of one field of the source. */
export interface SecretRow {
  group: string
  fields: FormField[]
}

/** Fields of a list are side by side. */
export type Row = FormField | FormField[] | SecretRow

export interface FormSection {
  title: string
  about?: string
  rows: Row[]
  /** Rarely used fields. */
  more?: { label: string; rows: Row[] }
}

const always: Is = () => true
const never: Is = () => false
const isNew: Is = ({ pipe }) => pipe === undefined
const isKind =
  (...kinds: (PipeKind | undefined)[]): Is =>
  ({ kind }) =>
    kinds.includes(kind)
const not =
  (is: Is): Is =>
  (draft) =>
    !is(draft)
const has =
  (pointer: string, ...values: string[]): Is =>
  (draft) =>
    values.includes(textOf(draft, pointer))

type More = Partial<FormField>
type MakeField = (name: string, input: Input, more?: More) => FormField

/** Makes fields below a pointer, with their texts. */
const fieldsAt =
  (path: string, texts: Record<string, FieldText>): MakeField =>
  (name, input, more = {}) => ({ pointer: path === '' ? name : `${path}/${name}`, input, ...texts[name]!, ...more })

const secretInputs: Record<string, Input> = {
  username: 'text',
  accessKeyId: 'text',
  certificate: 'pem',
  privateKey: 'privateKey',
}

function secretRow(group: string, names: (keyof typeof secretFields)[], more?: (name: string) => More): SecretRow {
  const groupName = group.split('/').at(-1)!
  const isUsed = (name: string): Is => {
    return (draft) => {
      const needed = neededSecrets(draft)
      return needed?.group === groupName && needed.names.includes(name)
    }
  }
  const fields = names.map((name): FormField => {
    const common = { ...secretFields[name], input: secretInputs[name] ?? 'password', isSecret: true }
    const pointer = groupName === name ? group : `${group}/${name}`
    return { pointer, ...common, isShown: isUsed(name), isNeeded: always, ...more?.(name) }
  })
  return { group, fields }
}

/** Stored secrets that the authentication does not use can be removed. */
function forgetField(group: string, label: string, more: More = {}): FormField {
  const name = group.split('/').at(-1)
  return {
    pointer: group,
    input: 'forget',
    label,
    about: 'The chosen authentication does not use it.',
    isShown: (draft) => !isNew(draft) && neededSecrets(draft)?.group !== name,
    isMutable: true,
    ...more,
  }
}

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
const hasQueue: Is = (draft) => mayHaveQueue(draft) && textOf(draft, 'source/objectStorage/queueUrl') !== ''

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

const destination = fieldsAt('destination', destinationFields)
const definition = fieldsAt('destination/tableDefinition', tableDefinitionFields)
const engine = fieldsAt('destination/tableDefinition/engine', tableEngineFields)
const database = destination('database', 'text', { placeholder: 'analytics' })
const isManaged: Is = (draft) => !isKind('postgres')(draft) && isOn(draft, 'destination/managedTable')
const hasEngine = (type: string): Is => {
  const isChosen = has('destination/tableDefinition/engine/type', type)
  return (draft) => isManaged(draft) && isChosen(draft)
}

const engineMeanings: Record<string, string> = {
  MergeTree: 'Keeps every row.',
  ReplacingMergeTree: 'Keeps the newest row of each sorting key.',
  SummingMergeTree: 'Adds up the rows of each sorting key.',
  Null: 'Keeps nothing; feeds materialized views.',
}

export const databaseSection: FormSection = { title: 'Database', rows: [database] }

export const tableSection: FormSection = {
  title: 'Table',
  rows: [
    [
      database,
      destination('table', 'text', { placeholder: 'orders', isShown: not(isKind('postgres')), isNeeded: always }),
    ],
    destination('managedTable', 'switch', {
      about: (draft) =>
        isManaged(draft)
          ? 'Penstock creates and extends the table.'
          : 'The table must be there already; Penstock only fills it.',
      isShown: not(isKind('postgres')),
    }),
  ],
}

export const definitionSection: FormSection = {
  title: destinationFields.tableDefinition.label,
  about: 'How Penstock creates the table.',
  rows: [
    [
      engine('type', 'choice', {
        about: (draft) => engineMeanings[textOf(draft, 'destination/tableDefinition/engine/type')]!,
        choices: Object.fromEntries(Object.keys(engineMeanings).map((name) => [name, name])),
        alsoAt: ['destination/tableDefinition/engine', 'destination/tableDefinition'],
        isShown: isManaged,
      }),
      engine('versionColumnId', 'columnName', {
        about: 'The column that identifies the newest row.',
        isShown: hasEngine('ReplacingMergeTree'),
      }),
    ],
    engine('columnIds', 'columnNames', {
      about: 'Left empty: all columns of numbers that are not in the sorting key.',
      isShown: hasEngine('SummingMergeTree'),
    }),
    definition('sortingKey', 'columnNames', {
      about: `${tableDefinitionFields.sortingKey.about} Their order matters.`,
      isShown: isManaged,
    }),
  ],
  more: {
    label: 'More about the table',
    rows: [
      [
        definition('partitionBy', 'text', { placeholder: 'toYYYYMM(ordered_at)', isShown: isManaged }),
        definition('primaryKey', 'text', { placeholder: 'order_id', isShown: isManaged }),
      ],
    ],
  },
}

/** A postgres pipe has table mappings instead, unless it has a table of its own. */
const hasColumns: Is = (draft) => {
  if (draft.kind !== 'postgres') return true
  const { destination, fieldMappings } = draft.pipe ?? {}
  return (
    destination !== undefined &&
    (destination.table !== undefined || destination.columns.length + fieldMappings!.length > 0)
  )
}

/** Items with their fields in a fixed order, so that lists can be compared. */
const itemsWith =
  (texts: object) =>
  (items: Value | undefined): unknown =>
    (Array.isArray(items) ? items : []).map((item) =>
      Object.fromEntries(Object.keys(texts).map((name) => [name, item[name as keyof typeof item]])),
    )

/** Omits switches that are off, and empty lists. */
const tablesToBody = (tables: Value | undefined): unknown =>
  (Array.isArray(tables) ? tables : []).map((table) =>
    Object.fromEntries(Object.entries(table).filter(([, value]) => value === '' || (value && !isEmpty(value)))),
  )

/** Removed tables that the pipe still has: another person may have removed some. */
function removedToBody(names: Value | undefined, { pipe }: PipeDraft): TableName[] {
  const removed = Array.isArray(names) ? (names as TableName[]) : []
  return (pipe?.source.postgres?.tableMappings ?? [])
    .filter((mapping) => removed.some((name) => isSameTable(name, mapping)))
    .map(({ sourceSchemaName, sourceTable }) => ({ sourceSchemaName, sourceTable }))
}

const tableFields = (draft: PipeDraft): FormField[] => [
  {
    pointer: removedTablesPointer,
    input: 'other',
    label: '',
    isMutable: true,
    isShown: not(isNew),
    toBody: removedToBody,
  },
  { pointer: addedTablesPointer(draft), input: 'other', label: 'Tables', isMutable: true, toBody: tablesToBody },
]

const columnFieldNames = { name: '', type: '' }
const listFields: FormField[] = [
  destination('columns', 'other', { isShown: hasColumns, toBody: itemsWith(columnFieldNames) }),
  {
    pointer: 'fieldMappings',
    input: 'other',
    label: 'Field mappings',
    isShown: hasColumns,
    toBody: itemsWith({ sourceField: '', destinationField: '' } satisfies Record<
      keyof typeof fieldMappingFields,
      string
    >),
  },
]

/** Settings with these prefixes apply to some source kinds only. An existing pipe may have others, which can be reset. */
function settingMatters(name: string): Is {
  const special = name.startsWith('streaming_')
    ? isKind('kafka', 'kinesis')
    : name.startsWith('object_storage_')
      ? isKind('objectStorage')
      : always
  const pointer = `settings/${name}`
  return (draft) => special(draft) || (!isNew(draft) && presentValue(draft, pointer) !== rulesOf(pointer).default)
}

const fieldsOfGroup = (group: string, texts: Record<string, FieldText>, isShown: (name: string) => Is): FormField[] =>
  Object.keys(texts).map((name) => fieldsAt(group, texts)(name, 'other', { isShown: isShown(name) }))

const settingsOfPipe = fieldsOfGroup('settings', settingFields, settingMatters)
const scalingOfPipe = fieldsOfGroup('scaling', scalingFields, () => always)

export const nameField: FormField = { pointer: 'name', input: 'text', label: 'Name' }
export const startPausedField: FormField = {
  pointer: 'startPaused',
  input: 'switch',
  label: 'Create it stopped',
  about: 'It can be started later. Otherwise it starts at once.',
}
export const checkPointer = 'source/validateSamples'

const isSecretRow = (row: Row): row is SecretRow => 'group' in row
export const fieldsOfRows = (rows: Row[]): FormField[] => rows.flatMap((row) => (isSecretRow(row) ? row.fields : row))
export const rowsOf = ({ rows, more }: FormSection): Row[] => [...rows, ...(more?.rows ?? [])]

/** All fields that apply, in the order in which they are sent. */
export function shownFields(draft: PipeDraft): FormField[] {
  const sections = [
    ...(draft.kind ? sourceSections[draft.kind] : []),
    ...(draft.kind === 'postgres' ? [databaseSection] : [tableSection, definitionSection]),
  ]
  return [
    nameField,
    startPausedField,
    { pointer: checkPointer, input: 'other', label: '', isShown: isNew } satisfies FormField,
    ...sections.flatMap((section) => fieldsOfRows(rowsOf(section))),
    ...(draft.kind === 'postgres' ? tableFields(draft) : []),
    ...listFields,
    ...settingsOfPipe,
    ...scalingOfPipe,
  ].filter((field) => isShown(field, draft))
}

export function isShown(field: FormField, draft: PipeDraft): boolean {
  const isAvailable = isNew(draft) || (field.isMutable ?? rulesOf(field.pointer).update !== undefined)
  return isAvailable && (field.isShown ?? always)(draft)
}

export function isNeeded(field: FormField, draft: PipeDraft): boolean {
  return isNew(draft) && (field.isNeeded ?? (rulesOf(field.pointer).required ? always : never))(draft)
}

export const resolved = (text: Text, draft: PipeDraft): string | undefined =>
  typeof text === 'function' ? text(draft) : text

/** Applies changed values; undefined makes a field untouched again. */
export function withValues(draft: PipeDraft, changed: Record<string, Value | undefined>): PipeDraft {
  const entries = Object.entries({ ...draft.values, ...changed }).filter(([, value]) => value !== undefined)
  const next: PipeDraft = { ...draft, values: Object.fromEntries(entries) as Values }
  const authentication = 'source/objectStorage/authentication'
  // A queue requires credentials.
  const isOpen = isNew(next) && textOf(next, authentication) === 'none' && hasQueue(next)
  return isOpen ? { ...next, values: { ...next.values, [authentication]: 'IAM_ROLE' } } : next
}
