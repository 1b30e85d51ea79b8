// Connection that reads into buffers of the caller. Without TLS, bytes are neither copied nor allocated per chunk: reading large
// objects takes a third of the CPU time of a stream.
import { Buffer } from 'node:buffer'
import type { OnReadOpts, Socket } from 'node:net'

export interface DirectConnection {
  send(data: string | Uint8Array): void
  /** Reads at least one byte. Rejects when the connection ends. */
  readSome(): Promise<Uint8Array>
  /** Returns bytes to be read next. */
  putBack(bytes: Uint8Array): void
  /** Fills the target. Rejects when the connection ends before; then, and after `close`, nothing is written to the target. */
  fill(target: Uint8Array): Promise<void>
  /** Applies while a read is pending. */
  setReadTimeout(maxMs: number): void
  /** No data is expected: any data closes the connection. */
  setIdle(maxMs: number): void
  setBusy(): void
  readonly isClosed: boolean
  readonly closed: Promise<void>
  close(): void
}

/** The AWS SDK knows this code, and the name of ReadTimeout. */
class ConnectionEnded extends Error {
  readonly code = 'ECONNRESET'
  constructor() {
    super('the connection has ended')
    this.name = 'ConnectionEnded'
  }
}

class ReadTimeout extends Error {
  constructor() {
    super('nothing came for too long')
    this.name = 'TimeoutError'
  }
}

interface PendingRead {
  target: Uint8Array
  filledBytes: number
  /** False: the first chunk is enough. */
  isWhole: boolean
  resolve(filledBytes: number): void
  reject(error: Error): void
}

/** Buffer for data without a pending read. */
const spareBytes = 64 * 1024

/** `isDirect`: `open` creates the socket with `onread`. Otherwise data is copied. */
export async function openDirectConnection(
  open: (onread: OnReadOpts) => Promise<Socket>,
  { isDirect }: { isDirect: boolean },
): Promise<DirectConnection> {
  const spare = Buffer.allocUnsafeSlow(spareBytes)
  let unread: Uint8Array[] = []
  let pending: PendingRead | undefined
  let readTimeoutMs = 0
  let isIdle = false
  let failure: Error | undefined

  const settle = (): void => {
    const settled = pending
    pending = undefined
    socket.setTimeout(0)
    settled?.resolve(settled.filledBytes)
  }

  /** Returns the number of bytes that the pending read took. */
  const give = (bytes: Uint8Array, { isInPlace }: { isInPlace: boolean }): number => {
    if (!pending) return 0
    const taken = Math.min(bytes.length, pending.target.length - pending.filledBytes)
    if (!isInPlace) pending.target.set(bytes.subarray(0, taken), pending.filledBytes)
    pending.filledBytes += taken
    if (!pending.isWhole || pending.filledBytes === pending.target.length) settle()
    return taken
  }

  /** Returns false to stop reading from the socket. */
  const take = (bytes: Uint8Array, isInPlace: boolean): boolean => {
    if (isIdle) return refuse()
    const taken = give(bytes, { isInPlace })
    // A copy, because the buffer is reused.
    if (taken < bytes.length) unread.push(Uint8Array.prototype.slice.call(bytes, taken))
    return pending !== undefined
  }

  /** Data on an idle connection is unexpected. */
  const refuse = (): false => {
    fail(new ConnectionEnded())
    return false
  }

  const fail = (error: Error): void => {
    failure ??= error
    const failed = pending
    pending = undefined
    // Before the caller is notified, so that nothing more is read into its buffer.
    socket.destroy()
    failed?.reject(failure)
  }

  const socket = await open({
    buffer: () => pending?.target.subarray(pending.filledBytes) ?? spare,
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
  socket.on('timeout', () => fail(new ReadTimeout()))
  if (socket.destroyed || socket.readableEnded) ended()

  const startRead = (target: Uint8Array, isWhole: boolean): Promise<number> => {
    if (pending) return Promise.reject(new Error('two read from one connection'))
    return new Promise((resolve, reject) => {
      pending = { target, filledBytes: 0, isWhole, resolve, reject }
      const waiting = unread
      unread = []
      for (const bytes of waiting) {
        const taken = give(bytes, { isInPlace: false })
        if (taken < bytes.length) unread.push(bytes.subarray(taken))
      }
      if (!pending) return
      // Data that arrived before the failure may be sufficient.
      if (failure) return fail(failure)
      socket.setTimeout(readTimeoutMs)
      socket.resume()
    })
  }

  return {
    send: (data) => void socket.write(data),
    async readSome() {
      const piece = new Uint8Array(spareBytes)
      return piece.subarray(0, await startRead(piece, false))
    },
    putBack(bytes) {
      if (bytes.length > 0) unread.unshift(bytes)
    },
    async fill(target) {
      if (target.length > 0) await startRead(target, true)
    },
    setReadTimeout(maxMs) {
      readTimeoutMs = maxMs
    },
    setIdle(maxMs) {
      if (unread.length > 0) return fail(new ConnectionEnded())
      isIdle = true
      socket.setTimeout(maxMs)
      // A paused socket does not report its end.
      socket.resume()
    },
    setBusy() {
      isIdle = false
      socket.setTimeout(0)
    },
    get isClosed() {
      return failure !== undefined
    },
    closed,
    close() {
      unread = []
      ended()
    },
  }
}
