// A connection whose bytes are read to where they are wanted: without TLS there is no copy of them on the way, and no memory is made for
// each piece that comes. Whoever reads large objects gets them for a third of what they cost as a stream.
import { Buffer } from 'node:buffer'
import type { OnReadOpts, Socket } from 'node:net'

export interface DirectConnection {
  send(data: string | Uint8Array): void
  /** What has come, and at least a byte of it. Rejects when nothing comes any more. */
  some(): Promise<Uint8Array>
  /** To be read next. */
  putBack(bytes: Uint8Array): void
  /** All of it. Rejects when less comes; then, and after `close`, nothing is written to it any more. */
  fill(target: Uint8Array): Promise<void>
  /** While something is awaited: how long nothing may come. */
  setPatience(longestMs: number): void
  /** Nothing is expected for now, and whatever comes ends it. */
  rest(longestMs: number): void
  wake(): void
  readonly isClosed: boolean
  readonly closed: Promise<void>
  close(): void
}

/** Why nothing comes any more. The client of AWS knows both names. */
class ConnectionEnded extends Error {
  readonly code = 'ECONNRESET'
  constructor() {
    super('the connection has ended')
    this.name = 'ConnectionEnded'
  }
}

class Silence extends Error {
  constructor() {
    super('nothing came for too long')
    this.name = 'TimeoutError'
  }
}

interface Wanted {
  target: Uint8Array
  filledBytes: number
  /** False: whatever comes first is enough. */
  isWhole: boolean
  resolve(filledBytes: number): void
  reject(error: Error): void
}

/** What comes before it is known where to. */
const spareBytes = 64 * 1024

/** `open` makes the socket with these options, or without them: then what it reads is copied. */
export async function openDirectConnection(
  open: (onread: OnReadOpts) => Promise<Socket>,
  { isDirect }: { isDirect: boolean },
): Promise<DirectConnection> {
  const spare = Buffer.allocUnsafeSlow(spareBytes)
  let early: Uint8Array[] = []
  let wanted: Wanted | undefined
  let patienceMs = 0
  let isResting = false
  let failure: Error | undefined

  const settle = (): void => {
    const settled = wanted
    wanted = undefined
    socket.setTimeout(0)
    settled?.resolve(settled.filledBytes)
  }

  /** How much of it was wanted. */
  const give = (bytes: Uint8Array, { isInPlace }: { isInPlace: boolean }): number => {
    if (!wanted) return 0
    const taken = Math.min(bytes.length, wanted.target.length - wanted.filledBytes)
    if (!isInPlace) wanted.target.set(bytes.subarray(0, taken), wanted.filledBytes)
    wanted.filledBytes += taken
    if (!wanted.isWhole || wanted.filledBytes === wanted.target.length) settle()
    return taken
  }

  /** False: enough for now. */
  const take = (bytes: Uint8Array, isInPlace: boolean): boolean => {
    if (isResting) return refuse()
    const taken = give(bytes, { isInPlace })
    // A copy: where it lies is read to again.
    if (taken < bytes.length) early.push(Uint8Array.prototype.slice.call(bytes, taken))
    return wanted !== undefined
  }

  /** Nobody has asked for it. */
  const refuse = (): false => {
    fail(new ConnectionEnded())
    return false
  }

  const fail = (error: Error): void => {
    failure ??= error
    const failed = wanted
    wanted = undefined
    // Before anybody learns of it: from now on nothing is read to where it was wanted.
    socket.destroy()
    failed?.reject(failure)
  }

  const socket = await open({
    buffer: () => wanted?.target.subarray(wanted.filledBytes) ?? spare,
    callback: (count, buffer) => take(buffer.subarray(0, count), buffer !== spare),
  })
  if (!isDirect) {
    socket.on('data', (piece: Buffer) => {
      if (!take(piece, false)) socket.pause()
    })
  }
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const ended = (): void => fail(new ConnectionEnded())
  for (const event of ['end', 'error', 'close']) socket.on(event, ended)
  socket.on('timeout', () => fail(new Silence()))
  if (socket.destroyed || socket.readableEnded) ended()

  const want = (target: Uint8Array, isWhole: boolean): Promise<number> => {
    if (wanted) return Promise.reject(new Error('two read from one connection'))
    return new Promise((resolve, reject) => {
      wanted = { target, filledBytes: 0, isWhole, resolve, reject }
      const waiting = early
      early = []
      for (const bytes of waiting) {
        const taken = give(bytes, { isInPlace: false })
        if (taken < bytes.length) early.push(bytes.subarray(taken))
      }
      if (!wanted) return
      // Who hung up may have said everything before.
      if (failure) return fail(failure)
      socket.setTimeout(patienceMs)
      socket.resume()
    })
  }

  return {
    send: (data) => void socket.write(data),
    async some() {
      const piece = new Uint8Array(spareBytes)
      return piece.subarray(0, await want(piece, false))
    },
    putBack(bytes) {
      if (bytes.length > 0) early.unshift(bytes)
    },
    async fill(target) {
      if (target.length > 0) await want(target, true)
    },
    setPatience(longestMs) {
      patienceMs = longestMs
    },
    rest(longestMs) {
      if (early.length > 0) return fail(new ConnectionEnded())
      isResting = true
      socket.setTimeout(longestMs)
      // A connection that is not read from does not tell that it has ended.
      socket.resume()
    },
    wake() {
      isResting = false
      socket.setTimeout(0)
    },
    get isClosed() {
      return failure !== undefined
    },
    closed,
    close() {
      early = []
      ended()
    },
  }
}
