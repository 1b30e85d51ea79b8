// Everything of an operation up to its body: who is it, where do they belong, may they do this. An API key or a person with
// a session, never both: whoever sends an Authorization header is judged by it alone.
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../lib/ip-range.ts'
import { Problem } from '../lib/problem.ts'
import { type Role, signInAgain, unauthorized } from '../operation/caller.ts'
import type { SignedIn } from '../operation/console-action.ts'
import { type AnyOperation, organizationNotFound, requireRole } from '../operation/operation.ts'
import { CredentialReader } from './authentication.ts'
import { readParams } from './parameters.ts'
import { FailureThrottle, type RequestLimiter, tooManyFailures } from './rate-limit.ts'
import { plainAddress, userAgentOf } from './request.ts'
import type { SessionGuard } from './session-guard.ts'

/** A key as authentication sees it: checked, or refused because of the address. */
export interface AuthenticatedKey {
  id: string
  keyId: string
  organizationId: string
  role: Role
  addressAllowed: boolean
}

/** A session that stands, as an operation sees it. */
export interface PersonWithSession extends SignedIn {
  /** Of the person in the organization; undefined when the person is no member. */
  role: Role | undefined
}

/** How callers are known. */
export interface Authentication {
  hashSecret(secret: string): string
  /** Undefined for every kind of wrong credentials. */
  authenticate(keyId: string, secretHash: string, address: string): Promise<AuthenticatedKey | undefined>
  /** Undefined for a session that is unknown or has ended; without an organization the person has no role. */
  findPerson(token: string, organizationId?: string): Promise<PersonWithSession | undefined>
  guard: SessionGuard
}

/**
 * What guards the door, shared with the actions of the console. Each counts apart: what is full forgets its oldest, and whoever sends
 * made-up key ids must not make it forget guesses at a password.
 */
export interface Throttles {
  failures: { byAddress: FailureThrottle; byKeyId: FailureThrottle; byPassword: FailureThrottle }
  /** Undefined when requests are not limited. */
  limiter: RequestLimiter | undefined
  countFailure(): void
}

export function makeFailureThrottles(): Throttles['failures'] {
  return { byAddress: new FailureThrottle(), byKeyId: new FailureThrottle(), byPassword: new FailureThrottle() }
}

export interface Admission {
  /** Whether too many failures came from the address of the request, its own or those of others. */
  isSuspect(request: FastifyRequest): boolean
  admit(operation: AnyOperation, request: FastifyRequest): Promise<void>
}

export function makeAdmission(
  { hashSecret, authenticate, findPerson, guard }: Authentication,
  { failures, limiter, countFailure }: Throttles,
): Admission {
  const credentialReader = new CredentialReader(hashSecret)

  async function admit(operation: AnyOperation, request: FastifyRequest): Promise<void> {
    const state = request.penstock
    const address = plainAddress(request)
    if (request.headers.authorization === undefined) {
      const token = guard.readToken(request.headers)
      if (token !== undefined) return admitPerson(operation, request, token)
      // Not counted: whoever brings nothing does not guess.
      throw isOwnPage(request) ? signInAgain() : unauthorized()
    }

    const credentials = credentialReader.read(request.raw.socket, request.headers.authorization)
    const key = credentials && (await authenticate(credentials.keyId, credentials.secretHash, address))
    if (!key) {
      countFailure()
      const isTooManyHere = failures.byAddress.count(networkOf(address))
      const isTooManyOfKey = credentials !== undefined && failures.byKeyId.count(credentials.keyId.slice(0, 20))
      throw isTooManyHere || isTooManyOfKey ? tooManyFailures() : unauthorized()
    }
    state.key = key
    const { id, organizationId } = key
    state.caller = { type: 'key', id, organizationId, address, userAgent: userAgentOf(request) }
    Object.assign(state.headers, limiter?.take(key.keyId, 'the key'))
    if (!key.addressAllowed) {
      throw new Problem(
        'address_not_allowed',
        `the key may not be used from ${address}; its IP access list does not have it`,
      )
    }

    const malformed = readParams(operation, request)
    requirePlace(operation, malformed, state.params.organizationId, (named) => named === key.organizationId)
    requireRole(operation, key.role, 'key')
    if (malformed) throw malformed
  }

  /** The same for a person with a session instead of a key. */
  async function admitPerson(operation: AnyOperation, request: FastifyRequest, token: string): Promise<void> {
    const state = request.penstock
    const address = plainAddress(request)
    guard.requireSameOrigin(operation.method, request.headers)
    const malformed = readParams(operation, request)
    const { organizationId } = state.params
    const person = await findPerson(token, organizationId)
    // Not counted: a cookie outlives its session, and nobody guesses 256 bits.
    if (!person) throw signInAgain()
    guard.requireCsrfToken(operation.method, request.headers, person.csrfToken)
    const { userId: id, sessionId, role } = person
    const userAgent = userAgentOf(request)
    state.caller = { type: 'user', id, sessionId, organizationId: organizationId ?? '', address, userAgent }
    Object.assign(state.headers, limiter?.take(id, 'a person'))
    requirePlace(operation, malformed, organizationId, () => role !== undefined)
    // Where no organization is named nobody has a role in it, and everybody may read what is theirs.
    requireRole(operation, role ?? 'developer', 'user')
    if (malformed) throw malformed
  }

  return { admit, isSuspect: (request) => failures.byAddress.isEmpty(networkOf(plainAddress(request))) }
}

/** Of the ids in the path, that of the organization comes first: who does not belong there learns nothing about the others. */
function requirePlace(
  { params }: AnyOperation,
  malformed: Problem | undefined,
  organizationId: string | undefined,
  belongsTo: (organizationId: string) => boolean,
): void {
  if (params.properties.organizationId === undefined) return
  if (organizationId === undefined) throw malformed
  if (!belongsTo(organizationId)) throw organizationNotFound(organizationId)
}

/** The console whose session has been ended in another tab, cookie and all. Programs do not send this, and pages cannot choose to. */
function isOwnPage({ headers }: FastifyRequest): boolean {
  const isInBackground = headers['sec-fetch-mode'] !== 'navigate'
  return headers['sec-fetch-site'] === 'same-origin' && isInBackground
}
