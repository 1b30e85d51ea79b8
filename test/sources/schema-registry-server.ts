// Fake schema registry in this process: schemas by id and by subject and version, with references, Basic authentication, TLS, and the
// errors of Confluent's registry.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from './certificates.ts'

export interface SchemaRegistryOptions {
  /** Requires Basic authentication. */
  credentials?: { username: string; password: string }
  /** Uses https. */
  certificate?: Certificate
  /** Prefix of all paths, such as `/apis/ccompat/v7`. */
  pathPrefix?: string
}

type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON'
type Answer = Parameters<(status: number, body: unknown, headers?: Record<string, string>) => void>

export interface SchemaReference {
  name: string
  subject: string
  version: number
}

export interface SchemaRegistryServer {
  url: string
  port: number
  /** Requested paths, in order. */
  requests: string[]
  /** Returns the schema id. Default: a new subject for each schema. */
  register(schema: string, type?: SchemaType, references?: SchemaReference[], subject?: string): number
  /** Responds with 403 for this schema from now on. */
  forbid(id: number): void
  /** Responds with this to every request from now on; undefined: normal responses again. */
  answerWith(status: number | undefined, body?: string, headers?: Record<string, string>): void
  stop(): Promise<void>
}

interface Stored {
  id: number
  subject: string
  version: number
  schema: string
  type: SchemaType
  references: SchemaReference[]
}

export async function startSchemaRegistry(options: SchemaRegistryOptions = {}): Promise<SchemaRegistryServer> {
  const { credentials, certificate, pathPrefix = '' } = options
  const stored: Stored[] = []
  const forbidden = new Set<number>()
  const requests: string[] = []
  let fixedAnswer: { status: number; body: string; headers: Record<string, string> } | undefined

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? ''
    requests.push(path)
    if (fixedAnswer) {
      response.writeHead(fixedAnswer.status, fixedAnswer.headers).end(fixedAnswer.body)
      return
    }
    const [status, body, headers = {}] = mayEnter(request, credentials)
      ? answerOf(path, { stored, forbidden, pathPrefix })
      : ([401, error(40101, 'Unauthorized'), { 'www-authenticate': 'Basic realm="registry"' }] as Answer)
    const type = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
    response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body))
  }

  const server = certificate
    ? createTlsServer({ cert: certificate.cert, key: certificate.key }, handle)
    : createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}${pathPrefix}`,
    port,
    requests,
    register(schema, type = 'AVRO', references = [], subject = `subject-${stored.length + 1}`) {
      const id = stored.length + 1
      const version = stored.filter((other) => other.subject === subject).length + 1
      stored.push({ id, subject, version, schema, type, references })
      return id
    },
    forbid: (id) => void forbidden.add(id),
    answerWith(status, body = '', headers = {}) {
      fixedAnswer = status === undefined ? undefined : { status, body, headers }
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function mayEnter({ headers }: IncomingMessage, credentials: SchemaRegistryOptions['credentials']): boolean {
  if (!credentials) return true
  const expected = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')
  return headers.authorization === `Basic ${expected}`
}

const error = (errorCode: number, message: string): object => ({ error_code: errorCode, message })

interface Registry {
  stored: Stored[]
  forbidden: Set<number>
  pathPrefix: string
}

function answerOf(url: string, { stored, forbidden, pathPrefix }: Registry): Answer {
  if (!url.startsWith(pathPrefix)) return [404, error(404, 'HTTP 404 Not Found')]
  const parts = url.slice(pathPrefix.length + 1).split('/')
  const [first, second, third, fourth] = parts.map((part) => decodeURIComponent(part))
  if (first === 'subjects' && second === undefined) return [200, [...new Set(stored.map(({ subject }) => subject))]]
  if (first === 'schemas' && second === 'ids') {
    const found = stored.find(({ id }) => id === Number(third))
    if (!found) return [404, error(40403, 'Schema not found')]
    return forbidden.has(found.id) ? [403, error(40301, 'User is denied operation Read')] : [200, shown(found)]
  }
  if (first === 'subjects' && third === 'versions') {
    const versions = stored.filter(({ subject }) => subject === second)
    if (versions.length === 0) return [404, error(40401, 'Subject not found')]
    const found = versions.find(({ version }) => version === Number(fourth))
    if (!found) return [404, error(40402, 'Version not found')]
    const { id, subject, version } = found
    return forbidden.has(id)
      ? [403, error(40301, 'User is denied operation Read')]
      : [200, { id, subject, version, ...shown(found) }]
  }
  return [404, error(404, 'HTTP 404 Not Found')]
}

/** Schemas of type AVRO without references have no schemaType and no references. */
function shown({ schema, type, references }: Stored): object {
  return {
    schema,
    ...(type === 'AVRO' ? {} : { schemaType: type }),
    ...(references.length > 0 ? { references } : {}),
  }
}
