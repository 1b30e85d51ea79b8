// The body of an answer, of which the size is known. Can be read as any stream, or to where its bytes are to stay; not both at once.
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { NotConnected } from '../source.ts'
import type { DirectConnection } from './direct-connection.ts'

const chunkBytes = 64 * 1024

/** What it fails with is NotConnected. */
export class DirectBody extends Readable {
  readonly sizeBytes: number
  readonly #connection: DirectConnection
  readonly #whenWhole: () => void
  #leftBytes: number

  /** `whenWhole`: it was read to its end, and the connection is somebody else's now. Otherwise it is closed. */
  constructor(connection: DirectConnection, sizeBytes: number, whenWhole: () => void) {
    super({ highWaterMark: chunkBytes })
    this.#connection = connection
    this.sizeBytes = sizeBytes
    this.#leftBytes = sizeBytes
    this.#whenWhole = whenWhole
    // Who reads by readInto is told there.
    this.on('error', () => undefined)
    if (sizeBytes === 0) whenWhole()
  }

  /** Of what has been read neither way. */
  get leftBytes(): number {
    return this.#leftBytes
  }

  /**
   * As much as the target takes; less only where the body ends. The target must be left alone meanwhile. After a failure, and once it is
   * destroyed, nothing is written to it any more.
   */
  async readInto(target: Uint8Array): Promise<number> {
    const wanted = target.subarray(0, Math.min(target.length, this.#leftBytes))
    if (wanted.length === 0) return 0
    if (this.destroyed) throw new NotConnected()
    try {
      await this.#connection.fill(wanted)
    } catch {
      const failure = new NotConnected()
      this.destroy(failure)
      throw failure
    }
    this.#leftBytes -= wanted.length
    if (this.#leftBytes === 0) this.#whenWhole()
    return wanted.length
  }

  override _read(): void {
    const chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, this.#leftBytes))
    this.readInto(chunk).then(
      (readBytes) => this.push(readBytes === 0 ? null : chunk),
      // It has been destroyed with that.
      () => undefined,
    )
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#leftBytes > 0) this.#connection.close()
    done(error)
  }
}
