import { mergePatch } from '../lib/merge-patch.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import {
  AccessKey,
  authenticationAfter,
  bringsSecret,
  bringsValue,
  fieldProblem,
  IamRole,
  mergeSecrets,
  missingSecretProblems,
  type SourceKind,
} from './source-kind.ts'

const Authentication = Type.Enum(['IAM_ROLE', 'IAM_USER'], {
  description: 'Authentication: `IAM_ROLE` requires `iamRole`, `IAM_USER` requires `accessKey`.',
})

/** The last second of the year 9999. */
const lastSecond = 253_402_300_799

const fixed = {
  authentication: Authentication,
  format: Type.Enum(['JSONEachRow', 'Avro', 'AvroConfluent'], {
    description: 'Format of the records. `AvroConfluent` is accepted but not supported: the pipe fails when it starts.',
  }),
  iteratorType: Type.Enum(['TRIM_HORIZON', 'LATEST', 'AT_TIMESTAMP'], {
    description: 'Where to start reading in a stream that the pipe has not read yet, as in the Kinesis API.',
  }),
  region: Type.String({
    maxLength: 64,
    pattern: '^[a-z]{2,}(?:-[a-z]+)+-[0-9]{1,2}$',
    patternHint: 'a region such as eu-west-1',
    description: 'AWS region of the stream.',
  }),
  streamName: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[A-Za-z0-9_.-]+$',
    patternHint: 'a name of letters, digits and the characters _ . -',
    description: 'Name of the Kinesis data stream.',
  }),
  timestamp: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: lastSecond,
      description: 'Unix timestamp in seconds. Required for `AT_TIMESTAMP`, not allowed otherwise.',
    }),
  ),
}

const enhancedFanOut = 'Whether to register a consumer with enhanced fan-out. `false`: the pipe polls the stream.'

const Shown = Type.Object(
  {
    ...fixed,
    iamRole: Type.Optional(IamRole),
    useEnhancedFanOut: Type.Optional(Type.Boolean({ description: enhancedFanOut })),
  },
  { $id: 'KinesisSource', description: 'Kinesis source.', additionalProperties: false },
)
type Shown = Static<typeof Shown>
export type KinesisSource = Shown

const Create = Type.Object(
  {
    ...fixed,
    accessKey: Type.Optional(AccessKey),
    iamRole: Type.Optional(IamRole),
    useEnhancedFanOut: Type.Optional(Type.Boolean({ default: false, description: enhancedFanOut })),
  },
  { $id: 'KinesisSourceCreate', description: 'Kinesis source with its credentials.', additionalProperties: false },
)
type Create = Static<typeof Create>

const Patch = Type.Object(
  {
    authentication: Type.Optional(Authentication),
    accessKey: Type.Optional(nullable(AccessKey)),
    iamRole: Type.Optional(nullable(IamRole)),
  },
  { $id: 'KinesisSourcePatch', description: 'Changes to a Kinesis source.', additionalProperties: false },
)
type Patch = Static<typeof Patch>

export const kinesis: SourceKind<Shown, Create, Patch> & { reads: 'records' } = {
  reads: 'records',
  Shown,
  Create,
  Patch,

  create({ accessKey, ...fields }, _pipeId, problems) {
    const { iteratorType, timestamp } = fields
    const path = 'source.kinesis.timestamp'
    if (iteratorType === 'AT_TIMESTAMP' && timestamp === undefined) {
      problems.push(fieldProblem(path, `is required, because iteratorType is ${iteratorType}`))
    } else if (iteratorType !== 'AT_TIMESTAMP' && timestamp !== undefined) {
      problems.push(fieldProblem(path, `is only for AT_TIMESTAMP; iteratorType is ${iteratorType}`))
    }
    return { shown: { useEnhancedFanOut: false, ...fields }, secrets: mergeSecrets({}, { accessKey }) }
  },

  merge({ shown, secrets }, { accessKey, ...fields }) {
    const merged = mergePatch(shown, fields)
    merged.authentication = authenticationAfter(shown.authentication, fields.authentication, [
      bringsSecret(accessKey) && 'IAM_USER',
      bringsValue(fields.iamRole, shown.iamRole) && 'IAM_ROLE',
    ])!
    return { shown: merged, secrets: mergeSecrets(secrets, { accessKey }) }
  },

  problems({ shown, secrets }) {
    const because = `authentication is ${shown.authentication}`
    if (shown.authentication === 'IAM_USER') {
      return missingSecretProblems('source.kinesis.accessKey', secrets.accessKey, ['accessKeyId', 'secretKey'], because)
    }
    return shown.iamRole ? [] : [fieldProblem('source.kinesis.iamRole', `is required, because ${because}`)]
  },

  describe: ({ streamName }) => streamName && `the Kinesis stream ${streamName}`,

  leftBy({ region, streamName, authentication, iamRole, useEnhancedFanOut }) {
    if (!useEnhancedFanOut) return undefined
    return { kind: 'kinesis', region, streamName, authentication, ...(iamRole === undefined ? {} : { iamRole }) }
  },
}
