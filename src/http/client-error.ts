// The answer to what never became a request: broken HTTP, headers that are too long, a client that is too slow. It is written to the bare
// socket, so a client takes it for the answer to whatever it asks for there, or is about to ask for. It is written only when nothing else
// can be meant; otherwise the connection is closed without a word, and the client asks again on another one.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../lib/problem.ts'
import { errorAnswer } from './errors.ts'
import { limits } from './request.ts'

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

export class ClientErrors {
  readonly #latest = new WeakMap<Socket, Exchange>()

  /** Call for every request, before it is answered. */
  noteRequest(request: IncomingMessage, response: ServerResponse): void {
    this.#latest.set(request.socket, { request, response })
  }

  answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable || !this.#isAnswerExpected(socket)) socket.destroy()
    else socket.end(errorText(error))
  }

  #isAnswerExpected(socket: Socket): boolean {
    const latest = this.#latest.get(socket)
    // Browsers open connections ahead of need, and use them when the next page is asked for.
    if (!latest) return socket.bytesRead > 0
    const { request, response } = latest
    // The error is behind that request: an answer is expected once that request has its own.
    if (request.complete) return response.writableFinished
    // The error is in its body. A response has its socket when all before it have been sent.
    return response.socket === socket && !response.headersSent
  }
}

function errorText(error: Error & { code?: string }): string {
  const sentences: Record<string, string> = {
    HPE_HEADER_OVERFLOW: `the headers are longer than ${limits.headerBytes} bytes`,
    ERR_HTTP_REQUEST_TIMEOUT: 'the request did not arrive in time',
  }
  const requestId = randomUUID()
  const problem = new Problem('invalid_request', sentences[error.code ?? ''] ?? 'the request is not valid HTTP/1.1')
  const { status, contentType, body } = errorAnswer(problem, requestId, undefined)
  return (
    `HTTP/1.1 ${status} Bad Request\r\nContent-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
    `X-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`
  )
}
