// The fields of a Kafka source: as they are read, as a pipe is created with them, and as they may be changed.
import { nullable, type Static, Type } from '../lib/schema.ts'
import { brokersPattern, httpUrlPattern } from './address.ts'
import { Credentials, connectionStringForm, IamRole, login, secretGroup, secretText, userKey } from './pipe-source.ts'

const Authentication = Type.Enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'IAM_ROLE', 'IAM_USER', 'MUTUAL_TLS'], {
  description: 'Decides which credentials are needed.',
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
  // What is pasted here by mistake is the key.
  unquoted: true,
  description: 'PEM. Whether the certificate is good is checked by `validateSamples`.',
})

const KafkaCredentials = secretGroup({
  ...login,
  ...userKey,
  certificate: Type.Optional(secretText(longestPem, 'Client certificate, for `MUTUAL_TLS`.', certificatePem)),
  privateKey: Type.Optional(
    secretText(longestPem, 'Key of the client certificate.', {
      pattern: `^\\s*-----BEGIN (?:RSA |EC )?PRIVATE KEY-----${base64}-----END (?:RSA |EC )?PRIVATE KEY-----\\s*$`,
      patternHint: 'PEM: one "-----BEGIN PRIVATE KEY-----" block, not encrypted',
    }),
  ),
  connectionString: Type.Optional(
    secretText(4096, 'For `azureeventhub`; stands for user name and password.', connectionStringForm),
  ),
})

const ReversePrivateEndpointIds = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  maxItems: 64,
  description: 'Private ways to the brokers; a new list replaces the old one.',
})

const Offset = Type.Object(
  {
    strategy: Type.Enum(['from_beginning', 'from_latest', 'from_timestamp']),
    timestamp: Type.Optional(
      Type.String({
        maxLength: 16,
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$',
        patternHint: 'a date and time such as 2026-01-31T12:00',
        description: '`YYYY-MM-DDTHH:MM`, UTC. With `from_timestamp`, and only with it.',
      }),
    ),
  },
  { additionalProperties: false },
)

const registry = {
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    checkedPattern: httpUrlPattern,
    description: '`http` or `https`, without user name and password.',
  }),
  authentication: Type.Optional(
    Type.Enum(['PLAIN'], {
      description: 'Left out: the registry asks for nothing. `PLAIN` when credentials are sent.',
    }),
  ),
  caCertificate: Type.Optional(CaCertificate),
}

const fixed = {
  type: Type.Enum(['kafka', 'redpanda', 'msk', 'confluent', 'warpstream', 'azureeventhub', 'dokafka']),
  authentication: Authentication,
  brokers: Type.String({
    minLength: 1,
    maxLength: 8192,
    checkedPattern: brokersPattern,
    description: '`host:port`, separated by commas.',
  }),
  topics: Type.String({ minLength: 1, maxLength: 8192, description: 'Separated by commas.' }),
  format: Type.Enum(['JSONEachRow', 'Avro', 'AvroConfluent', 'Protobuf'], {
    description: '`AvroConfluent` needs `schemaRegistry`.',
  }),
  consumerGroup: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'When a pipe is created without one: `penstock-` and the id of the pipe.',
    }),
  ),
  offset: Type.Optional(Offset),
  caCertificate: Type.Optional(CaCertificate),
  iamRole: Type.Optional(IamRole),
  reversePrivateEndpointIds: Type.Optional(ReversePrivateEndpointIds),
}

export const KafkaSource = Type.Object(
  { ...fixed, schemaRegistry: Type.Optional(Type.Object(registry, { additionalProperties: false })) },
  { $id: 'KafkaSource', additionalProperties: false },
)
export type KafkaSource = Static<typeof KafkaSource>

export const KafkaSourceCreate = Type.Object(
  {
    ...fixed,
    offset: Type.Optional({ ...Offset, default: { strategy: 'from_beginning' } } as typeof Offset),
    credentials: Type.Optional(KafkaCredentials),
    schemaRegistry: Type.Optional(
      Type.Object({ ...registry, credentials: Type.Optional(Credentials) }, { additionalProperties: false }),
    ),
  },
  { $id: 'KafkaSourceCreate', additionalProperties: false },
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
    description: 'The credentials of the schema registry cannot be changed.',
  },
)
export type KafkaSourcePatch = Static<typeof KafkaSourcePatch>
