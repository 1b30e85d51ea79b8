// Decompresses the body of a request and splits it into the statement and a file with its rows.
import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { EngineException } from './exception.ts'
import { findInsert, type InsertStatement } from './insert-statement.ts'

const decompressors: Record<string, () => Transform> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** First size at which the statement is searched; a longer statement is searched again later. */
const firstSearchBytes = 65_536

export interface RequestBody {
  /** Set when the rows are in the file; undefined for any other statement. */
  insert: InsertStatement | undefined
  /** The statement, when it is not an insert with sent rows. */
  text: string
}

/** `textInUrl`: the statement, or its beginning. Rows of an insert are written to `rowsFile` as they arrive. */
export async function receiveBody(request: IncomingMessage, textInUrl: string, rowsFile: string): Promise<RequestBody> {
  const splitter = new StatementSplitter(textInUrl)
  const parts = [request, ...decompressor(request), splitter] as [Readable, ...Transform[]]
  try {
    const received = pipeline(parts)
    // Awaited below; a truncated request rejects there.
    received.catch(() => undefined)
    const insert = await splitter.insert
    if (insert) await pipeline(splitter, createWriteStream(rowsFile, { mode: 0o600 }))
    await received
    return { insert, text: splitter.text }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!/^(?:Z_|ERR__|ERR_BROTLI|ZSTD_)/.test(code ?? '')) throw error
    throw new EngineException(
      354,
      'ZLIB_INFLATE_FAILED',
      'inflate failed: the compressed body is damaged or incomplete.',
    )
  }
}

function decompressor(request: IncomingMessage): Transform[] {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding === '' || encoding === 'identity') return []
  const make = decompressors[encoding]
  if (!make) throw new EngineException(48, 'NOT_IMPLEMENTED', `Unknown compression method: ${encoding}.`)
  return [make()]
}

/** Passes on the rows of an insert, and keeps the text of any other statement. */
class StatementSplitter extends Transform {
  readonly insert: Promise<InsertStatement | undefined>
  #decide!: (insert: InsertStatement | undefined) => void
  #fail!: (error: Error) => void
  #isPassing = false
  #held: Buffer[]
  #heldBytes = 0
  #nextSearchBytes = firstSearchBytes

  constructor(textInUrl: string) {
    super()
    const { promise, resolve, reject } = Promise.withResolvers<InsertStatement | undefined>()
    this.insert = promise
    this.#decide = resolve
    this.#fail = reject
    // A truncated request may reject it before it is awaited.
    promise.catch(() => undefined)
    // Joined as ClickHouse does.
    const text = Buffer.from(textInUrl === '' ? '' : `${textInUrl}\n`)
    this.#held = [text]
    this.#heldBytes = text.length
    this.#search(false)
  }

  get text(): string {
    return Buffer.concat(this.#held).toString()
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error?: Error | null, data?: Buffer) => void): void {
    if (this.#isPassing) {
      done(null, chunk)
      return
    }
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes >= this.#nextSearchBytes) this.#search(false)
    done()
  }

  override _flush(done: () => void): void {
    if (!this.#isPassing) this.#search(true)
    if (!this.#isPassing) {
      this.#decide(undefined)
      // The stream only ends when it is read, and has no reader.
      this.resume()
    }
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#fail(error ?? new Error('the request was cut off'))
    done(error)
  }

  /** Not for each chunk, because it scans the text from its beginning. */
  #search(isComplete: boolean): void {
    const held = Buffer.concat(this.#held)
    const insert = findInsert(held.toString('latin1'), isComplete)
    if (!insert) {
      this.#nextSearchBytes = 2 * held.length + firstSearchBytes
      return
    }
    this.#isPassing = true
    this.#held = []
    this.push(held.subarray(insert.length))
    this.#decide(insert)
  }
}
