// Maps errors of AWS-compatible services to ProbeFailures. Error messages are only parsed where one code means two errors, and are
// never shown.

import type { ProbeStep } from '../../source-shapes/probe.ts'
import { knownFailure } from '../failure.ts'
import { type FailureDetails, ProbeFailure } from '../source.ts'
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

/** Never fails: any other response is a protocol mismatch. */
export function awsFailure(error: unknown, attempt: AwsAttempt): ProbeFailure {
  const { step, endpoint, fields } = attempt
  const known = knownFailure(error, endpoint, fields.endpoint)
  if (known) return known.code === 'certificate_untrusted' ? untrusted(known) : known
  const parsed = readAwsError(error)
  for (const classify of [timeFailure, regionFailure, identityFailure, kmsFailure, resourceFailure, serverFailure]) {
    const details = classify(parsed, attempt)
    if (details) return new ProbeFailure({ step, ...details })
  }
  const reason = `${endpoint} ${parsed.isBroken ? 'breaks the connection off' : `does not answer as ${attempt.service} does`}`
  const remedy = `check that this is ${attempt.service}`
  return new ProbeFailure({ step, code: 'protocol_mismatch', reason, remedy, field: fields.endpoint })
}

/** AWS sources have no field for a CA certificate. */
function untrusted({ step, code, reason, field }: ProbeFailure): ProbeFailure {
  const remedy =
    'use a certificate that everyone trusts, or the operator of Penstock can add the authority that signed it to PENSTOCK_CA_CERTIFICATES'
  return new ProbeFailure({ step, code, reason, remedy, ...(field === undefined ? {} : { field }) })
}

/** Without a step: that of the attempt. */
type Details = Omit<FailureDetails, 'step'> & { step?: ProbeStep }
type Classify = (parsed: AwsError, attempt: AwsAttempt) => Details | undefined

const timeFailure: Classify = ({ name, status, isBroken, message }, { endpoint, fields }) => {
  if (status === undefined && !isBroken && ['AbortError', 'TimeoutError'].includes(name)) {
    const reason = `${endpoint} did not answer in time`
    return { code: 'timed_out', reason, remedy: 'check that it works, and try again', field: fields.endpoint }
  }
  const isSkewed = errorNames.signature.includes(name) && /signature expired|not yet current/i.test(message)
  if (!isSkewed && !errorNames.skewed.includes(name)) return undefined
  return {
    step: 'authenticate',
    code: 'not_set_up',
    reason: `the clocks of Penstock and of ${endpoint} differ too much`,
    remedy: 'set the clock of the machine that Penstock runs on',
  }
}

const regionFailure: Classify = ({ name, status, message, region }, { resource, fields, mayBeBare }) => {
  const isElsewhere =
    errorNames.elsewhere.includes(name) ||
    // Without a region the access key id is malformed.
    (name === 'AuthorizationHeaderMalformed' && region !== undefined) ||
    (errorNames.signature.includes(name) && /scoped to a valid region/i.test(message)) ||
    (mayBeBare && status === 301)
  if (!isElsewhere) return undefined
  return {
    code: 'wrong_region',
    reason: `${resource} is in ${region ?? 'another region'}`,
    remedy: region ? `use the region ${region}` : 'check the region',
    field: fields.region ?? fields.endpoint,
  }
}

const identityFailure: Classify = ({ name, status }, attempt) => {
  const { endpoint, resource, action, fields, mayBeBare } = attempt
  const field = fields.credentials
  const refused = (reason: string, remedy: string): Details => ({
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${endpoint} ${reason}`,
    remedy,
    field,
  })
  if (errorNames.unknownKey.includes(name)) return refused('does not know this access key', 'check the access key id')
  if (errorNames.signature.includes(name)) {
    return refused('says that the secret is not that of the access key', 'check the secret of the access key')
  }
  if (errorNames.expired.includes(name)) return refused('says that the credentials have ended', 'send new ones')
  if (errorNames.unsigned.includes(name)) return refused('does not accept the credentials', 'check the access key')
  if (errorNames.denied.includes(name) || (status === 403 && (mayBeBare || name === ''))) {
    const reason = `the credentials do not allow ${action} on ${resource}`
    return { code: 'permission_missing', reason, remedy: `allow ${action} on it`, field }
  }
  return undefined
}

/** KMS keys that encrypt the stored data. */
const kmsFailure: Classify = ({ name }, { resource, fields }) => {
  if (errorNames.keyDenied.includes(name)) {
    const reason = `the credentials do not allow kms:Decrypt with the key that encrypts ${resource}`
    return { code: 'permission_missing', reason, remedy: 'allow kms:Decrypt on that key', field: fields.credentials }
  }
  if (!errorNames.keyUnusable.includes(name)) return undefined
  const reason = `the key that encrypts ${resource} cannot be used`
  return { code: 'not_set_up', reason, remedy: 'check the state of that key in KMS', field: fields.resource }
}

const resourceFailure: Classify = ({ name, status }, { resource, endpoint, fields, mayBeBare }) => {
  if (errorNames.missing.includes(name) || (mayBeBare && status === 404)) {
    const remedy = fields.region ? 'check its name, and whether it is in this region' : 'check its name'
    return { code: 'not_found', reason: `${resource} does not exist at ${endpoint}`, remedy, field: fields.resource }
  }
  if (name !== 'ResourceInUseException') return undefined
  const reason = `${resource} is being created, changed or deleted`
  return { code: 'not_set_up', reason, remedy: 'wait until it is active', field: fields.resource }
}

const serverFailure: Classify = ({ name, status = 0 }, { endpoint }) => {
  if (errorNames.throttled.includes(name) || status === 429) {
    const reason = `${endpoint} asks us to slow down`
    return { code: 'source_failed', reason, remedy: 'try again later, or raise the limits that hold there' }
  }
  if (status >= 500) {
    return { code: 'source_failed', reason: `${endpoint} answers with error ${status}`, remedy: 'try again later' }
  }
  if (status < 400 || name === '') return undefined
  return {
    code: 'source_failed',
    reason: `${endpoint} does not accept our request`,
    remedy: 'check the fields of the source',
  }
}
