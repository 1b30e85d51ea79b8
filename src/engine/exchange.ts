// One HTTP exchange with an engine, over connections that stay open. Its body is written while the answer is awaited: an engine
// that refuses says so before it has read everything. Whoever aborts it leaves a body without an end, of which nothing is kept.
import { once } from 'node:events'
import { type ClientRequest, type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { hostInUrl } from '../lib/host.ts'
import { asHeader, type EngineAccess, placeOf } from './check.ts'
import { contentEncoding } from './compressed.ts'
import { EngineError } from './engine.ts'
import { connectionFailure, engineFailure, errorCodeOf, findLateException } from './engine-failure.ts'

export interface Exchange {
  parameters: Record<string, string>
  /** How long nothing may come and go. */
  idleTimeoutMs: number
  signal: AbortSignal
  /** Whether rows are sent. */
  hasRows: boolean
  /** Compressed. An error of it is what the exchange rejects with. */
  body: Readable
}

export interface EngineAnswer {
  text: string
  summary: string | undefined
  /** Of the body, as it went over the wire. */
  sentBytes: number
}

const maxAnswerBytes = 10_485_760

/** Rejects with an EngineError, or with what the body throws. */
export async function exchange(
  agent: HttpAgent,
  access: EngineAccess,
  { parameters, idleTimeoutMs, signal, hasRows, body }: Exchange,
): Promise<EngineAnswer> {
  if (signal.aborted) throw givenUp(access)
  const request = openRequest(agent, access, parameters)
  const cut = (): void => void request.destroy(givenUp(access))
  signal.addEventListener('abort', cut, { once: true })
  // Headers and body are small pieces that would otherwise wait for each other.
  request.setNoDelay(true)
  request.setTimeout(idleTimeoutMs, () => request.destroy(timedOut(access)))
  const answered = readAnswer(request, access)
  const written = writeBody(request, body)
  // Both are awaited below, one after the other; neither may be without a listener meanwhile.
  answered.catch(() => undefined)
  written.catch(() => {
    if (body.errored) request.destroy(body.errored)
  })
  try {
    const { response, text } = await answered
    const failure = failureIn(access, response, text, hasRows)
    if (failure) throw failure
    return { text, sentBytes: await written, summary: headerOf(response, 'x-clickhouse-summary') }
  } catch (error) {
    request.destroy()
    if (error === body.errored) throw error
    throw connectionFailure(access, error)
  } finally {
    body.destroy()
    signal.removeEventListener('abort', cut)
  }
}

function openRequest(agent: HttpAgent, access: EngineAccess, parameters: Record<string, string>): ClientRequest {
  const { protocol, host, port, username, password } = access
  return (protocol === 'https' ? httpsRequest : httpRequest)({
    agent,
    host,
    port,
    method: 'POST',
    path: `/?${new URLSearchParams(parameters)}`,
    headers: {
      host: `${hostInUrl(host)}:${port}`,
      'x-clickhouse-user': asHeader(username),
      'x-clickhouse-key': asHeader(password.reveal()),
      'user-agent': 'penstock',
      'content-encoding': contentEncoding,
    },
  })
}

/** Gives the number of bytes. */
async function writeBody(request: ClientRequest, body: Readable): Promise<number> {
  const closed = new AbortController()
  request.once('close', () => closed.abort())
  let sentBytes = 0
  for await (const chunk of body) {
    sentBytes += (chunk as Uint8Array).length
    if (!request.write(chunk)) await once(request, 'drain', { signal: closed.signal })
  }
  request.end()
  return sentBytes
}

function readAnswer(
  request: ClientRequest,
  access: EngineAccess,
): Promise<{ response: IncomingMessage; text: string }> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    // Whatever happens, it is closed in the end.
    request.on('close', () => reject(connectionFailure(access, undefined)))
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxAnswerBytes) request.destroy(tooLong(access))
        else chunks.push(chunk)
      })
      response.on('end', () => resolve({ response, text: Buffer.concat(chunks).toString('utf8') }))
      response.on('error', reject)
    })
  })
}

/** Errors come with a status of their own, with a header under status 200, or as the end of an answer that had begun. */
function failureIn(
  access: EngineAccess,
  response: IncomingMessage,
  text: string,
  hasRows: boolean,
): EngineError | undefined {
  const status = response.statusCode ?? 0
  const header = headerOf(response, 'x-clickhouse-exception-code')
  const late = status === 200 && header === undefined ? findLateException(text) : text
  if (late === undefined) return undefined
  return engineFailure(access, { code: errorCodeOf(header, late), status, text: late, hasRows })
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function givenUp(access: EngineAccess): EngineError {
  return new EngineError('passing', `what was sent to the engine at ${placeOf(access)} was given up before it answered`)
}

function timedOut(access: EngineAccess): EngineError {
  return new EngineError('passing', `the engine at ${placeOf(access)} did not answer in time`)
}

function tooLong(access: EngineAccess): EngineError {
  return new EngineError('passing', `what the engine at ${placeOf(access)} answers is too long`)
}
