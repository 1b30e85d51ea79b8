// One HTTP exchange with ClickHouse, over keep-alive connections. The body is written while the answer is awaited: ClickHouse can reject
// a request before it has read everything. Aborting leaves a gzip body without an end, of which nothing is stored.
import { type ClientRequest, type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Egress } from '../lib/egress.ts'
import { hostInUrl } from '../lib/host.ts'
import { addressText, asHeader, type EngineAccess } from './check.ts'
import { contentEncoding, type PackedBody } from './compressed.ts'
import { EngineError } from './engine.ts'
import { connectionFailure, engineFailure, errorCodeOf, findLateException } from './engine-failure.ts'

/** Address of the engine, and the agent that keeps its connections. */
export interface EngineConnection {
  egress: Egress
  agent: HttpAgent
  access: EngineAccess
}

export interface Exchange {
  parameters: Record<string, string>
  /** Longest time without traffic. */
  idleTimeoutMs: number
  signal: AbortSignal
  /** Whether rows are sent. */
  hasRows: boolean
  /** The exchange rejects with the errors of the body. */
  body: PackedBody
}

export interface EngineAnswer {
  text: string
  summary: string | undefined
  /** Size of the body on the wire. */
  sentBytes: number
}

const maxAnswerBytes = 10_485_760

/** Rejects with an EngineError, or with the error of the body. */
export async function exchange(
  connection: EngineConnection,
  { parameters, idleTimeoutMs, signal, hasRows, body }: Exchange,
): Promise<EngineAnswer> {
  const { access } = connection
  if (signal.aborted) throw givenUp(access)
  const request = openRequest(connection, parameters)
  const cut = (): void => void request.destroy(givenUp(access))
  signal.addEventListener('abort', cut, { once: true })
  // Headers and small bodies would otherwise wait for each other (Nagle).
  request.setNoDelay(true)
  request.setTimeout(idleTimeoutMs, () => request.destroy(timedOut(access)))
  const answered = readAnswer(request, access)
  const failure: BodyFailure = { hasFailed: false, error: undefined }
  const written = writeBody(request, body, failure)
  // Both are awaited below, one after the other. Until then, a rejection must have a listener.
  answered.catch(() => undefined)
  written.catch(() => request.destroy())
  try {
    const { response, text } = await answered
    const refusal = failureIn(access, response, text, hasRows)
    if (refusal) throw refusal
    return { text, sentBytes: await written, summary: headerOf(response, 'x-clickhouse-summary') }
  } catch (error) {
    request.destroy()
    if (failure.hasFailed) throw failure.error
    throw connectionFailure(access, error)
  } finally {
    signal.removeEventListener('abort', cut)
  }
}

function openRequest({ egress, agent, access }: EngineConnection, parameters: Record<string, string>): ClientRequest {
  const { protocol, host, port, username, password } = access
  try {
    egress.requireTlsForPassword(protocol, password)
  } catch (error) {
    throw connectionFailure(access, error)
  }
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

interface BodyFailure {
  hasFailed: boolean
  error: unknown
}

/** Resolves to the number of bytes. Rejects when the connection is closed, and when the body fails, which sets `failure`. */
async function writeBody(request: ClientRequest, body: PackedBody, failure: BodyFailure): Promise<number> {
  let sentBytes = 0
  for (;;) {
    const { value: pieces, done } = await body.next().catch((error: unknown) => {
      Object.assign(failure, { hasFailed: true, error })
      throw error
    })
    if (done) break
    try {
      sentBytes += await writeTogether(request, pieces)
    } catch (error) {
      await body.return()
      throw error
    }
  }
  request.end()
  return sentBytes
}

/** Writes the pieces together; resolves when their memory can be reused. */
function writeTogether(request: ClientRequest, pieces: Uint8Array[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const { socket } = request
    let sizeBytes = 0
    const closed = (): void => reject(new Error('the connection is closed'))
    const written = (error?: Error | null): void => {
      request.off('close', closed)
      if (error) reject(error)
      else resolve(sizeBytes)
    }
    if (request.destroyed) return closed()
    request.once('close', closed)
    // Without corking, each piece would be a packet and an HTTP chunk of its own.
    socket?.cork()
    request.cork()
    for (const [index, piece] of pieces.entries()) {
      sizeBytes += piece.length
      request.write(piece, index === pieces.length - 1 ? written : undefined)
    }
    request.uncork()
    socket?.uncork()
  })
}

function readAnswer(
  request: ClientRequest,
  access: EngineAccess,
): Promise<{ response: IncomingMessage; text: string }> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    // A request is always closed in the end.
    request.on('close', () => reject(connectionFailure(access, undefined)))
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxAnswerBytes) request.destroy(new AnswerTooLong(access))
        else chunks.push(chunk)
      })
      response.on('end', () => resolve({ response, text: Buffer.concat(chunks).toString('utf8') }))
      response.on('error', reject)
    })
  })
}

/** Errors have an error status, a header under status 200, or are at the end of an answer that had begun. */
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
  return new EngineError(
    'passing',
    `what was sent to the engine at ${addressText(access)} was given up before it answered`,
  )
}

function timedOut(access: EngineAccess): EngineError {
  return new EngineError('passing', `the engine at ${addressText(access)} did not answer in time`)
}

/** Retrying the same statement does not help unless its result becomes smaller. */
export class AnswerTooLong extends EngineError {
  constructor(access: EngineAccess) {
    super('passing', `what the engine at ${addressText(access)} answers is too long`)
  }
}
