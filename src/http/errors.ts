// Response bodies of problems: {error, status}, or RFC 9457 if the client accepts application/problem+json.
import type { FastifyRequest } from 'fastify'
import { type FieldProblem, Problem, problems } from '../lib/problem.ts'
import { limits } from './request.ts'

/** The CODE of the error body, by status (docs/reference/http.md#status-codes). */
const codes: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'BAD_REQUEST',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

export interface ErrorAnswer {
  status: number
  contentType: string
  body: string
}

export function errorSentence(problem: Problem): string {
  return `${codes[problem.status]}: ${problem.message}`
}

export function errorAnswer(problem: Problem, requestId: string, accept: string | undefined): ErrorAnswer {
  const { status } = problem
  if (!accept || !asksForProblemJson(accept)) {
    return { status, contentType: 'application/json', body: JSON.stringify({ error: errorSentence(problem), status }) }
  }
  const body = {
    type: `/problems/${problem.code}`,
    title: problems[problem.code].title,
    status,
    detail: problem.message,
    instance: `urn:uuid:${requestId}`,
    code: problem.code,
    errors: problem.fields.map(({ path, detail }) => ({ pointer: pointer({ path, detail }), detail })),
  }
  return { status, contentType: 'application/problem+json', body: JSON.stringify(body) }
}

function asksForProblemJson(accept: string): boolean {
  return accept.split(',').some((range) => range.split(';')[0]!.trim().toLowerCase() === 'application/problem+json')
}

/** `columns[2].name` → `#/columns/2/name` */
function pointer({ path }: FieldProblem): string {
  const keys: string[] = []
  for (const part of path.matchAll(/\[(\d+)\]|\[?"((?:[^"\\]|\\.)*)"\]?|([^.[\]]+)/g)) {
    keys.push(part[1] ?? (part[2] === undefined ? part[3]! : JSON.parse(`"${part[2]}"`)))
  }
  return `#${keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`
}

function internalProblem(requestId: string, cause: unknown): Problem {
  return new Problem('internal', `internal error; the log has the details under request ${requestId}`, {
    cause,
  })
}

/** The problem for an error, including those that Fastify throws. */
export function problemOf(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error
  switch ((error as { code?: unknown }).code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `the body is larger than ${request.routeOptions.bodyLimit} bytes`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', 'send the body as application/json or application/merge-patch+json')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'the body is not as long as Content-Length says')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('invalid_request', `the URL is longer than ${limits.urlBytes} bytes`)
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_request', 'the path has a percent-encoding that does not decode')
    case 'FST_ERR_ASYNC_CONSTRAINT':
    case 'ECONNRESET':
      return new Problem('invalid_request', 'the request was interrupted')
    default:
      return internalProblem(request.penstock.requestId, error)
  }
}
