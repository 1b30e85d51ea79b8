// What went wrong at Azure's blob service or its queues, or at what speaks like them, in our own words.

import { excerptOf } from '../../formats/decode/decode.ts'
import { EgressError } from '../../lib/egress.ts'
import { egressFailure, knownFailure } from '../failure.ts'
import { type FailureDetails, ProbeFailure, type ProbeStep } from '../source.ts'
import type { ContainerLocation } from './object-location.ts'
import { ObjectChanged, ObjectUnavailable } from './object-store.ts'
import type { QueueLocation } from './queue-location.ts'

/** What was asked for: a list of a container, a blob, or something of a queue. */
export type AzureTarget =
  | { kind: 'container'; place: ContainerLocation }
  | { kind: 'blob'; place: ContainerLocation; key: string }
  | { kind: 'queue'; place: QueueLocation; action: string }

export interface AzureAttempt {
  step: ProbeStep
  about: AzureTarget
  signal: AbortSignal
}

interface Told extends Omit<FailureDetails, 'step'> {
  step?: ProbeStep
}

interface Words {
  host: string
  /** The field that says where that is. */
  hostField: string
  /** `blob service`. */
  service: string
  thing: string
  thingField: string
  action: string
  isPublic: boolean
}

type Tell = (words: Words) => Told

const changed = ['BlobNotFound', 'ConditionNotMet', 'InvalidRange', 'TargetConditionNotMet']

export function azureFailure(error: unknown, { step, about, signal }: AzureAttempt): ProbeFailure | ObjectChanged {
  const words = wordsFor(about)
  const { host, hostField } = words
  if (signal.aborted) return withoutAnswer(step, new EgressError('timed out'), words)
  if (error instanceof EgressError && error.failure === 'broken') return withoutAnswer(step, error, words)
  const known = knownFailure(error, host, hostField)
  if (known) return known
  const told = readAzureError(error)
  const { name, status } = told
  if (about.kind === 'blob' && (changed.includes(name) || status === 412)) return new ObjectChanged()
  const tell = tellOf(told, words)
  return new (tell === tellArchived ? ObjectUnavailable : ProbeFailure)({ step, ...tell(words) })
}

/** What the service calls a name that no blob can have. A container can be meant, too. */
const wrongNames = ['InvalidUri', 'InvalidResourceName', 'OutOfRangeInput']

/**
 * An answer to the question for a blob that may mean something else: that it is `missing`, or that it is no name (`unusable`). Not
 * every server, and no proxy, gives errors without a body the names that tell.
 */
export function unclearAnswer(error: unknown): 'missing' | 'unusable' | undefined {
  const { name, status } = readAzureError(error)
  if (status === 404 && name === '') return 'missing'
  return status === 400 && (name === '' || wrongNames.includes(name)) ? 'unusable' : undefined
}

function wordsFor(about: AzureTarget): Words {
  if (about.kind === 'queue') {
    const { place, action } = about
    const thing = `the queue "${place.name}"`
    const [hostField, thingField] = ['queueUrl', 'queueUrl']
    return { host: place.host, hostField, service: 'queue service', thing, thingField, action, isPublic: false }
  }
  const { account, container } = about.place
  const place = {
    host: new URL(account.endpoint).host,
    hostField: 'connectionString',
    service: 'blob service',
    isPublic: account.sharedKey === undefined && account.accessSignature === undefined,
  }
  if (about.kind === 'container') {
    return { ...place, thing: `the container "${container}"`, thingField: 'azureContainerName', action: 'list' }
  }
  const thing = `the blob ${excerptOf(about.key, 200)} in "${container}"`
  return { ...place, thing, thingField: 'path', action: 'read' }
}

/** Whoever waits for an answer is past connecting. */
function withoutAnswer(step: ProbeStep, error: EgressError, { host, hostField }: Words): ProbeFailure {
  const { code, reason, remedy, field } = egressFailure(error, host, hostField)
  return new ProbeFailure({ step, code, reason, remedy, ...(field !== undefined && { field }) })
}

interface AzureError {
  /** As the service calls it; empty when it has no name. */
  name: string
  /** 0 when there was no answer. */
  status: number
  /** The service does not know who we are. What it calls that can also mean that it does not let us. */
  isUnknown: boolean
}

export function readAzureError(error: unknown): AzureError {
  const { statusCode, code, details, response, message } = (error ?? {}) as Record<string, unknown>
  const told = (details as { errorCode?: unknown } | undefined)?.errorCode ?? code
  const headers = (response as { headers?: { get?(name: string): string | undefined } } | undefined)?.headers
  const name = headers?.get?.('x-ms-error-code') ?? told
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

function tellOf({ name, status, isUnknown }: AzureError, { isPublic }: Words): Tell {
  if (isPublic && (isUnknown || name === 'ResourceNotFound' || [401, 403, 409].includes(status))) return tellNotPublic
  if (isUnknown || refusedNames.includes(name)) return tellRefused
  if (missingNames.includes(name) || name === 'ResourceNotFound') return tellMissing
  if (name === 'BlobArchived' || name === 'BlobBeingRehydrated') return tellArchived
  if (accountNames.includes(name)) return tellAccount
  if (status === 401 || status === 403) return tellDenied
  if (status === 429 || name === 'ServerBusy') return tellBusy
  if (status >= 500) return ({ host }) => failedServer(`${host} answers with error ${status}`)
  if (status >= 400 && /^[A-Z][A-Za-z]+$/.test(name)) return tellNotAccepted
  return tellOther
}

const tellRefused: Tell = ({ host }) => ({
  step: 'authenticate',
  code: 'credentials_refused',
  reason: `${host} does not accept the key or the signature in the connection string`,
  remedy: 'check it, and whether it has ended or was replaced',
  field: 'connectionString',
})

const tellMissing: Tell = ({ host, thing, thingField }) => ({
  code: 'not_found',
  reason: `${thing} does not exist at ${host}`,
  remedy: 'check its name, and that this is the right account',
  field: thingField,
})

const tellNotPublic: Tell = ({ thing }) => ({
  code: 'permission_missing',
  reason: `${thing} does not exist, or is not open to everyone`,
  remedy: 'send a connection string with a key, and authentication CONNECTION_STRING',
  field: 'authentication',
})

const tellArchived: Tell = ({ thing }) => ({
  code: 'not_set_up',
  reason: `${thing} is archived`,
  remedy: 'bring it back online, or use a pattern that leaves it out',
  field: 'path',
})

const tellAccount: Tell = ({ host, service }) => ({
  code: 'not_set_up',
  reason: `the account at ${host} cannot be used`,
  remedy: `check in Azure that it is active and has a ${service}`,
  field: 'connectionString',
})

const tellDenied: Tell = ({ thing, action }) => ({
  code: 'permission_missing',
  reason: `the connection string does not allow us to ${action} ${thing}`,
  remedy: `use one that may ${action} it, from the network of Penstock too`,
  field: 'connectionString',
})

const tellBusy: Tell = ({ host }) => failedServer(`${host} asks us to slow down`)

const tellNotAccepted: Tell = ({ host }) => ({
  code: 'source_failed',
  reason: `${host} does not accept our request`,
  remedy: 'check the fields of the source',
})

const tellOther: Tell = ({ host, hostField, service }) => ({
  code: 'protocol_mismatch',
  reason: `${host} does not answer as the ${service} of Azure does`,
  remedy: hostField === 'connectionString' ? 'check the endpoint in the connection string' : `check ${hostField}`,
  field: hostField,
})

function failedServer(reason: string): Told {
  return { code: 'source_failed', reason, remedy: 'try again later' }
}
