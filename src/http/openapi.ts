// Generates the OpenAPI 3.1 document from the operations, so that documentation and validation cannot differ.
import { invalidBody, Problem, type ProblemCode, problems } from '../lib/problem.ts'
import { shapeProblems } from '../lib/shape.ts'
import { type AnyOperation, hasEtag, isPaged, isWrite, tags, takesIfMatch } from '../operation/operation.ts'
import { errorAnswer, errorSentence } from './errors.ts'
import { idempotencyKey, ifMatchHeader } from './request.ts'

type Json = Record<string, unknown>

const everyOperation: ProblemCode[] = [
  'invalid_path',
  'invalid_query',
  'invalid_header',
  'invalid_request',
  'unauthorized',
  'role_not_allowed',
  'address_not_allowed',
  'not_found',
  'too_many_requests',
  'too_many_failed_authentications',
  'internal',
  'unavailable',
]
const everyBody: ProblemCode[] = ['invalid_json', 'invalid_body', 'body_too_large', 'unsupported_media_type']
const everyWrite: ProblemCode[] = ['idempotency_key_reused', 'idempotency_key_in_use']

/** Problems with the same text in every operation. */
const alike: ProblemCode[] = [
  'unauthorized',
  'role_not_allowed',
  'address_not_allowed',
  'not_found',
  'idempotency_key_reused',
  'idempotency_key_in_use',
  'version_mismatch',
  'body_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'too_many_failed_authentications',
  'internal',
  'unavailable',
]

const exampleRequestId = '5d1c2a3e-7f64-4b0a-9c1e-2f8b7d6a5e43'

const statusNames: Record<number, string> = {
  400: 'The request is invalid. The error names the field and the correction.',
  401: 'The credentials are missing or invalid.',
  403: 'The API key is not allowed to do this.',
  404: 'The resource does not exist in the organization of the API key.',
  409: 'The request conflicts with the current state.',
  412: 'The resource has changed since it was read.',
  413: 'The request body is too large.',
  415: 'The request body is not JSON.',
  429: 'Too many requests.',
  500: 'Internal error of Penstock.',
  503: 'Temporarily unavailable: the database is unreachable, Penstock is overloaded, or Penstock is shutting down.',
}

/** The problems that an operation can return. */
function problemsOf(operation: AnyOperation): ProblemCode[] {
  return [
    ...everyOperation,
    ...(operation.body ? everyBody : []),
    ...(isWrite(operation) ? everyWrite : []),
    ...(takesIfMatch(operation) ? (['version_mismatch'] as const) : []),
    ...operation.problems,
  ]
}

export function openApiDocument(operations: AnyOperation[]): Json {
  const schemas: Json = {
    Error: {
      type: 'object',
      description: 'Error response.',
      required: ['error', 'status'],
      properties: {
        error: {
          type: 'string',
          description: 'An error code in capital letters, a colon, and a sentence with the error and what to do.',
        },
        status: { type: 'integer', description: 'HTTP status code.' },
      },
      additionalProperties: false,
    },
    Problem: problemSchema,
  }
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    paths[operation.path]![operation.method.toLowerCase()] = describe(operation, schemas)
  }
  const used = new Set(operations.map((operation) => operation.tag))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Penstock',
      version: '1.0',
      summary: 'REST API of a self-hosted Penstock.',
      description:
        'Manages organizations, members, API keys, ClickHouse services, private endpoints and data pipes. A successful ' +
        'response is `{requestId, result, status}`; the response to a DELETE has no `result`. An error response is ' +
        '`{error, status}`, or RFC 9457 problem details with `Accept: application/problem+json`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The Penstock server that returned this document.' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name as AnyOperation['tag']))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'basic',
          description:
            'Key id of an API key as user name, key secret as password. `penstock init` prints the first admin key. The ' +
            'try-it mode (`npm start`) writes the keys of its sample organization to `data/sample.env`.',
        },
      },
      schemas,
      responses: commonFailures(),
    },
  }
}

function describe(operation: AnyOperation, schemas: Json): Json {
  const parameters: Json[] = []
  for (const [name, schema] of Object.entries<Json>(operation.params.properties)) {
    parameters.push(parameter(name, 'path', true, schema, schemas))
  }
  for (const [name, schema] of Object.entries<Json>(operation.query?.properties ?? {})) {
    parameters.push(parameter(name, 'query', operation.query.required?.includes(name) ?? false, schema, schemas))
  }
  if (takesIfMatch(operation)) parameters.push(ifMatchParameter)
  if (isWrite(operation)) parameters.push(idempotencyParameter)

  const description = operation.echo
    ? `${operation.description}\n\nRead-only fields may be sent with their current values.`
    : operation.description
  return {
    operationId: operation.id,
    summary: operation.summary,
    description,
    tags: [operation.tag],
    ...(operation.stability ? { 'x-stability': operation.stability } : {}),
    'x-required-role': operation.access,
    parameters,
    ...(operation.body ? { requestBody: requestBody(operation, schemas) } : {}),
    responses: { 200: success(operation, schemas), ...failures(operation) },
  }
}

function parameter(name: string, location: string, required: boolean, schema: Json, schemas: Json): Json {
  const { description, ...rest } = schema
  return { name, in: location, required, description, schema: hoist(rest, schemas) }
}

const ifMatchParameter: Json = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    '`ETag` of the version that was read. The change is applied only if the resource still has this version.',
  schema: { type: 'string', pattern: ifMatchHeader.source },
  example: '"3.1"',
}

const idempotencyParameter: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a retry safe: within 24 hours, a repeated request with the same key is applied once and gets the same ' +
    'response.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: idempotencyKey.source },
  example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
}

