// Client of a schema registry with Confluent's API. All failures belong to the step `decode`, in which a probe loads schemas.
// `egress.request` follows no redirects.

import { X509Certificate } from 'node:crypto'
import type { RegisteredSchema, SchemaRegistry } from '../../formats/decode/registered-schema.ts'
import { type Egress, EgressError } from '../../lib/egress.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostInUrl, hostOfUrl } from '../../lib/host.ts'
import { withoutTrailingSlashes } from '../../lib/url-path.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { type SchemaAnswer, schemaOfAnswer } from './schema-answer.ts'
import { answerFailure, registryFailure, unreachedFailure } from './schema-registry-failure.ts'

export interface SchemaRegistryAddress {
  url: string
  credentials?: { username?: string; password?: string } | undefined
  /** PEM; replaces the public authorities. */
  caCertificate?: string | undefined
}

export type RegistryOptions = SourceAccess & Pick<SourceContext, 'caCertificates' | 'allowPlaintext'>

/** Undefined when the source has no schema registry. */
export function registryOfSource(
  { schemaRegistry }: Pick<KafkaSource, 'schemaRegistry'>,
  secrets: SourceSecrets,
  options: RegistryOptions,
): SchemaRegistry | undefined {
  if (!schemaRegistry) return undefined
  const { url, caCertificate, authentication } = schemaRegistry
  return makeSchemaRegistry({ url, caCertificate, credentials: authentication && secrets.schemaRegistry }, options)
}

const maxSchemas = 100
const maxReferences = 100
const maxReferenceDepth = 10
const maxAnswerBytes = 1024 * 1024
/** Of a schema with all its references. */
const maxTextLength = 4 * maxAnswerBytes
const timeoutMs = 5_000

export function makeSchemaRegistry(address: SchemaRegistryAddress, options: RegistryOptions): SchemaRegistry {
  const cache = new Map<number, Promise<RegisteredSchema>>()
  let ask: Ask | undefined
  return {
    async loadSchema(id, namedBy = 'the record') {
      // An invalid address is reported when the registry is first needed.
      ask ??= makeAsk(address, options)
      const known = cache.get(id)
      if (known) return known
      const loading = loadWithReferences(ask, id, namedBy)
      cache.set(id, loading)
      loading.catch(() => cache.delete(id))
      for (const oldest of cache.keys()) if (cache.size > maxSchemas) cache.delete(oldest)
      return loading
    },
  }
}

interface Ask {
  /** For texts of failures. */
  registry: string
  /** `what`: description of the request for a `not_found` failure. */
  schemaAt(path: string, what: string): Promise<SchemaAnswer>
}

function makeAsk(address: SchemaRegistryAddress, { egress, signal, ...context }: RegistryOptions): Ask {
  const { credentials, caCertificate } = address
  const endpoint = endpointOf(address.url)
  const shownUrl = `${endpoint.protocol}://${hostInUrl(endpoint.host)}:${endpoint.port}${endpoint.path}`
  const registry = `the schema registry at ${shownUrl}`
  if (caCertificate !== undefined && !isCertificate(caCertificate)) {
    throw registryFailure('unreadableAuthority', { registry })
  }
  if (endpoint.protocol === 'http' && credentials && !context.allowPlaintext) {
    throw registryFailure('passwordInTheClear', { registry })
  }
  const tls = caCertificate === undefined ? trustWith(context.caCertificates) : { ca: caCertificate }
  const headers = {
    accept: 'application/vnd.schemaregistry.v1+json, application/json',
    ...(credentials ? { authorization: basic(credentials) } : {}),
  }
  const get = async (path: string): ReturnType<Egress['request']> => {
    try {
      return await egress.request({
        protocol: endpoint.protocol,
        host: endpoint.host,
        port: endpoint.port,
        method: 'GET',
        path: `${endpoint.path}${path}`,
        headers,
        maxAnswerBytes,
        timeoutMs,
        signal,
        tls,
      })
    } catch (error) {
      throw error instanceof EgressError ? unreachedFailure(error, registry) : error
    }
  }
  return {
    registry,
    async schemaAt(path, what) {
      const { status, body } = await get(path)
      const hasCredentials = credentials !== undefined
      if (status !== 200) throw answerFailure({ status, body }, { registry, hasCredentials, what })
      const answer = schemaOfAnswer(body)
      if (!answer) throw registryFailure('notARegistry', { registry })
      return answer
    },
  }
}

function endpointOf(url: string): { protocol: 'http' | 'https'; host: string; port: number; path: string } {
  const { protocol, hostname, port, pathname } = new URL(url)
  const isHttps = protocol === 'https:'
  return {
    protocol: isHttps ? 'https' : 'http',
    host: hostOfUrl(hostname),
    port: Number(port) || (isHttps ? 443 : 80),
    path: withoutTrailingSlashes(pathname),
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

function basic({ username = '', password = '' }: { username?: string; password?: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

async function loadWithReferences(ask: Ask, id: number, namedBy: string): Promise<RegisteredSchema> {
  const what = `${namedBy} names schema ${id}`
  const { type, schema, references } = await ask.schemaAt(`/schemas/ids/${id}`, what)
  const tooMany = (): Error => registryFailure('tooManyReferences', { registry: ask.registry, what: `schema ${id}` })
  const loaded: RegisteredSchema['references'] = []
  const seen = new Set<string>()
  let textLength = schema.length
  const load = async (pending: SchemaAnswer['references'], depth: number): Promise<void> => {
    for (const { name, subject, version } of pending) {
      // The first reference of a name is used, as in Confluent's clients.
      if (seen.has(name)) continue
      seen.add(name)
      if (depth > maxReferenceDepth || seen.size > maxReferences) throw tooMany()
      const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}`
      const answer = await ask.schemaAt(path, `schema ${id} refers to version ${version} of another subject`)
      textLength += answer.schema.length
      if (textLength > maxTextLength) throw tooMany()
      await load(answer.references, depth + 1)
      loaded.push({ name, subject, version, schema: answer.schema })
    }
  }
  await load(references, 1)
  return { type, schema, references: loaded }
}
