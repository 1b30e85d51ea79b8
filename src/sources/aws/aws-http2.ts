// Event streams of AWS, which last minutes: HTTP/2, each on a connection of its own through the egress. The connection ends with the
// stream or the signal. Flow control lets the reader set the pace.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { NodeHttpHandler } from '@smithy/node-http-handler'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { collectAnswer } from './aws-answer.ts'
import { wholeFrames } from './aws-events.ts'

const connectMs = 10_000
/** Receive window. */
const windowBytes = 1_024 * 1_024

export class NoHttp2 extends Error {
  constructor() {
    super('the other side does not speak HTTP/2')
    this.name = 'NoHttp2'
  }
}

type Handle = NodeHttpHandler['handle']
type Request = Parameters<Handle>[0]

export interface EventsOptions {
  /** Maximum time between two chunks. The service must send something within it even when there are no events. */
  silenceMs: number
}

/** Request handler of an AWS client for event streams. The signal of a request must be aborted when its stream is done. */
export function awsEventsHandle(
  { egress, signal }: SourceAccess,
  trust: Pick<SourceContext, 'caCertificates'>,
  { silenceMs }: EventsOptions,
): Handle {
  return async (request, { abortSignal } = {}) => {
    const signals = abortSignal instanceof AbortSignal ? [signal, abortSignal] : [signal]
    const ending = AbortSignal.any(signals)
    const socket = await open(egress, request, trust, ending)
    const session = connect(`${request.protocol}//${authorityOf(request)}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    })
    // Errors of the session end the stream too.
    session.on('error', () => undefined)
    const end = (): void => session.destroy()
    // The window of the connection, which `settings` does not change.
    session.once('connect', () => session.setLocalWindowSize(windowBytes))
    ending.addEventListener('abort', end, { once: true })
    session.once('close', () => ending.removeEventListener('abort', end))
    if (ending.aborted) end()
    try {
      const stream = session.request({ ...headersOf(request), ':method': request.method, ':path': request.path || '/' })
      stream.once('close', end)
      stream.end(request.body)
      return { response: await answerOf(stream, session, silenceMs) } as Awaited<ReturnType<Handle>>
    } catch (error) {
      end()
      throw ending.aborted ? new DOMException('aborted', 'AbortError') : error
    }
  }
}

async function open(
  egress: SourceAccess['egress'],
  { protocol, hostname, port }: Request,
  trust: Pick<SourceContext, 'caCertificates'>,
  signal: AbortSignal,
): Promise<Duplex> {
  const host = hostOfUrl(hostname)
  const limits = { timeoutMs: connectMs, signal }
  if (protocol === 'http:') return egress.connect(host, port ?? 80, limits)
  const tls = { ...trustWith(trust.caCertificates), protocols: ['h2', 'http/1.1'] }
  const socket = await egress.connectTls(host, port ?? 443, { ...limits, tls })
  if (socket.alpnProtocol === 'h2') return socket
  socket.destroy()
  throw new NoHttp2()
}

function authorityOf({ hostname, port }: Request): string {
  return port === undefined ? hostname : `${hostname}:${port}`
}

/** Clients sign the header `host`, which HTTP/2 sends as `:authority`. */
function headersOf(request: Request): Record<string, string> {
  const { host = authorityOf(request), ...headers } = request.headers
  return { ...headers, ':authority': host }
}

async function answerOf(stream: ClientHttp2Stream, session: ClientHttp2Session, silenceMs: number) {
  const headers = await responseHeadersOf(stream, session, silenceMs)
  const { ':status': statusCode = 0, ...rest } = headers
  const chunks = untilSilent(stream, session, silenceMs)
  if (statusCode >= 200 && statusCode < 300) return { statusCode, headers: rest, body: wholeFrames(chunks) }
  const body = await collectAnswer(chunks, 'json')
  session.destroy()
  return { statusCode, headers: rest, body: body ?? new Uint8Array() }
}

function responseHeadersOf(
  stream: ClientHttp2Stream,
  session: ClientHttp2Session,
  silenceMs: number,
): Promise<IncomingHttpHeaders & { ':status'?: number }> {
  return new Promise((resolve, reject) => {
    let error: Error | undefined
    const timer = setTimeout(() => {
      error = Object.assign(new Error('no answer in time'), { name: 'TimeoutError' })
      session.destroy()
    }, silenceMs)
    stream.once('response', resolve)
    stream.on('error', (cause: NodeJS.ErrnoException) => {
      // The bytes received are not HTTP/2 frames. HTTP/2 servers end streams and connections with other codes.
      if (cause.code === 'ERR_HTTP2_ERROR') error ??= new NoHttp2()
    })
    stream.once('response', () => clearTimeout(timer))
    stream.once('close', () => {
      clearTimeout(timer)
      reject(error ?? Object.assign(new Error('broken off'), { name: 'TimeoutError', code: 'ECONNRESET' }))
    })
  })
}

/** The timeout runs only while the reader waits for a chunk; unread chunks are not silence. */
async function* untilSilent(
  stream: ClientHttp2Stream,
  session: ClientHttp2Session,
  silenceMs: number,
): AsyncGenerator<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  for (;;) {
    const timer = setTimeout(() => session.destroy(), silenceMs)
    const { done, value } = await chunks.next().finally(() => clearTimeout(timer))
    if (done) return
    yield value
  }
}
