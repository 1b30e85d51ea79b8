// Failures of Azure's blob and queue services, and of compatible services.

import { excerptOf } from '../../formats/undecodable.ts'
import { EgressError } from '../../lib/egress.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { egressFailure, failureTable, knownFailure } from '../failure.ts'
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

interface Words {
  host: string
  /** The field of the source that has the host. */
  hostField: string
  hostRemedy: string
  /** `blob service`. */
  service: string
  thing: string
  thingField: string
  action: string
  isPublic: boolean
}

const failureFor = failureTable('{step}', undefined, {
  notPublic: [
    'permission_missing',
    '{thing} does not exist, or is not open to everyone',
    'send a connection string with a key, and authentication CONNECTION_STRING',
    'authentication',
  ],
  refused: [
    'credentials_refused',
    '{host} does not accept the key or the signature in the connection string',
    'check it, and whether it has ended or was replaced',
    'connectionString',
    'authenticate',
  ],
  missing: [
    'not_found',
    '{thing} does not exist at {host}',
    'check its name, and that this is the right account',
    '{thingField}',
  ],
  archived: ['not_set_up', '{thing} is archived', 'bring it back online, or use a pattern that leaves it out', 'path'],
  account: [
    'not_set_up',
    'the account at {host} cannot be used',
    'check in Azure that it is active and has a {service}',
    'connectionString',
  ],
  denied: [
    'permission_missing',
    'the connection string does not allow Penstock to {action} {thing}',
    'use one that may {action} it, from the network of Penstock too',
    'connectionString',
  ],
  busy: ['source_failed', '{host} throttles the requests', 'try again later'],
  failing: ['source_failed', '{host} answers with error {status}', 'try again later'],
  notAccepted: ['source_failed', '{host} rejects the request', 'check the fields of the source'],
  other: ['protocol_mismatch', '{host} does not answer as the {service} of Azure does', '{hostRemedy}', '{hostField}'],
})

const changed = ['BlobNotFound', 'ConditionNotMet', 'InvalidRange', 'TargetConditionNotMet']

export function azureFailure(error: unknown, { step, target, signal }: AzureAttempt): ProbeFailure | ObjectChanged {
  const words = wordsFor(target)
  const { host, hostField } = words
  // Keeps the step of the caller: the connection has been established.
  const unanswered = (cause: EgressError): ProbeFailure =>
    new ProbeFailure({ ...egressFailure(cause, host, hostField), step })
  if (signal.aborted) return unanswered(new EgressError('timed out'))
  if (error instanceof EgressError && error.failure === 'broken') return unanswered(error)
  const known = knownFailure(error, host, hostField)
  if (known) return known
  const found = readAzureError(error)
  const { name, status } = found
  if (target.kind === 'blob' && (changed.includes(name) || status === 412)) return new ObjectChanged()
  const meaning = meaningOf(found, words)
  const failure = failureFor(meaning, { ...words, step, status })
  return meaning === 'archived' ? new ObjectUnavailable(failure) : failure
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
    const fields = { hostField: 'queueUrl', hostRemedy: 'check queueUrl', thingField: 'queueUrl' }
    return { ...fields, host: location.host, service: 'queue service', thing, action, isPublic: false }
  }
  const { account, container } = target.location
  const service = {
    host: new URL(account.endpoint).host,
    hostField: 'connectionString',
    hostRemedy: 'check the endpoint in the connection string',
    service: 'blob service',
    isPublic: account.sharedKey === undefined && account.accessSignature === undefined,
  }
  if (target.kind === 'container') {
    return { ...service, thing: `the container "${container}"`, thingField: 'azureContainerName', action: 'list' }
  }
  const thing = `the blob ${excerptOf(target.key, 200)} in "${container}"`
  return { ...service, thing, thingField: 'path', action: 'read' }
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

const errorNames = {
  refused: ['AuthenticationFailed', 'InvalidAuthenticationInfo'],
  missing: [
    'ResourceNotFound',
    'ContainerNotFound',
    'QueueNotFound',
    'QueueBeingDeleted',
    'QueueDisabled',
    'ContainerBeingDeleted',
    'ContainerDisabled',
    'InvalidResourceName',
  ],
  archived: ['BlobArchived', 'BlobBeingRehydrated'],
  account: ['AccountIsDisabled', 'AccountBeingCreated', 'ResourceTypeMismatch'],
}
const groups = Object.keys(errorNames) as (keyof typeof errorNames)[]

function meaningOf({ name, status, isUnknown }: AzureError, { isPublic }: Words): Parameters<typeof failureFor>[0] {
  if (isPublic && (isUnknown || name === 'ResourceNotFound' || [401, 403, 409].includes(status))) return 'notPublic'
  const group = isUnknown ? 'refused' : groups.find((each) => errorNames[each].includes(name))
  if (group) return group
  if (status === 401 || status === 403) return 'denied'
  if (status === 429 || name === 'ServerBusy') return 'busy'
  if (status >= 500) return 'failing'
  return status >= 400 && /^[A-Z][A-Za-z]+$/.test(name) ? 'notAccepted' : 'other'
}
