// Responses to input that never became a request: invalid HTTP, oversized headers, a client that is too slow. They are written to the bare
// socket, where the client reads them as the response to its current request. If that could be another request, the connection is closed
// without a response, and the client retries on a new one.
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

  /** Must be called for every request before its response. */
  noteRequest(request: IncomingMessage, response: ServerResponse): void {
    this.#latest.set(request.socket, { request, response })
  }

  answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable || !this.#isAnswerExpected(socket)) socket.destroy()
    else socket.end(errorText(error))
  }

  #isAnswerExpected(socket: Socket): boolean {
    const latest = this.#latest.get(socket)
    // Browsers open connections in advance and use them for the next page.
    if (!latest) return socket.bytesRead > 0
    const { request, response } = latest
    // The error is behind that request: a response is expected once that request has its own.
    if (request.complete) return response.writableFinished
    // The error is in the body of that request. Node assigns the socket to a response once all earlier ones are sent.
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
