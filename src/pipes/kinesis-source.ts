import { mergePatch } from '../lib/merge-patch.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import {
  AccessKey,
  authenticationAfter,
  bringsSecret,
  bringsValue,
  IamRole,
  mergeSecrets,
  missingSecretProblems,
  type SourceKind,
  secretsOf,
} from './pipe-source.ts'

const Authentication = Type.Enum(['IAM_ROLE', 'IAM_USER'], {
  description: '`IAM_ROLE` needs `iamRole`, `IAM_USER` needs `accessKey`.',
})
type Authentication = Static<typeof Authentication>

const Shown = Type.Object(
  {
    authentication: Authentication,
    format: Type.Enum(['JSONEachRow', 'Avro', 'AvroConfluent']),
    iamRole: Type.Optional(Type.String()),
    iteratorType: Type.Enum(['TRIM_HORIZON', 'LATEST', 'AT_TIMESTAMP']),
    region: Type.String(),
    streamName: Type.String(),
    timestamp: Type.Optional(Type.Integer({ description: 'Seconds since 1970, for `AT_TIMESTAMP`.' })),
    useEnhancedFanOut: Type.Optional(Type.Boolean()),
  },
  { $id: 'KinesisSource', additionalProperties: false },
)
type Shown = Static<typeof Shown>

const Patch = Type.Object(
  {
    authentication: Type.Optional(Authentication),
    accessKey: Type.Optional(nullable(AccessKey)),
    iamRole: Type.Optional(nullable(IamRole)),
  },
  { $id: 'KinesisSourcePatch', additionalProperties: false },
)
type Patch = Static<typeof Patch>

export const kinesis: SourceKind<Shown, Patch> = {
  Shown,
  Patch,

  merge({ shown, secrets }, patch) {
    const { accessKey, ...fields } = patch
    const merged = mergePatch(shown, fields)
    if (!patch.authentication) {
      const brought: Authentication[] = []
      if (bringsSecret(accessKey)) brought.push('IAM_USER')
      if (bringsValue(patch.iamRole, shown.iamRole)) brought.push('IAM_ROLE')
      merged.authentication = authenticationAfter(shown.authentication, brought)!
    }
    return { shown: merged, secrets: secretsOf({ ...secrets, accessKey: mergeSecrets(secrets.accessKey, accessKey) }) }
  },

  problems({ shown, secrets }) {
    const because = `authentication is ${shown.authentication}`
    if (shown.authentication === 'IAM_USER') {
      return missingSecretProblems('source.kinesis.accessKey', secrets.accessKey, ['accessKeyId', 'secretKey'], because)
    }
    if (shown.iamRole) return []
    return [{ path: 'source.kinesis.iamRole', detail: `source.kinesis.iamRole is required, because ${because}` }]
  },
}
