// How a problem looks on the wire: exactly {error, status}, or RFC 9457 for a client that asks for it.
import { type FieldProblem, Problem, problems } from '../lib/problem.ts'

/** The CODE of the error body, by status (docs/contract.md, section 1). */
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

export function internalProblem(requestId: string, cause: unknown): Problem {
  return new Problem('internal', `something went wrong on our side; the log has it under request ${requestId}`, {
    cause,
  })
}