function requestBody(operation: AnyOperation, schemas: Json): Json {
  const content = {
    schema: hoist(operation.body, schemas),
    examples: { [operation.id]: { summary: operation.example.summary, value: operation.example.body } },
  }
  return { required: true, content: { 'application/json': content } }
}

const requestIdHeader = {
  'X-Request-Id': {
    description: 'Id of the request, for the log and for support.',
    schema: { type: 'string', format: 'uuid' },
  },
}

function success(operation: AnyOperation, schemas: Json): Json {
  const isDelete = operation.method === 'DELETE'
  const envelope = {
    type: 'object',
    required: ['requestId', ...(isDelete ? [] : ['result']), 'status'],
    properties: {
      requestId: { type: 'string', format: 'uuid', description: 'Id of the request, the same as in `X-Request-Id`.' },
      ...(isDelete ? {} : { result: hoist(operation.result, schemas) }),
      status: { type: 'integer', const: 200, description: 'HTTP status code.' },
    },
    additionalProperties: false,
  }
  const value = { requestId: exampleRequestId, ...(isDelete ? {} : { result: operation.example.result }), status: 200 }
  const text = { schema: { type: 'string' }, example: operation.example.result }
  return {
    description: 'Success.',
    headers: {
      ...requestIdHeader,
      ...(hasEtag(operation)
        ? {
            ETag: {
              description: 'Version of the resource. Send it as `If-Match` with a change.',
              schema: { type: 'string' },
            },
          }
        : {}),
      ...(isPaged(operation)
        ? {
            Link: {
              description: 'URL of the next page with `rel="next"`. Absent on the last page.',
              schema: { type: 'string' },
            },
          }
        : {}),
      ...(operation.problems.includes('unusual_endpoint_id')
        ? { Warning: { description: 'A warning about the id of the private endpoint.', schema: { type: 'string' } } }
        : {}),
    },
    content: operation.textType
      ? { [operation.textType]: text }
      : {
          'application/json': {
            schema: envelope,
            examples: { [operation.id]: { summary: operation.example.summary, value } },
          },
        },
  }
}

/** Responses that are the same for every operation are referenced. */
function failures(operation: AnyOperation): Json {
  const byStatus = Map.groupBy(problemsOf(operation), (code) => problems[code].status)
  const responses: Json = {}
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const common = codes.every((code) => alike.includes(code))
    responses[status] = common ? { $ref: `#/components/responses/${status}` } : failure(status, codes, operation)
  }
  return responses
}

function commonFailures(): Json {
  const byStatus = Map.groupBy(alike, (code) => problems[code].status)
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, failure(status, codes)]))
}

function failure(status: number, codes: ProblemCode[], operation?: AnyOperation): Json {
  const examples: Json = {}
  const rich: Json = {}
  for (const code of codes) {
    const problem = exampleOf(code, operation)
    examples[code] = { summary: problems[code].title, value: { error: errorSentence(problem), status } }
    rich[code] = {
      summary: problems[code].title,
      value: JSON.parse(errorAnswer(problem, exampleRequestId, 'application/problem+json').body),
    }
  }
  return {
    description: statusNames[status],
    headers: requestIdHeader,
    content: {
      'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples },
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' }, examples: rich },
    },
  }
}

/** The example of `invalid_body` is the validator's own error for a misspelled field in the example body. */
function exampleOf(code: ProblemCode, operation: AnyOperation | undefined): Problem {
  const body = operation?.example.body as Json | undefined
  if (code !== 'invalid_body' || !body) return new Problem(code, problems[code].example)
  const [name, value] = Object.entries(body)[0]!
  const slip = `${name.slice(0, -2)}${name.at(-1)}${name.at(-2)}`
  return invalidBody(shapeProblems(operation!.body, { ...body, [name]: undefined, [slip]: value }))
}

const problemSchema = {
  type: 'object',
  description: 'Error as RFC 9457 problem details, for clients that send `Accept: application/problem+json`.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'errors'],
  properties: {
    type: { type: 'string', description: 'Path of a page that explains the problem.' },
    title: { type: 'string', description: 'Short description of the problem, the same for each `code`.' },
    status: { type: 'integer', description: 'HTTP status code.' },
    detail: { type: 'string', description: 'The error in this request, and what to do.' },
    instance: { type: 'string', description: 'Id of the request, for the log and for support.' },
    code: { type: 'string', description: 'Stable code of the problem.', enum: Object.keys(problems) },
    errors: {
      type: 'array',
      description: 'Invalid fields of the request; empty if the problem is not about a field.',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: {
          pointer: { type: 'string', description: 'JSON pointer to the invalid field.' },
          detail: { type: 'string', description: 'The error of the field, and what to do.' },
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
}

/** Turns shapes with an `$id` into components and removes our own keywords. */
function hoist(schema: Json, schemas: Json): Json {
  const { $id, secret: _secret, unquoted: _unquoted, patternHint: _hint, checkedPattern, ...own } = schema
  const copy: Json = checkedPattern === undefined ? {} : { pattern: checkedPattern }
  for (const [key, value] of Object.entries(own)) copy[key] = hoistInside(key, value, schemas)
  if (typeof $id !== 'string') return copy
  schemas[$id] = copy
  return { $ref: `#/components/schemas/${$id}` }
}

function hoistInside(key: string, value: unknown, schemas: Json): unknown {
  if (key === 'properties') {
    return Object.fromEntries(
      Object.entries(value as Json).map(([name, schema]) => [name, hoist(schema as Json, schemas)]),
    )
  }
  if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object'))
    return hoist(value as Json, schemas)
  if (key === 'anyOf') return (value as Json[]).map((schema) => hoist(schema, schemas))
  return value
}
