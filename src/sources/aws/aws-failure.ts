// Maps errors of AWS-compatible services to ProbeFailures. Error messages are only parsed where one code means two errors, and are
// never shown.

import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { failureTable, knownFailure, withoutOwnAuthority } from '../failure.ts'
import { type AwsError, errorNames, readAwsError } from './aws-error.ts'

/** The request that failed, in the user's words. */
export interface AwsAttempt {
  step: ProbeStep
  /** `Kinesis`, `S3`. */
  service: string
  /** Where it was sent, such as `the Kinesis of eu-west-1` or a host that the user gave. */
  endpoint: string
  /** The resource, such as `the stream "clicks"`. */
  resource: string
  /** The IAM action that it needs, such as `kinesis:ListShards`. */
  action: string
  /** Fields of the source that configure the endpoint, the credentials, the resource and, if there is one, the region. */
  fields: { endpoint: string; credentials: string; resource: string; region?: string }
  /** Errors can lack a code, as in S3 responses to HEAD. Then the HTTP status decides. */
  mayBeBare?: boolean
}

const refused = ['{credentialsField}', 'authenticate'] as const

const failureFor = failureTable('{step}', undefined, {
  silent: ['timed_out', '{endpoint} did not answer in time', 'check that it works, and try again', '{endpointField}'],
  skewed: [
    'not_set_up',
    'the clocks of Penstock and of {endpoint} differ too much',
    'set the clock of the machine that Penstock runs on',
    undefined,
    'authenticate',
  ],
  elsewhere: ['wrong_region', '{resource} is in {region}', '{regionRemedy}', '{regionField}'],
  unknownKey: [
    'credentials_refused',
    '{endpoint} does not know this access key',
    'check the access key id',
    ...refused,
  ],
  signature: [
    'credentials_refused',
    '{endpoint} says that the secret is not that of the access key',
    'check the secret of the access key',
    ...refused,
  ],
  expired: ['credentials_refused', '{endpoint} reports that the credentials have expired', 'send new ones', ...refused],
  unsigned: ['credentials_refused', '{endpoint} does not accept the credentials', 'check the access key', ...refused],
  denied: [
    'permission_missing',
    'the credentials do not allow {action} on {resource}',
    'allow {action} on it',
    '{credentialsField}',
  ],
  keyDenied: [
    'permission_missing',
    'the credentials do not allow kms:Decrypt with the key that encrypts {resource}',
    'allow kms:Decrypt on that key',
    '{credentialsField}',
  ],
  keyUnusable: [
    'not_set_up',
    'the key that encrypts {resource} cannot be used',
    'check the state of that key in KMS',
    '{resourceField}',
  ],
  missing: ['not_found', '{resource} does not exist at {endpoint}', 'check its name{inRegion}', '{resourceField}'],
  changing: [
    'not_set_up',
    '{resource} is being created, changed or deleted',
    'wait until it is active',
    '{resourceField}',
  ],
  throttled: [
    'source_failed',
    '{endpoint} throttles the requests',
    'try again later, or raise the limits that hold there',
  ],
  failing: ['source_failed', '{endpoint} answers with error {status}', 'try again later'],
  notAccepted: ['source_failed', '{endpoint} rejects the request', 'check the fields of the source'],
  broken: [
    'protocol_mismatch',
    '{endpoint} breaks the connection off',
    'check that this is {service}',
    '{endpointField}',
  ],
  mismatch: [
    'protocol_mismatch',
    '{endpoint} does not answer as {service} does',
    'check that this is {service}',
    '{endpointField}',
  ],
})

/** Never fails: any other response is a protocol mismatch. */
export function awsFailure(error: unknown, attempt: AwsAttempt): ProbeFailure {
  const { endpoint, fields } = attempt
  const known = knownFailure(error, endpoint, fields.endpoint)
  if (known) return withoutOwnAuthority(known)
  const parsed = readAwsError(error)
  const { status = 0, region } = parsed
  return failureFor(meaningOf(parsed, attempt), {
    ...attempt,
    status,
    region: region ?? 'another region',
    regionRemedy: region ? `use the region ${region}` : 'check the region',
    inRegion: fields.region ? ', and whether it is in this region' : '',
    endpointField: fields.endpoint,
    credentialsField: fields.credentials,
    resourceField: fields.resource,
    regionField: fields.region ?? fields.endpoint,
  })
}

type Group = keyof typeof errorNames
type Meaning = Parameters<typeof failureFor>[0]

/** For answers without an error code. */
const groupOfStatus: Record<number, Group> = { 301: 'elsewhere', 403: 'denied', 404: 'missing' }
const groups = Object.keys(errorNames) as Group[]

function meaningOf(error: AwsError, { mayBeBare }: AwsAttempt): Meaning {
  const { name, status = 0, isBroken } = error
  const isTimeout = ['AbortError', 'TimeoutError'].includes(name)
  if (isTimeout && error.status === undefined && !isBroken) return 'silent'
  const byName = groupOf(error)
  const byStatus = mayBeBare || (status === 403 && name === '') ? groupOfStatus[status] : undefined
  const group = groups.find((each) => each === byName || each === byStatus)
  if (group) return group
  if (status === 429) return 'throttled'
  if (status >= 500) return 'failing'
  if (status >= 400 && name !== '') return 'notAccepted'
  return isBroken ? 'broken' : 'mismatch'
}

function groupOf({ name, message, region }: AwsError): Group | undefined {
  const group = groups.find((each) => errorNames[each].includes(name))
  if (group === 'signature' && /signature expired|not yet current/i.test(message)) return 'skewed'
  if (group === 'signature' && /scoped to a valid region/i.test(message)) return 'elsewhere'
  // Without a region the access key id is malformed.
  return name === 'AuthorizationHeaderMalformed' && region !== undefined ? 'elsewhere' : group
}
