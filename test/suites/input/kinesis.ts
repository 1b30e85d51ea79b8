// Input table: the fields of Kinesis pipes.
import { type Line, openTable, password } from './line.ts'

export const kinesisLines: Line[] = []
const { bad, good } = openTable(kinesisLines)

const kinesis = (patch: object) => ({ source: { kinesis: patch } })
bad(
  'kinesis',
  'half an access key',
  kinesis({ accessKey: { accessKeyId: 'AKIAEXAMPLE' } }),
  'source.kinesis.accessKey must have secretKey, because authentication is IAM_USER',
  { hides: 'AKIAEXAMPLE' },
)
bad(
  'kinesis',
  'an access key as text',
  kinesis({ accessKey: password }),
  'source.kinesis.accessKey must be an object or null, not a string',
  { hides: password },
)
bad(
  'kinesis',
  'a secret key of 1,025 characters',
  kinesis({ accessKey: { secretKey: 's'.repeat(1025) } }),
  'source.kinesis.accessKey.secretKey must have 1 to 1024 characters',
)
bad(
  'kinesis',
  'an access key id null',
  kinesis({ accessKey: { accessKeyId: null } }),
  'source.kinesis.accessKey.accessKeyId must be a string, not null',
)
bad(
  'kinesis',
  'role null where it is needed',
  kinesis({ iamRole: null }),
  'source.kinesis.iamRole is required, because authentication is IAM_ROLE',
)
bad(
  'kinesis',
  'an authentication of Kafka',
  kinesis({ authentication: 'PLAIN' }),
  'source.kinesis.authentication must be one of IAM_ROLE, IAM_USER, not "PLAIN"',
)
bad(
  'kinesis',
  'another stream',
  kinesis({ streamName: 'x' }),
  'source.kinesis.streamName cannot be changed (it is "clicks")',
)
bad(
  'kinesis',
  'another time',
  kinesis({ timestamp: 1 }),
  'source.kinesis.timestamp cannot be changed (it is 1767225600)',
)
good(
  'kinesis',
  'a whole access key, which switches',
  kinesis({ accessKey: { accessKeyId: 'AKIAEXAMPLE', secretKey: password } }),
  '"authentication":"IAM_USER"',
  { hides: password },
)
good(
  'kinesis',
  'a new role, which switches back',
  kinesis({ iamRole: 'arn:aws:iam::1:role/x' }),
  '"authentication":"IAM_ROLE"',
)
