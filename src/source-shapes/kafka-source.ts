// Kafka source: shapes to read, to create and to update, and validation.

import { mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import { quote } from '../lib/shape-rules.ts'
import { brokersPattern, brokersProblem, httpUrlPattern, urlProblem } from './address.ts'
import {
  authenticationAfter,
  bringsValue,
  Credentials,
  connectionStringForm,
  fieldProblem,
  IamRole,
  login,
  mergeSecrets,
  missingSecretProblems,
  type PipeSource,
  type SourceKind,
  secretGroup,
  secretText,
  userKey,
} from './source-kind.ts'

const Authentication = Type.Enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'IAM_ROLE', 'IAM_USER', 'MUTUAL_TLS'], {
  description: 'Authentication mechanism. It determines the required credentials.',
})

const base64 = '[A-Za-z0-9+/=\\s]+'
const certificatePem = {
  pattern: `^\\s*(?:-----BEGIN CERTIFICATE-----${base64}-----END CERTIFICATE-----\\s*)+$`,
  patternHint: 'PEM: one or more "-----BEGIN CERTIFICATE-----" blocks',
}
const longestPem = 65_536

const CaCertificate = Type.String({
  minLength: 1,
  maxLength: longestPem,
  ...certificatePem,
  // Not quoted: a private key may be pasted here by mistake.
  unquoted: true,
  description: 'CA certificates of the server in PEM format. `validateSamples` ' + 'checks them.',
})

const KafkaCredentials = secretGroup({
  ...login,
  ...userKey,
  certificate: Type.Optional(
    secretText(longestPem, 'Client certificate in PEM format, for `MUTUAL_TLS`.', certificatePem),
  ),
  privateKey: Type.Optional(
    secretText(longestPem, 'Private key of the client certificate in PEM format, not encrypted.', {
      pattern: `^\\s*-----BEGIN (?:RSA |EC )?PRIVATE KEY-----${base64}-----END (?:RSA |EC )?PRIVATE KEY-----\\s*$`,
      patternHint: 'PEM: one "-----BEGIN PRIVATE KEY-----" block, not encrypted',
    }),
  ),
  connectionString: Type.Optional(
    secretText(
      4096,
      'Connection string of Azure Event Hubs, for `azureeventhub`. It replaces user name and password.',
      connectionStringForm,
    ),
  ),
})

const ReversePrivateEndpointIds = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  maxItems: 64,
  description:
    'Ids of reverse private endpoints that the operator has configured, to connect to the brokers. A new list ' +
    'replaces the current one.',
})

const Offset = Type.Object(
  {
    strategy: Type.Enum(['from_beginning', 'from_latest', 'from_timestamp'], {
      description: 'Earliest offset, latest offset, or the first record at or after `timestamp`.',
    }),
    timestamp: Type.Optional(
      Type.String({
        maxLength: 16,
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$',
        patternHint: 'a date and time such as 2026-01-31T12:00',
        description: 'Timestamp `YYYY-MM-DDTHH:MM` in UTC. Required for `from_timestamp`, not allowed otherwise.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Where to start reading in a topic that the pipe has not read yet.' },
)

const schemaRegistry = 'Schema registry, for `AvroConfluent` and `Protobuf`.'
const registry = {
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    checkedPattern: httpUrlPattern,
    description: 'URL of the schema registry: `http` or `https`, without user name and password.',
  }),
  authentication: Type.Optional(
    Type.Enum(['PLAIN'], {
      description:
        'Authentication at the schema registry: user name and password. Default: `PLAIN` if credentials are sent, ' +
        'otherwise no authentication.',
    }),
  ),
  caCertificate: Type.Optional(CaCertificate),
}

const fixed = {
  type: Type.Enum(['kafka', 'redpanda', 'msk', 'confluent', 'warpstream', 'azureeventhub', 'dokafka'], {
    description: 'Kafka vendor or service.',
  }),
  authentication: Authentication,
  brokers: Type.String({
    minLength: 1,
    maxLength: 8192,
    checkedPattern: brokersPattern,
    description: 'Bootstrap brokers as `host:port`, separated by commas.',
  }),
  topics: Type.String({ minLength: 1, maxLength: 8192, description: 'Names of the topics, separated by commas.' }),
  format: Type.Enum(['JSONEachRow', 'Avro', 'AvroConfluent', 'Protobuf'], {
    description: 'Format of the records. `AvroConfluent` and `Protobuf` need `schemaRegistry`.',
  }),
  consumerGroup: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Kafka consumer group under which offsets are committed. Default: `penstock-` and the id of the pipe.',
    }),
  ),
  offset: Type.Optional(Offset),
  caCertificate: Type.Optional(CaCertificate),
  iamRole: Type.Optional(IamRole),
  reversePrivateEndpointIds: Type.Optional(ReversePrivateEndpointIds),
}

