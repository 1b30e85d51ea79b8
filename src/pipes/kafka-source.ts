import { mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import {
  authenticationAfter,
  bringsSecret,
  bringsValue,
  Credentials,
  IamRole,
  mergeSecrets,
  missingSecretProblems,
  type SourceKind,
  secretsOf,
} from './pipe-source.ts'

const Authentication = Type.Enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'IAM_ROLE', 'IAM_USER', 'MUTUAL_TLS'], {
  description: 'Decides which credentials are needed.',
})
type Authentication = Static<typeof Authentication>

const CaCertificate = Type.String({
  minLength: 1,
  maxLength: 65_536,
  pattern: '^\\s*(?:-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----\\s*)+$',
  patternHint: 'PEM: one or more "-----BEGIN CERTIFICATE-----" blocks',
  description: 'PEM. Whether the certificate is good is checked by `validateSamples`.',
})

const ReversePrivateEndpointIds = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  maxItems: 64,
  description: 'Private ways to the brokers; a new list replaces the old one.',
})

const Shown = Type.Object(
  {
    type: Type.Enum(['kafka', 'redpanda', 'msk', 'confluent', 'warpstream', 'azureeventhub', 'dokafka']),
    authentication: Authentication,
    brokers: Type.String({ description: '`host:port`, separated by commas.' }),
    topics: Type.String({ description: 'Separated by commas.' }),
    consumerGroup: Type.Optional(Type.String()),
    format: Type.Enum(['JSONEachRow', 'Avro', 'AvroConfluent', 'Protobuf']),
    caCertificate: Type.Optional(Type.String()),
    iamRole: Type.Optional(Type.String()),
    offset: Type.Optional(
      Type.Object(
        {
          strategy: Type.Enum(['from_beginning', 'from_latest', 'from_timestamp']),
          timestamp: Type.Optional(Type.String({ description: '`YYYY-MM-DDTHH:MM`, UTC.' })),
        },
        { additionalProperties: false },
      ),
    ),
    reversePrivateEndpointIds: Type.Optional(ReversePrivateEndpointIds),
    schemaRegistry: Type.Optional(
      Type.Object(
        {
          url: Type.String(),
          authentication: Type.Optional(Type.Enum(['PLAIN'])),
          caCertificate: Type.Optional(Type.String()),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { $id: 'KafkaSource', additionalProperties: false },
)
type Shown = Static<typeof Shown>

const Patch = Type.Object(
  {
    authentication: Type.Optional(Authentication),
    caCertificate: Type.Optional(nullable(CaCertificate)),
    credentials: Type.Optional(nullable(Credentials)),
    iamRole: Type.Optional(nullable(IamRole)),
    reversePrivateEndpointIds: Type.Optional(nullable(ReversePrivateEndpointIds)),
  },
  { $id: 'KafkaSourcePatch', additionalProperties: false },
)
type Patch = Static<typeof Patch>

export const kafka: SourceKind<Shown, Patch> = {
  Shown,
  Patch,

  merge({ shown, secrets }, patch) {
    const { credentials, ...fields } = patch
    const merged = mergePatch(shown, fields)
    if (!patch.authentication) {
      const brought: Authentication[] = []
      const usesIam = shown.authentication === 'IAM_ROLE' || shown.authentication === 'IAM_USER'
      if (bringsSecret(credentials)) brought.push(usesIam ? 'PLAIN' : shown.authentication)
      if (bringsValue(patch.iamRole, shown.iamRole)) brought.push('IAM_ROLE')
      merged.authentication = authenticationAfter(shown.authentication, brought)!
    }
    return {
      shown: merged,
      secrets: secretsOf({ ...secrets, credentials: mergeSecrets(secrets.credentials, credentials) }),
    }
  },

  problems({ shown, secrets }) {
    const path = 'source.kafka.credentials'
    const because = `authentication is ${shown.authentication}`
    const need = (...names: string[]): FieldProblem[] =>
      missingSecretProblems(path, secrets.credentials, names, because)
    switch (shown.authentication) {
      case 'IAM_ROLE':
        if (shown.iamRole) return []
        return [{ path: 'source.kafka.iamRole', detail: `source.kafka.iamRole is required, because ${because}` }]
      case 'IAM_USER':
        return need('accessKeyId', 'secretKey')
      case 'MUTUAL_TLS':
        return need('certificate', 'privateKey')
      default:
        // Azure Event Hubs hands out a connection string that stands for user name and password.
        return shown.type === 'azureeventhub' && secrets.credentials?.connectionString
          ? []
          : need('username', 'password')
    }
  },
}
