// Failures of Azure's blob and queue services, and of compatible services.

import { excerptOf } from '../../formats/decode/decode.ts'
import { EgressError } from '../../lib/egress.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { egressFailure, knownFailure } from '../failure.ts'
import { type FailureDetails, ProbeFailure } from '../source.ts'
import type { ContainerLocation } from './object-location.ts'
import { ObjectChanged, ObjectUnavailable } from './object-store.ts'
import type { QueueLocation } from './queue-location.ts'

/** The object of the request. */
export type AzureTarget =
  | { kind: 'container'; location: ContainerLocation }
  | { kind: 'blob'; location: ContainerLocation; key: string }
  | { kind: 'queue'; location: QueueLocation; action: string }

export interface AzureAttempt {
  step: ProbeStep
  target: AzureTarget
  signal: AbortSignal
}

interface FailureText extends Omit<FailureDetails, 'step'> {
  step?: ProbeStep
}

interface Words {
  host: string
  /** The field of the source that has the host. */
  hostField: string
  /** `blob service`. */
  service: string
  thing: string
  thingField: string
  action: string
  isPublic: boolean
}

type Describe = (words: Words) => FailureText

const changed = ['BlobNotFound', 'ConditionNotMet', 'InvalidRange', 'TargetConditionNotMet']

export function azureFailure(error: unknown, { step, target, signal }: AzureAttempt): ProbeFailure | ObjectChanged {
  const words = wordsFor(target)
  const { host, hostField } = words
  if (signal.aborted) return withoutAnswer(step, new EgressError('timed out'), words)
  if (error instanceof EgressError && error.failure === 'broken') return withoutAnswer(step, error, words)
  const known = knownFailure(error, host, hostField)
  if (known) return known
  const found = readAzureError(error)
  const { name, status } = found
  if (target.kind === 'blob' && (changed.includes(name) || status === 412)) return new ObjectChanged()
  const describe = describeOf(found, words)
  return new (describe === describeArchived ? ObjectUnavailable : ProbeFailure)({ step, ...describe(words) })
}

/** Error codes of a name that no blob can have. The container may be meant. */
const wrongNames = ['InvalidUri', 'InvalidResourceName', 'OutOfRangeInput']

/**
 * An ambiguous answer to a HEAD request for a blob: `missing`, or not a valid name (`unusable`). Proxies and some servers send no
 * error code when the answer has no body.
 */
export function unclearAnswer(error: unknown): 'missing' | 'unusable' | undefined {
  const { name, status } = readAzureError(error)
  if (status === 404 && name === '') return 'missing'
  return status === 400 && (name === '' || wrongNames.includes(name)) ? 'unusable' : undefined
}

function wordsFor(target: AzureTarget): Words {
  if (target.kind === 'queue') {
    const { location, action } = target
    const thing = `the queue "${location.name}"`
    const [hostField, thingField] = ['queueUrl', 'queueUrl']
    return { host: location.host, hostField, service: 'queue service', thing, thingField, action, isPublic: false }
  }
  const { account, container } = target.location
  const service = {
    host: new URL(account.endpoint).host,
    hostField: 'connectionString',
    service: 'blob service',
    isPublic: account.sharedKey === undefined && account.accessSignature === undefined,
  }
  if (target.kind === 'container') {
    return { ...service, thing: `the container "${container}"`, thingField: 'azureContainerName', action: 'list' }
  }
  const thing = `the blob ${excerptOf(target.key, 200)} in "${container}"`
  return { ...service, thing, thingField: 'path', action: 'read' }
}

/** Keeps the step of the caller: the connection has been established. */
function withoutAnswer(step: ProbeStep, error: EgressError, { host, hostField }: Words): ProbeFailure {
  const { code, reason, remedy, field } = egressFailure(error, host, hostField)
  return new ProbeFailure({ step, code, reason, remedy, ...(field !== undefined && { field }) })
}

interface AzureError {
  /** Error code of the service; empty when the answer has none. */
  name: string
  /** 0 when there was no answer. */
  status: number
  /** Authentication failed. The same error code can also mean missing authorization. */
  isUnknown: boolean
}