export const KafkaSource = Type.Object(
  {
    ...fixed,
    schemaRegistry: Type.Optional(Type.Object(registry, { additionalProperties: false, description: schemaRegistry })),
  },
  { $id: 'KafkaSource', description: 'Kafka source.', additionalProperties: false },
)
export type KafkaSource = Static<typeof KafkaSource>

export const KafkaSourceCreate = Type.Object(
  {
    ...fixed,
    offset: Type.Optional({ ...Offset, default: { strategy: 'from_beginning' } } as typeof Offset),
    credentials: Type.Optional(KafkaCredentials),
    schemaRegistry: Type.Optional(
      Type.Object(
        { ...registry, credentials: Type.Optional(Credentials) },
        { additionalProperties: false, description: schemaRegistry },
      ),
    ),
  },
  { $id: 'KafkaSourceCreate', description: 'Kafka source with its credentials.', additionalProperties: false },
)
export type KafkaSourceCreate = Static<typeof KafkaSourceCreate>

export const KafkaSourcePatch = Type.Object(
  {
    authentication: Type.Optional(Authentication),
    caCertificate: Type.Optional(nullable(CaCertificate)),
    credentials: Type.Optional(nullable(KafkaCredentials)),
    iamRole: Type.Optional(nullable(IamRole)),
    reversePrivateEndpointIds: Type.Optional(nullable(ReversePrivateEndpointIds)),
  },
  {
    $id: 'KafkaSourcePatch',
    additionalProperties: false,
    description:
      'Changes to a Kafka source. Fields that are not listed here, such as the schema registry, cannot be changed.',
  },
)
export type KafkaSourcePatch = Static<typeof KafkaSourcePatch>

type Authentication = KafkaSource['authentication']

