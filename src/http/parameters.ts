// Path and query parameters, validated and converted by the shapes of their operation.
import type { FastifyRequest } from 'fastify'
import { Problem } from '../lib/problem.ts'
import { shapeProblems } from '../lib/shape.ts'
import type { AnyOperation } from '../operation/operation.ts'

/** Stores valid path parameters in the request state, UUIDs in lower case; returns a problem for the others. */
export function readParams(operation: AnyOperation, request: FastifyRequest): Problem | undefined {
  const params = request.params as Record<string, string>
  const malformed = shapeProblems(operation.params, params, { at: 'the path' })
  for (const [name, value] of Object.entries(params)) {
    if (malformed.some(({ path }) => path === name)) continue
    const isUuid = operation.params.properties[name].format === 'uuid'
    request.penstock.params[name] = isUuid ? value.toLowerCase() : value
  }
  return malformed.length > 0 ? fieldProblem('invalid_path', malformed) : undefined
}

export function readQuery(operation: AnyOperation, raw: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(raw)
  if (names.length === 0 && !operation.query?.required.length) return {}
  const shape = operation.query ?? { type: 'object', properties: {}, additionalProperties: false }
  // Without a prototype, so that a parameter called __proto__ is refused like any other.
  const query: Record<string, unknown> = Object.create(null)
  for (const name of names) {
    const value = raw[name]
    if (Array.isArray(value))
      throw new Problem('invalid_query', `the query parameter ${JSON.stringify(name)} is sent more than once`)
    if (name.includes('\0') || String(value).includes('\0'))
      throw new Problem('invalid_query', 'the query contains the character U+0000, which is not allowed')
    query[name] = fromText(shape.properties[name]?.type, value)
  }
  const problems = shapeProblems(shape, query, { at: 'the query' })
  if (problems.length > 0) throw fieldProblem('invalid_query', problems)
  return query
}

/** Converts `true`, `false` and integers where the shape has that type; other text stays as it is. */
function fromText(type: string | undefined, text: unknown): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  if (type === 'integer' && /^-?\d{1,15}$/.test(String(text))) return Number(text)
  return text
}

function fieldProblem(code: 'invalid_path' | 'invalid_query', fields: { path: string; detail: string }[]): Problem {
  return new Problem(code, fields.map((field) => field.detail).join('; '), { fields })
}
