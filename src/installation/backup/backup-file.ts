// File format of a backup: gzipped JSON lines. The first line is the format version; each table has a line with its columns and one
// line per row; the last line is the manifest. An empty gzip member follows, whose comment is the SHA-256 of all bytes before it,
// so that every change is detected. `zcat` can read the file.
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, createWriteStream, statSync } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'

const lineEnd = 0x0a
const digestLength = 64
const trailerStart = Buffer.from([0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 0xff])
const trailerEnd = Buffer.from([0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
const trailerLength = trailerStart.length + digestLength + trailerEnd.length

export class DamagedFile extends Error {}

export class UnreadableFile extends Error {}

/** Creates the file with mode 0600; fails if it exists. Resolves when it is synced to disk. */
export async function writeLines(file: string, lines: AsyncIterable<string>): Promise<void> {
  const digest = createHash('sha256')
  const seen = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk)
      done(null, chunk)
    },
    flush(done) {
      done(null, trailerOf(digest))
    },
  })
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true })
  await pipeline(lines, createGzip(), seen, out)
}

/** All lines of the file. */
export async function* readLines(file: string): AsyncGenerator<Buffer> {
  const bodyLength = bodyLengthOf(file)
  const gunzip = createGunzip()
  const source = createReadStream(file, { start: 0, end: bodyLength - 1 })
  const flowing = pipeline(source, gunzip).catch((error: unknown) => {
    gunzip.destroy(error as Error)
  })
  let rest: Buffer[] = []
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, start)) {
        yield rest.length === 0 ? chunk.subarray(start, end) : Buffer.concat([...rest, chunk.subarray(start, end)])
        rest = []
        start = end + 1
      }
      if (start < chunk.length) rest.push(chunk.subarray(start))
    }
  } catch (error) {
    throw classify(error)
  } finally {
    source.destroy()
    gunzip.destroy()
    await flowing
  }
  if (rest.length > 0) throw new DamagedFile()
}

/** Throws DamagedFile unless the checksum matches. */
export async function checkWhole(file: string): Promise<void> {
  const bodyLength = bodyLengthOf(file)
  const digest = createHash('sha256')
  let seen = 0
  let trailer = Buffer.alloc(0)
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      const inBody = Math.max(0, Math.min(chunk.length, bodyLength - seen))
      digest.update(chunk.subarray(0, inBody))
      trailer = Buffer.concat([trailer, chunk.subarray(inBody)])
      seen += chunk.length
    }
  } catch (error) {
    throw classify(error)
  }
  if (!trailer.equals(trailerOf(digest))) throw new DamagedFile()
}

function bodyLengthOf(file: string): number {
  try {
    const found = statSync(file)
    if (!found.isFile() || found.size <= trailerLength) throw new DamagedFile()
    return found.size - trailerLength
  } catch (error) {
    throw classify(error)
  }
}

function classify(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code?.startsWith('Z_')) return new DamagedFile()
  return syscall === undefined ? error : new UnreadableFile(code)
}

function trailerOf(digest: Hash): Buffer {
  return Buffer.concat([trailerStart, Buffer.from(digest.digest('hex')), trailerEnd])
}
