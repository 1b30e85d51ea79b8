// What went wrong at AWS, or at what speaks like it, in our own words. Messages are looked at only where one name means two
// things, and are never told.

import { knownFailure } from '../failure.ts'
import { type FailureDetails, ProbeFailure, type ProbeStep } from '../source.ts'
import { type AwsError, errorNames, readAwsError } from './aws-error.ts'

/** What was tried, in the words of the user. */
export interface AwsAttempt {
  step: ProbeStep
  /** `Kinesis`, `S3`. */
  service: string
  /** Where it was sent, such as `the Kinesis of eu-west-1` or a host that the user gave. */
  place: string
  /** What it was about, such as `the stream "clicks"`. */
  thing: string
  /** The action of IAM that is needed for it, such as `kinesis:ListShards`. */
  needs: string
  /** The fields of the source that say where, who, what and, where there is such a field, in which region. */
  fields: { place: string; credentials: string; thing: string; region?: string }
  /** An error may come without a name, as S3 answers HEAD: its status then tells. */
  mayBeBare?: boolean
}

/** Always a failure that can be told: what does not answer like AWS is something else. */
export function awsFailure(error: unknown, attempt: AwsAttempt): ProbeFailure {
  const { step, place, fields } = attempt
  const known = knownFailure(error, place, fields.place)
  if (known) return known.code === 'certificate_untrusted' ? untrusted(known) : known
  const told = readAwsError(error)
  for (const tell of [tellTime, tellRegion, tellIdentity, tellKey, tellThing, tellServer]) {
    const details = tell(told, attempt)
    if (details) return new ProbeFailure({ step, ...details })
  }
  const reason = `${place} ${told.isBroken ? 'breaks the connection off' : `does not answer as ${attempt.service} does`}`
  const remedy = `check that this is ${attempt.service}`
  return new ProbeFailure({ step, code: 'protocol_mismatch', reason, remedy, field: fields.place })
}

/** Sources at AWS have no field for the certificate of an authority. */
function untrusted({ step, code, reason, field }: ProbeFailure): ProbeFailure {
  const remedy =
    'use a certificate that everyone trusts, or the operator of Penstock can add the authority that signed it to PENSTOCK_CA_CERTIFICATES'
  return new ProbeFailure({ step, code, reason, remedy, ...(field === undefined ? {} : { field }) })
}

/** Without a step: that of the attempt. */
type Told = Omit<FailureDetails, 'step'> & { step?: ProbeStep }
type Tell = (told: AwsError, attempt: AwsAttempt) => Told | undefined

const tellTime: Tell = ({ name, status, isBroken, message }, { place, fields }) => {
  if (status === undefined && !isBroken && ['AbortError', 'TimeoutError'].includes(name)) {
    const reason = `${place} did not answer in time`
    return { code: 'timed_out', reason, remedy: 'check that it works, and try again', field: fields.place }
  }
  const isSkewed = errorNames.signature.includes(name) && /signature expired|not yet current/i.test(message)
  if (!isSkewed && !errorNames.skewed.includes(name)) return undefined
  return {
    step: 'authenticate',
    code: 'not_set_up',
    reason: `the clocks of Penstock and of ${place} differ too much`,
    remedy: 'set the clock of the machine that Penstock runs on',
  }
}

const tellRegion: Tell = ({ name, status, message, region }, { thing, fields, mayBeBare }) => {
  const isElsewhere =
    errorNames.elsewhere.includes(name) ||
    // Without a region it is the key id that is malformed.
    (name === 'AuthorizationHeaderMalformed' && region !== undefined) ||
    (errorNames.signature.includes(name) && /scoped to a valid region/i.test(message)) ||
    (mayBeBare && status === 301)
  if (!isElsewhere) return undefined
  return {
    code: 'wrong_region',
    reason: `${thing} is in ${region ?? 'another region'}`,
    remedy: region ? `use the region ${region}` : 'check the region',
    field: fields.region ?? fields.place,
  }
}

const tellIdentity: Tell = ({ name, status }, attempt) => {
  const { place, thing, needs, fields, mayBeBare } = attempt
  const field = fields.credentials
  const refused = (reason: string, remedy: string): Told => ({
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${place} ${reason}`,
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
    const reason = `the credentials do not allow ${needs} on ${thing}`
    return { code: 'permission_missing', reason, remedy: `allow ${needs} on it`, field }
  }
  return undefined
}

/** Keys that encrypt what is stored. */
const tellKey: Tell = ({ name }, { thing, fields }) => {
  if (errorNames.keyDenied.includes(name)) {
    const reason = `the credentials do not allow kms:Decrypt with the key that encrypts ${thing}`
    return { code: 'permission_missing', reason, remedy: 'allow kms:Decrypt on that key', field: fields.credentials }
  }
  if (!errorNames.lockedAway.includes(name)) return undefined
  const reason = `the key that encrypts ${thing} cannot be used`
  return { code: 'not_set_up', reason, remedy: 'check the state of that key in KMS', field: fields.thing }
}

const tellThing: Tell = ({ name, status }, { thing, place, fields, mayBeBare }) => {
  if (errorNames.missing.includes(name) || (mayBeBare && status === 404)) {
    const remedy = fields.region ? 'check its name, and whether it is in this region' : 'check its name'
    return { code: 'not_found', reason: `${thing} does not exist at ${place}`, remedy, field: fields.thing }
  }
  if (name !== 'ResourceInUseException') return undefined
  const reason = `${thing} is being created, changed or deleted`
  return { code: 'not_set_up', reason, remedy: 'wait until it is active', field: fields.thing }
}

const tellServer: Tell = ({ name, status = 0 }, { place }) => {
  if (errorNames.throttled.includes(name) || status === 429) {
    const reason = `${place} asks us to slow down`
    return { code: 'source_failed', reason, remedy: 'try again later, or raise the limits that hold there' }
  }
  if (status >= 500) {
    return { code: 'source_failed', reason: `${place} answers with error ${status}`, remedy: 'try again later' }
  }
  if (status < 400 || name === '') return undefined
  return {
    code: 'source_failed',
    reason: `${place} does not accept our request`,
    remedy: 'check the fields of the source',
  }
}
