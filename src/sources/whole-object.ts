// The body of an answer as a stream of exactly one whole object: one that is cut short, goes on for too long or is given up
// ends with NotConnected, never as if it were complete.
import { type Readable, Transform } from 'node:stream'
import { NotConnected } from './source.ts'

export function wholeObject(body: Readable, sizeBytes: number, signal: AbortSignal): Readable {
  let passedBytes = 0
  const whole = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      passedBytes += chunk.length
      if (passedBytes > sizeBytes) done(new NotConnected())
      else done(null, chunk)
    },
    flush(done) {
      done(passedBytes === sizeBytes ? null : new NotConnected())
    },
  })
  const fail = (): void => {
    whole.destroy(new NotConnected())
  }
  body.on('error', fail)
  body.once('close', () => {
    if (!body.readableEnded) fail()
  })
  signal.addEventListener('abort', fail, { once: true })
  whole.once('close', () => {
    signal.removeEventListener('abort', fail)
    body.destroy()
  })
  if (signal.aborted) fail()
  return body.pipe(whole)
}

/** The first `sizeBytes` of the body; undefined when it has fewer. Reads no further. */
export async function firstBytes(body: Readable, sizeBytes: number): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = []
  let readBytes = 0
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    readBytes += piece.length
    if (readBytes >= sizeBytes) break
  }
  return readBytes < sizeBytes ? undefined : Buffer.concat(pieces, sizeBytes)
}
