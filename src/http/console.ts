// Runs the console's own actions, with the same care as operations: route and method → throttle → origin → session → CSRF
// token → body → validate → prepare → run → answer.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalidBody, Problem } from '../lib/problem.ts'
import { shapeProblems } from '../lib/shape.ts'
import type { Authentication, Throttles } from './admission.ts'
import { signInAgain } from './authentication.ts'
import type { ActionRequest, AnyConsoleAction } from './console-action.ts'
import { serveByPath } from './methods.ts'
import { type Guarded, throttleName, tooManyFailures } from './rate-limit.ts'
import { limits, plainAddress, userAgentOf } from './request.ts'

/** One run of an action that has been admitted and validated. Plain data: it crosses threads. */
export interface ActionCall {
  actionId: string
  request: ActionRequest
  body: unknown
  /** What `prepare` gave. */
  prepared?: unknown
}

/** `result` is JSON text, cut to what the action's result shape lists. */
export interface ActionOutcome {
  result: string
  sessionToken?: string | null
  recordedIn?: string
}

/** Everything that the runner of actions asks of the rest of Penstock. */
export interface ConsoleParts {
  actions: AnyConsoleAction[]
  run(call: ActionCall): Promise<ActionOutcome>
}

/** What the server shares with the runner of actions. */
export interface ConsoleSurroundings {
  authentication: Pick<Authentication, 'findPerson' | 'guard'>
  throttles: Throttles
  send(request: FastifyRequest, reply: FastifyReply, status: number, contentType: string, body: string): FastifyReply
}

/** What somebody who guesses at a secret gets; each counts against the address and against what is guarded. */
const failureCodes: readonly string[] = ['sign_in_failed', 'wrong_password', 'invitation_not_valid']

export function serveConsoleActions(
  server: FastifyInstance,
  { actions, run }: ConsoleParts,
  { authentication: { findPerson, guard }, throttles: { failures, limiter, countFailure }, send }: ConsoleSurroundings,
): void {
  serveByPath(server, actions, (action) => ({
    bodyLimit: limits.actionBodyBytes,
    config: { operation: action } as object,
    onRequest: (request) => admit(action, request),
    handler: (request, reply) => answer(action, request, reply),
  }))

  async function admit(action: AnyConsoleAction, request: FastifyRequest): Promise<void> {
    const state = request.penstock
    if (failures.isEmpty(throttleName(plainAddress(request)))) throw tooManyFailures()
    guard.requireSameOrigin(action.method, request.headers)
    const token = guard.readToken(request.headers)
    const signedIn = token === undefined ? undefined : await findPerson(token)
    if (action.access === 'person') {
      // Not counted: no cookie, or one of a session that has ended, is no guess.
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
      throw new Problem('invalid_request', 'this takes no body; send none')
    }
    if (Object.keys(request.query as object).length > 0) {
      throw new Problem('invalid_query', 'this takes no query parameters; send none')
    }
    const address = plainAddress(request)
    const actionRequest: ActionRequest = { requestId, address, userAgent: userAgentOf(request), signedIn }
    // What has no body brings nothing to guess with.
    const guarded: Guarded[] = action.body
      ? [{ name: throttleName(address) }, ...(action.guarded?.(body, actionRequest) ?? [])]
      : []
    // Before the work: a password can be guessed, unlike the secret of a key, and every guess takes its time from everybody.
    if (!failures.take(guarded)) throw tooManyFailures()
    let outcome: ActionOutcome
    try {
      outcome = await run({ actionId: action.id, request: actionRequest, body })
    } catch (error) {
      if (error instanceof Problem && failureCodes.includes(error.code)) countFailure()
      else failures.giveBack(guarded)
      throw error
    }
    failures.giveBack(guarded)
    if (outcome.sessionToken !== undefined) headers['set-cookie'] = guard.cookie(outcome.sessionToken)
    const result = action.method === 'DELETE' ? '' : `"result":${outcome.result},`
    return send(request, reply, 200, 'application/json', `{"requestId":"${requestId}",${result}"status":200}`)
  }
}