export const kafka: SourceKind<KafkaSource, KafkaSourceCreate, KafkaSourcePatch> & { reads: 'records' } = {
  reads: 'records',
  Shown: KafkaSource,
  Create: KafkaSourceCreate,
  Patch: KafkaSourcePatch,

  create({ credentials, schemaRegistry, ...fields }, pipeId, problems) {
    const { credentials: registryLogin, ...registry } = schemaRegistry ?? {}
    const authentication = registryLogin ? { authentication: 'PLAIN' as const } : {}
    const source: PipeSource<KafkaSource> = {
      shown: {
        consumerGroup: `penstock-${pipeId}`,
        offset: { strategy: 'from_beginning' },
        ...fields,
        ...(schemaRegistry ? { schemaRegistry: { ...authentication, ...registry, url: schemaRegistry.url } } : {}),
      },
      secrets: mergeSecrets({}, { credentials, schemaRegistry: registryLogin }),
    }
    problems.push(...addressProblems(source.shown), ...offsetProblems(source.shown), ...registryProblems(source))
    return source
  },

  merge({ shown, secrets }, { credentials, ...fields }) {
    const merged = mergePatch(shown, fields)
    const inUse = shown.authentication
    // Three mechanisms use a user name and a password: keep the current one.
    const byLogin: Authentication = inUse === 'IAM_ROLE' || inUse === 'IAM_USER' ? 'PLAIN' : inUse
    const brings = (...names: (keyof NonNullable<typeof credentials>)[]): boolean =>
      names.some((name) => credentials?.[name] !== undefined)
    merged.authentication = authenticationAfter(inUse, fields.authentication, [
      brings('username', 'password') && byLogin,
      brings('accessKeyId', 'secretKey') && 'IAM_USER',
      brings('certificate', 'privateKey') && 'MUTUAL_TLS',
      // Stored for other types of Kafka too, but does not switch their authentication.
      brings('connectionString') && shown.type === 'azureeventhub' && byLogin,
      bringsValue(fields.iamRole, shown.iamRole) && 'IAM_ROLE',
    ])!
    return { shown: merged, secrets: mergeSecrets(secrets, { credentials }) }
  },

  problems({ shown, secrets }) {
    const because = `authentication is ${shown.authentication}`
    const need = (...names: string[]): FieldProblem[] =>
      missingSecretProblems('source.kafka.credentials', secrets.credentials, names, because)
    switch (shown.authentication) {
      case 'IAM_ROLE':
        return shown.iamRole ? [] : [fieldProblem('source.kafka.iamRole', `is required, because ${because}`)]
      case 'IAM_USER':
        return need('accessKeyId', 'secretKey')
      case 'MUTUAL_TLS':
        return need('certificate', 'privateKey')
      default:
        // A connection string of Azure Event Hubs replaces user name and password.
        return shown.type === 'azureeventhub' && secrets.credentials?.connectionString
          ? []
          : need('username', 'password')
    }
  },

  describe: ({ brokers }) => brokers && `Kafka at ${brokers}`,
}

const topicName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/

function addressProblems({ brokers, topics }: KafkaSource): FieldProblem[] {
  const problems: FieldProblem[] = []
  const rest = brokersProblem(brokers)
  if (rest) problems.push(fieldProblem('source.kafka.brokers', rest))
  const wrong = topics.split(',').find((topic) => !topicName.test(topic))
  if (wrong !== undefined) {
    const must = 'must be names of topics, separated by commas and nothing else'
    problems.push(fieldProblem('source.kafka.topics', `${must}, but has ${quote(wrong)}`))
  }
  return problems
}

function offsetProblems({ offset }: KafkaSource): FieldProblem[] {
  if (!offset) return []
  const { strategy, timestamp } = offset
  const path = 'source.kafka.offset.timestamp'
  if (strategy !== 'from_timestamp') {
    return timestamp === undefined ? [] : [fieldProblem(path, `is only for from_timestamp; strategy is ${strategy}`)]
  }
  if (timestamp === undefined) return [fieldProblem(path, 'is required, because strategy is from_timestamp')]
  return isTimestamp(timestamp) ? [] : [fieldProblem(path, `must be an existing date and time, not "${timestamp}"`)]
}

/** Rejects February 30, which Date would read as March 2. */
function isTimestamp(minute: string): boolean {
  const date = new Date(`${minute}:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(minute)
}

function registryProblems({ shown, secrets }: PipeSource<KafkaSource>): FieldProblem[] {
  const path = 'source.kafka.schemaRegistry'
  const { format, schemaRegistry } = shown
  if (!schemaRegistry) {
    return format === 'AvroConfluent' ? [fieldProblem(path, `is required, because format is ${format}`)] : []
  }
  const rest = urlProblem(schemaRegistry.url, ['http', 'https'])
  const problems = rest ? [fieldProblem(`${path}.url`, rest)] : []
  if (schemaRegistry.authentication) {
    const needed = ['username', 'password']
    const because = `authentication is ${schemaRegistry.authentication}`
    problems.push(...missingSecretProblems(`${path}.credentials`, secrets.schemaRegistry, needed, because))
  }
  return problems
}
