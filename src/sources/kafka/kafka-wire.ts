// Requests and answers of the Kafka protocol over a socket that the egress has made. What a request and an answer look like is
// known to the library; its own connections are not used, because they would go past the egress.
import type { Socket } from 'node:net'
import { type Connection, Reader, ResponseError } from '@platformatic/kafka'
import { type Frames, makeFrames } from './kafka-frames.ts'
import { makeAnswerMemory, memoryOf } from './kafka-memory.ts'

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
/** Of answers whose memory is used again. */
const leastReusedBytes = 256 * 1024
const clientId = Buffer.from('penstock')

type Send = Connection['send']

interface Pending {
  apiKey: number
  read(answer: Buffer): void
  fail(error: Error): void
}

/** `frames`: what the socket was made to read into. */
export function openWire(socket: Socket, signal: AbortSignal, frames?: Frames): Wire {
  const memory = makeAnswerMemory()
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
    } finally {
      // Whoever took something out of it holds it.
      memoryOf(answer)?.release()
    }
  }

  const mostBytes = (): number =>
    [...pending.values()].some(({ apiKey }) => apiKey === fetchKey) ? largestFetchBytes : largestAnswerBytes

  /** Only those who take records out of an answer say how long they hold it. */
  const allocate = (sizeBytes: number): Buffer => {
    const isOfRecords = [...pending.values()].every(({ apiKey }) => apiKey === fetchKey)
    if (isOfRecords && sizeBytes >= leastReusedBytes) return memory.take(sizeBytes)
    return Buffer.allocUnsafeSlow(sizeBytes)
  }

  socket.setNoDelay(true)
  socket.setKeepAlive(true, 30_000)
  const answers = frames ?? makeFrames()
  answers.giveTo({ take: takeAnswer, mostBytes, allocate, garbled: () => end(new WireError('garbled')) })
  if (!frames) socket.on('data', answers.feed)
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