export function readAzureError(error: unknown): AzureError {
  const { statusCode, code, details, response, message } = (error ?? {}) as Record<string, unknown>
  const found = (details as { errorCode?: unknown } | undefined)?.errorCode ?? code
  const headers = (response as { headers?: { get?(name: string): string | undefined } } | undefined)?.headers
  const name = headers?.get?.('x-ms-error-code') ?? found
  return {
    name: typeof name === 'string' ? name : '',
    status: typeof statusCode === 'number' ? statusCode : 0,
    isUnknown: name === 'AuthorizationFailure' && /failed to authenticate/i.test(String(message)),
  }
}

const missingNames = [
  'ContainerNotFound',
  'QueueNotFound',
  'QueueBeingDeleted',
  'QueueDisabled',
  'ContainerBeingDeleted',
  'ContainerDisabled',
  'InvalidResourceName',
]
const accountNames = ['AccountIsDisabled', 'AccountBeingCreated', 'ResourceTypeMismatch']

const refusedNames = ['AuthenticationFailed', 'InvalidAuthenticationInfo']

function describeOf({ name, status, isUnknown }: AzureError, { isPublic }: Words): Describe {
  if (isPublic && (isUnknown || name === 'ResourceNotFound' || [401, 403, 409].includes(status)))
    return describeNotPublic
  if (isUnknown || refusedNames.includes(name)) return describeRefused
  if (missingNames.includes(name) || name === 'ResourceNotFound') return describeMissing
  if (name === 'BlobArchived' || name === 'BlobBeingRehydrated') return describeArchived
  if (accountNames.includes(name)) return describeAccount
  if (status === 401 || status === 403) return describeDenied
  if (status === 429 || name === 'ServerBusy') return describeBusy
  if (status >= 500) return ({ host }) => failedServer(`${host} answers with error ${status}`)
  if (status >= 400 && /^[A-Z][A-Za-z]+$/.test(name)) return describeNotAccepted
  return describeOther
}

const describeRefused: Describe = ({ host }) => ({
  step: 'authenticate',
  code: 'credentials_refused',
  reason: `${host} does not accept the key or the signature in the connection string`,
  remedy: 'check it, and whether it has ended or was replaced',
  field: 'connectionString',
})

const describeMissing: Describe = ({ host, thing, thingField }) => ({
  code: 'not_found',
  reason: `${thing} does not exist at ${host}`,
  remedy: 'check its name, and that this is the right account',
  field: thingField,
})

const describeNotPublic: Describe = ({ thing }) => ({
  code: 'permission_missing',
  reason: `${thing} does not exist, or is not open to everyone`,
  remedy: 'send a connection string with a key, and authentication CONNECTION_STRING',
  field: 'authentication',
})

const describeArchived: Describe = ({ thing }) => ({
  code: 'not_set_up',
  reason: `${thing} is archived`,
  remedy: 'bring it back online, or use a pattern that leaves it out',
  field: 'path',
})

const describeAccount: Describe = ({ host, service }) => ({
  code: 'not_set_up',
  reason: `the account at ${host} cannot be used`,
  remedy: `check in Azure that it is active and has a ${service}`,
  field: 'connectionString',
})

const describeDenied: Describe = ({ thing, action }) => ({
  code: 'permission_missing',
  reason: `the connection string does not allow us to ${action} ${thing}`,
  remedy: `use one that may ${action} it, from the network of Penstock too`,
  field: 'connectionString',
})

const describeBusy: Describe = ({ host }) => failedServer(`${host} asks us to slow down`)

const describeNotAccepted: Describe = ({ host }) => ({
  code: 'source_failed',
  reason: `${host} does not accept our request`,
  remedy: 'check the fields of the source',
})

const describeOther: Describe = ({ host, hostField, service }) => ({
  code: 'protocol_mismatch',
  reason: `${host} does not answer as the ${service} of Azure does`,
  remedy: hostField === 'connectionString' ? 'check the endpoint in the connection string' : `check ${hostField}`,
  field: hostField,
})

function failedServer(reason: string): FailureText {
  return { code: 'source_failed', reason, remedy: 'try again later' }
}
