// HTTP client for Azure's SDK: uses the egress and connects only to the host of the account. Ignores proxy settings of the
// environment and redirects of the service.
import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { HttpHeaders, HttpOperationResponse, IHttpClient, WebResource } from '@azure/storage-blob'
import { EgressError } from '../../lib/egress.ts'
import { slimList } from './azure-list.ts'
import { maxMessagesBytes, slimMessages } from './azure-messages.ts'

/** Maximum time without data from the service. */
const idleMs = 30_000
/** 1,000 blobs with names of 1,024 characters fit. */
const maxListBytes = 4_000_000
/** For errors, which have only a message. */
const maxTextBytes = 64 * 1024

/** Rejects with an EgressError when there is no answer. `service`: a blob may be named `messages` as well. */
export function azureHttpClient(agent: Agent, endpoint: string, service: 'blobs' | 'queue'): IHttpClient {
  const { origin } = new URL(endpoint)
  return {
    async sendRequest(request): Promise<HttpOperationResponse> {
      const url = new URL(request.url)
      if (url.origin !== origin) throw new EgressError('denied', { denial: 'host' })
      const response = await answerTo(request, url, agent)
      const status = response.statusCode ?? 0
      const answer = { request, status, headers: headersOf(request, response) }
      const isStream = request.streamResponseStatusCodes?.has(status) ?? false
      const isList = url.searchParams.get('comp') === 'list' && status === 200
      const isOfMessages = service === 'queue' && request.method === 'GET' && url.pathname.endsWith('/messages')
      const isMessages = isOfMessages && status === 200
      if (isList) return { ...answer, bodyAsText: slimList(await textOf(response, maxListBytes)) }
      if (isMessages) return { ...answer, bodyAsText: slimMessages(await textOf(response, maxMessagesBytes)) }
      if (!isStream) return { ...answer, bodyAsText: await textOf(response, maxTextBytes) }
      // From here on, a slow reader may be the cause of a pause.
      response.setTimeout(0)
      return { ...answer, readableStreamBody: response }
    },
  }
}

function answerTo(request: WebResource, url: URL, agent: Agent): Promise<IncomingMessage> {
  const { method, abortSignal } = request
  return new Promise((resolve, reject) => {
    const headers = { ...request.headers.toJson({ preserveCase: true }), 'user-agent': 'penstock' }
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const sent = send(url, { agent, method, headers })
    const giveUp = (): void => {
      sent.destroy(new EgressError('timed out'))
    }
    sent.on('error', (error) => reject(error instanceof EgressError ? error : new EgressError('broken')))
    sent.once('response', resolve)
    sent.once('close', () => abortSignal?.removeEventListener('abort', giveUp))
    sent.setTimeout(idleMs, giveUp)
    abortSignal?.addEventListener('abort', giveUp)
    if (abortSignal?.aborted) giveUp()
    // No request has a body.
    sent.end()
  })
}

/** Without `location`, so that the SDK follows no redirect. */
function headersOf(request: WebResource, { headers: received }: IncomingMessage): HttpHeaders {
  const headers = request.headers.clone()
  for (const name of headers.headerNames()) headers.remove(name)
  for (const [name, value] of Object.entries(received)) {
    const text = Array.isArray(value) ? value[0] : value
    if (text !== undefined && name !== 'location') headers.set(name, text)
  }
  return headers
}

async function textOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = []
  let sizeBytes = 0
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece)
      sizeBytes += piece.length
      if (sizeBytes > maxBytes) break
    }
  } catch {
    throw new EgressError('broken')
  }
  if (sizeBytes > maxBytes) throw new EgressError('broken')
  return Buffer.concat(pieces).toString()
}
