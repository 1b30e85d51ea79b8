// Kafka requests and responses over a socket of the egress. The library encodes and parses them; its own connections are not used,
// because they would bypass the egress.
import type { Socket } from 'node:net'
import { type Connection, Reader, ResponseError } from '@platformatic/kafka'
import { type Frames, makeFrames } from './kafka-frames.ts'
import { makeAnswerMemory, memoryOf } from './kafka-memory.ts'

/** `garbled`: the bytes received are not the Kafka protocol. */
type WireFailure = 'closed' | 'timed out' | 'garbled'

/** The connection can no longer be used. */
export class WireError extends Error {
  readonly failure: WireFailure
  /** Error code of the socket, if any. */
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
  /** Resolves with responses that have error codes. Rejects with a WireError, or with what `ask` throws. */
  call<Answer>(ask: (connection: Connection) => Promise<Answer>, timeoutMs?: number): Promise<Answer>
  close(): void
}

const answerTimeoutMs = 10_000
const fetchKey = 1
/** A record batch can be as large as the topic allows; a larger length prefix is the text of another protocol. */
const largestFetchBytes = 64 * 1024 * 1024
/** Other responses take far more memory when they are parsed. */
const largestAnswerBytes = 4 * 1024 * 1024
/** Minimum size of responses whose memory is reused. */
const leastReusedBytes = 256 * 1024
const clientId = Buffer.from('penstock')

type Send = Connection['send']

interface Pending {
  apiKey: number
  read(answer: Buffer): void
  fail(error: Error): void
}

/** `frames`: those that the socket was opened with. */
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
      // The library's type allows a promise, but no parser of the requests sent here returns one.
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
  // The library uses nothing else of a connection.
  const connection = { send } as unknown as Connection

  const takeAnswer = (answer: Buffer): void => {
    const id = answer.readInt32BE(0)
    const request = pending.get(id)
    pending.delete(id)
    try {
      if (!request) throw new Error('unexpected correlation id')
      request.read(answer)
    } catch (error) {
      if (request && error instanceof ResponseError) request.fail(error)
      else end(new WireError('garbled'))
    } finally {
      // Users of its bytes hold them separately.
      memoryOf(answer)?.release()
    }
  }

  const mostBytes = (): number =>
    [...pending.values()].some(({ apiKey }) => apiKey === fetchKey) ? largestFetchBytes : largestAnswerBytes

  /** Only fetch responses are released explicitly, so only they use reusable memory. */
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
        // Some exchanges of the library never settle after an error: the end of the connection rejects them too.
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
