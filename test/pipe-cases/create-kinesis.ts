// Kinesis sources of new pipes, accepted and refused.
import { type Accepted, combination, each, iamRole, type Refused, text, userKey, wrong } from './create-source.ts'

export const kinesisAccepted: Accepted[] = [
  { title: 'the least, with defaults', kind: 'kinesis', change: {}, added: { useEnhancedFanOut: false }, secrets: {} },
  {
    title: 'every field',
    kind: 'kinesis',
    change: {
      authentication: 'IAM_USER',
      accessKey: userKey,
      iamRole,
      format: 'Avro',
      iteratorType: 'AT_TIMESTAMP',
      region: 'us-gov-west-1',
      streamName: `a_B.9-${text(122)}`,
      timestamp: 1767225600,
      useEnhancedFanOut: true,
    },
    secrets: { accessKey: userKey },
  },
  ...each(['JSONEachRow', 'Avro', 'AvroConfluent'], (format) => ({
    title: `format ${format}`,
    kind: 'kinesis',
    change: { format },
    added: { useEnhancedFanOut: false },
  })),
  ...each(['TRIM_HORIZON', 'LATEST'], (iteratorType) => ({
    title: `iteratorType ${iteratorType}`,
    kind: 'kinesis',
    change: { iteratorType },
    added: { useEnhancedFanOut: false },
  })),
  ...each([0, 253402300799], (timestamp) => ({
    title: `timestamp ${timestamp}`,
    kind: 'kinesis',
    change: { iteratorType: 'AT_TIMESTAMP', timestamp },
    added: { useEnhancedFanOut: false },
  })),
]

export const kinesisRefused: Refused[] = [
  ...wrong('kinesis', 'format', [undefined, 'Protobuf', 'CSV']),
  ...wrong('kinesis', 'authentication', [undefined, 'PLAIN', null]),
  ...wrong('kinesis', 'iteratorType', [undefined, 'LAST', null]),
  ...wrong('kinesis', 'region', [undefined, '', 'europe', 'EU-WEST-1', 'eu-west-', 'eu west-1', `eu-${text(70)}-1`]),
  ...wrong('kinesis', 'streamName', [undefined, '', 'a b', 'a/b', 'größe', text(129)]),
  ...wrong('kinesis', 'useEnhancedFanOut', ['true', null]),
  ...wrong('kinesis', 'iamRole', ['', text(2049), null]),
  ...wrong('kinesis', 'accessKey', [null, 'hush']),
  ...wrong('kinesis', 'stream', ['x']),
  ...[-1, 1.5, '1', 253402300800, null].map((timestamp) =>
    combination('kinesis', `timestamp ${timestamp}`, { iteratorType: 'AT_TIMESTAMP', timestamp }, 'timestamp'),
  ),
  combination('kinesis', 'AT_TIMESTAMP without one', { iteratorType: 'AT_TIMESTAMP' }, 'timestamp', /is required/),
  combination('kinesis', 'a timestamp with LATEST', { timestamp: 0 }, 'timestamp', /is only for AT_TIMESTAMP/),
  combination('kinesis', 'IAM_ROLE without a role', { iamRole: undefined }, 'iamRole', /because authentication/),
  combination(
    'kinesis',
    'IAM_USER without a key',
    { authentication: 'IAM_USER' },
    'accessKey',
    /accessKeyId and secretKey/,
  ),
  combination(
    'kinesis',
    'IAM_USER without the secret of its key',
    { authentication: 'IAM_USER', accessKey: { accessKeyId: 'hush' } },
    'accessKey',
    /must have secretKey/,
  ),
]
