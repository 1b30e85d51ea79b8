// Requests and answers of the Kafka protocol over a socket that the egress has made. What a request and an answer look like is
// known to the library; its own connections are not used, because they would go past the egress.
import type { Socket } from 'node:net'
import { type Connection, Reader, ResponseError } from '@platformatic/kafka'

/** `garbled`: what came is not the Kafka protocol. */
type WireFailure = 'closed' | 'timed out' | 'garbled'

/** The connection is of no more use. */
export class WireError extends Error {
  readonly failure: WireFailure
  /** Of the error of the socket, where there was one. */
  readonly code: string | undefined

  constructor(failure: WireFailure, code?: string) {
    super(`kafka connection: ${failure}`)
    this.name = 'WireError'
    this.failure = failure
    this.code = code
  }
}

export interface Wire {
  readonly isOpen: boolean
  /** Answers with error codes in them come back like all others. Rejects with a WireError, and with what `ask` throws. */
  call<Answer>(ask: (connection: Connection) => Promise<Answer>, timeoutMs?: number): Promise<Answer>
  close(): void
}

const answerTimeoutMs = 10_000
const fetchKey = 1
/** One batch of records can be as large as the topic allows; a length beyond this is another protocol's text. */
const largestFetchBytes = 64 * 1024 * 1024
/** All else is names and numbers, which take far more memory when they are read. */
const largestAnswerBytes = 4 * 1024 * 1024
const clientId = Buffer.from('penstock')

type Send = Connection['send']

interface Pending {
  apiKey: number
  read(answer: Buffer): void
  fail(error: Error): void
}

export function openWire(socket: Socket, signal: AbortSignal): Wire {
  const pending = new Map<number, Pending>()
  const waiting = new Set<(error: WireError) => void>()
  let correlationId = 0
  let failure: WireError | undefined

  const end = (error: WireError): void => {
    if (failure) return
    failure = error
    signal.removeEventListener('abort', abort)
    socket.destroy()
    pending.clear()
    for (const reject of waiting) reject(error)
    waiting.clear()
  }
  const abort = (): void => end(new WireError('timed out'))

  const send: Send = (apiKey, apiVersion, createPayload, parse, hasRequestTags, hasAnswerTags, callback) => {
    correlationId = (correlationId + 1) & 0x7fffffff
    const id = correlationId
    const read = (answer: Buffer): void => {
      const body = answer.subarray(hasAnswerTags ? 5 : 4)
      // What the library promises to be perhaps a promise is none for any request that is sent here.
      callback(null, parse(id, apiKey, apiVersion, Reader.from(body)) as Awaited<ReturnType<typeof parse>>)
    }
    Promise.resolve(createPayload()).then(
      (payload) => {
        if (failure) return
        pending.set(id, { apiKey, read, fail: callback })
        socket.write(frame(apiKey, apiVersion, id, hasRequestTags, payload.buffer))
      },
      (error: Error) => callback(error),
    )
  }
  // The functions of the library ask nothing else of a connection.
  const connection = { send } as unknown as Connection

  const takeAnswer = (answer: Buffer): void => {
    const id = answer.readInt32BE(0)
    const request = pending.get(id)
    pending.delete(id)
    try {
      if (!request) throw new Error('nobody asked for this answer')
      request.read(answer)
    } catch (error) {
      if (request && error instanceof ResponseError) request.fail(error)
      else end(new WireError('garbled'))
    }
  }

  const mostBytes = (): number =>
    [...pending.values()].some(({ apiKey }) => apiKey === fetchKey) ? largestFetchBytes : largestAnswerBytes

  socket.setNoDelay(true)
  socket.setKeepAlive(true, 30_000)
  socket.on(
    'data',
    splitFrames(takeAnswer, mostBytes, () => end(new WireError('garbled'))),
  )
  socket.on('error', (error: NodeJS.ErrnoException) => end(new WireError('closed', error.code)))
  socket.on('close', () => end(new WireError('closed')))
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })

  return {
    get isOpen() {
      return failure === undefined
    },
    call(ask, timeoutMs = answerTimeoutMs) {
      return new Promise((resolve, reject) => {
        if (failure) return reject(failure)
        const timer = setTimeout(() => end(new WireError('timed out')), timeoutMs)
        const settle = (act: () => void): void => {
          clearTimeout(timer)
          waiting.delete(fail)
          act()
        }
        const fail = (error: Error): void => settle(() => reject(error))
        // An exchange of several requests can lose its way in the library: the end of the connection ends it too.
        waiting.add(fail)
        ask(connection).then(
          (answer) => settle(() => resolve(answer)),
          (error: Error) => (error instanceof ResponseError ? settle(() => resolve(error.response)) : fail(error)),
        )
      })
    },
    close: () => end(new WireError('closed')),
  }
}

function frame(apiKey: number, apiVersion: number, id: number, hasTags: boolean, payload: Buffer): Buffer {
  const header = Buffer.alloc(14 + clientId.length + (hasTags ? 1 : 0))
  header.writeInt32BE(header.length - 4 + payload.length, 0)
  header.writeInt16BE(apiKey, 4)
  header.writeInt16BE(apiVersion, 6)
  header.writeInt32BE(id, 8)
  header.writeInt16BE(clientId.length, 12)
  clientId.copy(header, 14)
  return Buffer.concat([header, payload])
}

/** Puts pieces of a stream together to answers, each without its length. Each piece is copied when it comes, and once. */
function splitFrames(
  take: (answer: Buffer) => void,
  mostBytes: () => number,
  garbled: () => void,
): (chunk: Buffer) => void {
  const length = Buffer.alloc(4)
  let lengthUsed = 0
  let answer: Buffer | undefined
  let answerUsed = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (!answer) {
        const copied = chunk.copy(length, lengthUsed, at)
        at += copied
        lengthUsed += copied
        if (lengthUsed < 4) return
        const answerBytes = length.readInt32BE(0)
        if (answerBytes < 4 || answerBytes > mostBytes()) return garbled()
        answer = Buffer.allocUnsafeSlow(answerBytes)
      }
      const copied = chunk.copy(answer, answerUsed, at)
      at += copied
      answerUsed += copied
      if (answerUsed < answer.length) return
      const whole = answer
      answer = undefined
      lengthUsed = 0
      answerUsed = 0
      take(whole)
    }
  }
}
