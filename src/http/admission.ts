// Authentication and authorization of an operation, before its body is read. The caller is an API key or a person with a session;
// a request with an Authorization header is authenticated by that header only.
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

/** An authenticated API key, and whether its IP access list allows the address. */
export interface AuthenticatedKey {
  id: string
  keyId: string
  organizationId: string
  role: Role
  addressAllowed: boolean
}

/** A valid session and the role of its person. */
export interface PersonWithSession extends SignedIn {
  /** Role in the organization; undefined when the person is not a member. */
  role: Role | undefined
}

/** Looks up callers by their credentials. */
export interface Authentication {
  hashSecret(secret: string): string
  /** Undefined for every kind of wrong credentials. */
  authenticate(keyId: string, secretHash: string, address: string): Promise<AuthenticatedKey | undefined>
  /** Undefined for a session that is unknown or has ended; without an organization the person has no role. */
  findPerson(token: string, organizationId?: string): Promise<PersonWithSession | undefined>
  guard: SessionGuard
}

/**
 * Throttles of failed authentications, shared with console actions. Each has its own map, because a full map evicts its oldest entry:
 * a flood of made-up key ids must not evict the count of password guesses.
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
  /** Whether too many authentications from the address of the request have failed. */
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
      // Not counted as a failure: a request without credentials is not a guess.
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
        `the key may not be used from ${address}: the address is not in its IP access list`,
      )
    }

    const malformed = readParams(operation, request)
    requireOrganization(operation, malformed, state.params.organizationId, (named) => named === key.organizationId)
    requireRole(operation, key.role, 'key')
    if (malformed) throw malformed
  }

  /** Admits a person with a session. */
  async function admitPerson(operation: AnyOperation, request: FastifyRequest, token: string): Promise<void> {
    const state = request.penstock
    const address = plainAddress(request)
    guard.requireSameOrigin(operation.method, request.headers)
    const malformed = readParams(operation, request)
    const { organizationId } = state.params
    const person = await findPerson(token, organizationId)
    // Not counted as a failure: a cookie outlives its session, and 256 bits cannot be guessed.
    if (!person) throw signInAgain()
    guard.requireCsrfToken(operation.method, request.headers, person.csrfToken)
    const { userId: id, sessionId, role } = person
    const userAgent = userAgentOf(request)
    state.caller = { type: 'user', id, sessionId, organizationId: organizationId ?? '', address, userAgent }
    Object.assign(state.headers, limiter?.take(id, 'a person'))
    requireOrganization(operation, malformed, organizationId, () => role !== undefined)
    // Without an organization in the path there is no role: people may read their own data.
    requireRole(operation, role ?? 'developer', 'user')
    if (malformed) throw malformed
  }

  return { admit, isSuspect: (request) => failures.byAddress.isEmpty(networkOf(plainAddress(request))) }
}

/** Checks the organization id before the other ids in the path, so that outsiders learn nothing about those. */
function requireOrganization(
  { params }: AnyOperation,
  malformed: Problem | undefined,
  organizationId: string | undefined,
  belongsTo: (organizationId: string) => boolean,
): void {
  if (params.properties.organizationId === undefined) return
  if (organizationId === undefined) throw malformed
  if (!belongsTo(organizationId)) throw organizationNotFound(organizationId)
}

/** Whether a console page sent this after its session ended in another tab. Only browsers send Sec-Fetch headers. */
function isOwnPage({ headers }: FastifyRequest): boolean {
  const isInBackground = headers['sec-fetch-mode'] !== 'navigate'
  return headers['sec-fetch-site'] === 'same-origin' && isInBackground
}
