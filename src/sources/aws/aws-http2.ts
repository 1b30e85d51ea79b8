// Answers of AWS that go on for minutes, as events: over HTTP/2, each on a connection of its own, which goes through the egress and
// ends with the answer or with the signal. Whoever reads such an answer decides how fast: what is not read is not sent.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { NodeHttpHandler } from '@smithy/node-http-handler'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import type { SourceContext, SourceAccess } from '../source.ts'
import { collectAnswer } from './aws-answer.ts'
import { wholeFrames } from './aws-events.ts'

const connectMs = 10_000
/** Taken from the other side before it is read. */
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
  /** Also while there is nothing to say, something comes within this time, or nothing ever will. */
  silenceMs: number
}

/** What a client of AWS sends such requests with. The signal of a request must be aborted when its answer is done with. */
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
    // Whatever it is, it ends the stream too.
    session.on('error', () => undefined)
    const end = (): void => session.destroy()
    // Of the connection, which would be a small one whatever that of the stream is.
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

/** Clients sign the header `host`; of HTTP/2 that is the authority. */
function headersOf(request: Request): Record<string, string> {
  const { host = authorityOf(request), ...headers } = request.headers
  return { ...headers, ':authority': host }
}

async function answerOf(stream: ClientHttp2Stream, session: ClientHttp2Session, silenceMs: number) {
  const headers = await beginningOf(stream, session, silenceMs)
  const { ':status': statusCode = 0, ...rest } = headers
  const pieces = untilSilent(stream, session, silenceMs)
  if (statusCode >= 200 && statusCode < 300) return { statusCode, headers: rest, body: wholeFrames(pieces) }
  const body = await collectAnswer(pieces, 'json')
  session.destroy()
  return { statusCode, headers: rest, body: body ?? new Uint8Array() }
}

function beginningOf(
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
      // Bytes that are no frames. One that speaks HTTP/2 ends a stream, or all of them, with other codes.
      if (cause.code === 'ERR_HTTP2_ERROR') error ??= new NoHttp2()
    })
    stream.once('response', () => clearTimeout(timer))
    stream.once('close', () => {
      clearTimeout(timer)
      reject(error ?? Object.assign(new Error('broken off'), { name: 'TimeoutError', code: 'ECONNRESET' }))
    })
  })
}

/** Only who waits for something is left waiting: what lies unread is not silence. */
async function* untilSilent(
  stream: ClientHttp2Stream,
  session: ClientHttp2Session,
  silenceMs: number,
): AsyncGenerator<Uint8Array> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  for (;;) {
    const timer = setTimeout(() => session.destroy(), silenceMs)
    const { done, value } = await pieces.next().finally(() => clearTimeout(timer))
    if (done) return
    yield value
  }
}
