// Body of an answer with known size. Can be read as a stream, or into a buffer of the caller; not both at once.
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import type { DirectConnection } from './direct-connection.ts'

const chunkBytes = 64 * 1024

/** Fails with NotConnected. */
export class DirectBody extends Readable {
  readonly sizeBytes: number
  readonly #connection: DirectConnection
  readonly #onRead: () => void
  #leftBytes: number

  /** `onRead`: called at the end of the body, when the connection can be used again. Otherwise the connection is closed. */
  constructor(connection: DirectConnection, sizeBytes: number, onRead: () => void) {
    super({ highWaterMark: chunkBytes })
    this.#connection = connection
    this.sizeBytes = sizeBytes
    this.#leftBytes = sizeBytes
    this.#onRead = onRead
    // readInto rejects with the same error.
    this.on('error', () => undefined)
    if (sizeBytes === 0) onRead()
  }

  /** Bytes that have not been read. */
  get leftBytes(): number {
    return this.#leftBytes
  }

  /**
   * Fills the target; reads less only at the end of the body. The target must not be used until then. After a failure, and after
   * `destroy`, nothing is written to it.
   */
  async readInto(target: Uint8Array): Promise<number> {
    const part = target.subarray(0, Math.min(target.length, this.#leftBytes))
    if (part.length === 0) return 0
    if (this.destroyed) throw new NotConnected()
    try {
      await this.#connection.fill(part)
    } catch {
      const failure = new NotConnected()
      this.destroy(failure)
      throw failure
    }
    this.#leftBytes -= part.length
    if (this.#leftBytes === 0) this.#onRead()
    return part.length
  }

  override _read(): void {
    const chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, this.#leftBytes))
    this.readInto(chunk).then(
      (readBytes) => this.push(readBytes === 0 ? null : chunk),
      // readInto has already destroyed the stream.
      () => undefined,
    )
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#leftBytes > 0) this.#connection.close()
    done(error)
  }
}
