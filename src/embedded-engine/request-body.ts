// The body of a request, decompressed, as the statement at its beginning and the file of its rows.
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

/** A statement that is longer, and not an INSERT with rows, is still one. */
const firstLookBytes = 65_536

export interface RequestBody {
  /** With its rows in the file; undefined for any other statement. */
  insert: InsertStatement | undefined
  /** The statement that is not an insert of sent rows. */
  text: string
}

/** `textInUrl`: the statement, or its beginning. The rows of an insert go into `rowsFile` as they come. */
export async function receiveBody(request: IncomingMessage, textInUrl: string, rowsFile: string): Promise<RequestBody> {
  const splitter = new StatementSplitter(textInUrl)
  const parts = [request, ...decompressor(request), splitter] as [Readable, ...Transform[]]
  try {
    const received = pipeline(parts)
    // Awaited below: a request that is cut off fails there.
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
  #nextLookBytes = firstLookBytes

  constructor(textInUrl: string) {
    super()
    const { promise, resolve, reject } = Promise.withResolvers<InsertStatement | undefined>()
    this.insert = promise
    this.#decide = resolve
    this.#fail = reject
    // Nobody may be waiting when a request is cut off.
    promise.catch(() => undefined)
    // As ClickHouse joins them.
    const text = Buffer.from(textInUrl === '' ? '' : `${textInUrl}\n`)
    this.#held = [text]
    this.#heldBytes = text.length
    this.#look(false)
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
    if (this.#heldBytes >= this.#nextLookBytes) this.#look(false)
    done()
  }

  override _flush(done: () => void): void {
    if (!this.#isPassing) this.#look(true)
    if (!this.#isPassing) {
      this.#decide(undefined)
      // Nobody reads on: a stream that is not read does not end.
      this.resume()
    }
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#fail(error ?? new Error('the request was cut off'))
    done(error)
  }

  /** Not with each chunk: the text is read from its beginning. */
  #look(isComplete: boolean): void {
    const held = Buffer.concat(this.#held)
    const insert = findInsert(held.toString('latin1'), isComplete)
    if (!insert) {
      this.#nextLookBytes = 2 * held.length + firstLookBytes
      return
    }
    this.#isPassing = true
    this.#held = []
    this.push(held.subarray(insert.length))
    this.#decide(insert)
  }
}
