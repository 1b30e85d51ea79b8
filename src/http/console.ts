// Runs console actions: route and method → origin → session → CSRF token → body → validation → password throttle →
// prepare → run → response.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { networkOf } from '../lib/ip-range.ts'
import { invalidBody, Problem } from '../lib/problem.ts'
import { shapeProblems } from '../lib/shape.ts'
import { signInAgain } from '../operation/caller.ts'
import type { ActionCall, ActionOutcome, ActionRequest, AnyConsoleAction } from '../operation/console-action.ts'
import type { Authentication, Throttles } from './admission.ts'
import { serveByPath } from './methods.ts'
import { tooManyFailures } from './rate-limit.ts'
import { limits, plainAddress, userAgentOf } from './request.ts'

export interface ConsoleParts {
  actions: AnyConsoleAction[]
  run(call: ActionCall): Promise<ActionOutcome>
}

/** Parts of the server that console actions share. */
export interface ConsoleDependencies {
  authentication: Pick<Authentication, 'findPerson' | 'guard'>
  throttles: Throttles
  /** A keyed hash that reveals nothing about the text. */
  fingerprint(purpose: string, text: string): string
  send(request: FastifyRequest, reply: FastifyReply, status: number, contentType: string, body: string): FastifyReply
}

/** Codes of a wrong secret; counted as failures. */
const failureCodes: readonly string[] = ['sign_in_failed', 'wrong_password', 'invitation_not_valid']

export function serveConsoleActions(
  server: FastifyInstance,
  { actions, run }: ConsoleParts,
  dependencies: ConsoleDependencies,
): void {
  const { authentication, throttles, fingerprint, send } = dependencies
  const { findPerson, guard } = authentication
  const { failures, limiter, countFailure } = throttles
  serveByPath(server, actions, (action) => ({
    bodyLimit: limits.actionBodyBytes,
    config: { operation: action } as object,
    onRequest: (request) => admit(action, request),
    handler: (request, reply) => answer(action, request, reply),
  }))

  async function admit(action: AnyConsoleAction, request: FastifyRequest): Promise<void> {
    const state = request.penstock
    guard.requireSameOrigin(action.method, request.headers)
    const token = guard.readToken(request.headers)
    const signedIn = token === undefined ? undefined : await findPerson(token)
    if (action.access === 'person') {
      // Not counted as a failure: a missing or expired cookie is not a guess.
      if (!signedIn) throw signInAgain()
      guard.requireCsrfToken(action.method, request.headers, signedIn.csrfToken)
    }
    state.signedIn = signedIn
    if (signedIn) Object.assign(state.headers, limiter?.take(signedIn.userId, 'a person'))
  }

  async function answer(action: AnyConsoleAction, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { requestId, signedIn, headers } = request.penstock
    const { body } = request
    if (action.body) {
      if (body === undefined) throw new Problem('invalid_json', 'the body is empty; send a JSON object')
      const problems = shapeProblems(action.body, body)
      if (problems.length > 0) throw invalidBody(problems)
    } else if (body !== undefined && action.method !== 'GET') {
      throw new Problem('invalid_request', 'the request must not have a body')
    }
    if (Object.keys(request.query as object).length > 0) {
      throw new Problem('invalid_query', 'the request must not have query parameters')
    }
    const address = plainAddress(request)
    const deviceToken = guard.readDeviceToken(request.headers)
    const actionRequest: ActionRequest = { requestId, address, userAgent: userAgentOf(request), deviceToken, signedIn }
    const call: ActionCall = { actionId: action.id, request: actionRequest, body }
    const guarded = action.guarded?.(body, actionRequest, { fingerprint })
    const outcome = guarded === undefined ? await runToken(call) : await runPassword(call, guarded)
    if (outcome.sessionToken !== undefined) headers['set-cookie'] = guard.cookies(outcome)
    const result = action.method === 'DELETE' ? '' : `"result":${outcome.result},`
    return send(request, reply, 200, 'application/json', `{"requestId":"${requestId}",${result}"status":200}`)
  }

  /** For tokens of 256 bits: looked up first, so that a valid token is accepted even while others from the address are throttled. */
  async function runToken(call: ActionCall): Promise<ActionOutcome> {
    try {
      return await run(call)
    } catch (error) {
      if (!isFailure(error)) throw error
      countFailure()
      throw failures.byAddress.count(networkOf(call.request.address)) ? tooManyFailures() : error
    }
  }

  /** For passwords: counted before the check, because they can be guessed and every check costs CPU time. */
  async function runPassword(call: ActionCall, guarded: string): Promise<ActionOutcome> {
    if (!failures.byPassword.take(guarded)) throw tooManyFailures()
    let hasFailed = false
    try {
      return await run(call)
    } catch (error) {
      hasFailed = isFailure(error)
      throw error
    } finally {
      if (hasFailed) countFailure()
      else failures.byPassword.giveBack(guarded)
    }
  }
}

function isFailure(error: unknown): boolean {
  return error instanceof Problem && failureCodes.includes(error.code)
}
