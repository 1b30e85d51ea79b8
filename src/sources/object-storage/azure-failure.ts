// What went wrong at Azure's blob service, or at what speaks like it, in our own words.
import { EgressError } from '../../lib/egress.ts'
import { egressFailure, knownFailure } from '../failure.ts'
import { excerptOf } from '../formats/decode.ts'
import { type FailureDetails, ProbeFailure, type ProbeStep } from '../source.ts'
import type { ContainerPlace } from './object-place.ts'
import { ObjectChanged } from './object-store.ts'

export interface AzureAttempt {
  step: ProbeStep
  place: ContainerPlace
  /** Of the blob that it was about; without one, it was about the container. */
  key?: string
  signal: AbortSignal
}

interface Told extends Omit<FailureDetails, 'step'> {
  step?: ProbeStep
}

interface Words {
  host: string
  thing: string
  thingField: string
  action: string
  isPublic: boolean
}

type Tell = (words: Words) => Told

const changed = ['BlobNotFound', 'ConditionNotMet', 'InvalidRange', 'TargetConditionNotMet']

export function azureFailure(error: unknown, { step, place, key, signal }: AzureAttempt): ProbeFailure | ObjectChanged {
  const { account, container } = place
  const { host } = new URL(account.endpoint)
  if (signal.aborted) return withoutAnswer(step, new EgressError('timed out'), host)
  if (error instanceof EgressError && error.failure === 'broken') return withoutAnswer(step, error, host)
  const known = knownFailure(error, host, 'connectionString')
  if (known) return known
  const told = readAzureError(error)
  const { name, status } = told
  if (key !== undefined && (changed.includes(name) || status === 412 || (status === 404 && name === ''))) {
    return new ObjectChanged()
  }
  const words: Words = {
    host,
    thing: key === undefined ? `the container "${container}"` : `the blob ${excerptOf(key, 200)} in "${container}"`,
    thingField: key === undefined ? 'azureContainerName' : 'path',
    action: key === undefined ? 'list' : 'read',
    isPublic: account.sharedKey === undefined && account.accessSignature === undefined,
  }
  return new ProbeFailure({ step, ...tellOf(told, words)(words) })
}

/** Whoever waits for an answer is past connecting. */
function withoutAnswer(step: ProbeStep, error: EgressError, host: string): ProbeFailure {
  const { code, reason, remedy, field } = egressFailure(error, host, 'connectionString')
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

function readAzureError(error: unknown): AzureError {
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

const missingNames = ['ContainerNotFound', 'ContainerBeingDeleted', 'ContainerDisabled', 'InvalidResourceName']
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

const tellAccount: Tell = ({ host }) => ({
  code: 'not_set_up',
  reason: `the account at ${host} cannot be used`,
  remedy: 'check in Azure that it is active and has a blob service',
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

const tellOther: Tell = ({ host }) => ({
  code: 'protocol_mismatch',
  reason: `${host} does not answer as the blob service of Azure does`,
  remedy: 'check the endpoint in the connection string',
  field: 'connectionString',
})

function failedServer(reason: string): Told {
  return { code: 'source_failed', reason, remedy: 'try again later' }
}
