// The body of an answer as a stream of exactly one object: a body that is too short, too long or aborted ends with NotConnected,
// never as if it were complete.
import { type Readable, Transform } from 'node:stream'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { DirectBody } from '../direct/direct-body.ts'
import { longestStallMs } from '../direct/direct-client.ts'

/** `stallMs`: without data for this long, and at most twice as long, the stream fails. */
export function wholeObject(
  body: Readable,
  sizeBytes: number,
  signal: AbortSignal,
  stallMs = longestStallMs,
): Readable {
  if (body instanceof DirectBody && body.sizeBytes === sizeBytes) return endedBy(body, signal)
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
  let awaitedFrom: number | undefined
  const watch = setInterval(() => {
    // A slow reader is not a stall: only wait for the store when all its data has been read.
    const isAwaited = whole.readableLength === 0 && !body.readableEnded
    if (isAwaited && awaitedFrom === passedBytes) fail()
    awaitedFrom = isAwaited ? passedBytes : undefined
  }, stallMs)
  body.on('error', fail)
  body.once('close', () => {
    if (!body.readableEnded) fail()
  })
  signal.addEventListener('abort', fail, { once: true })
  whole.once('close', () => {
    clearInterval(watch)
    signal.removeEventListener('abort', fail)
    body.destroy()
  })
  if (signal.aborted) fail()
  return body.pipe(whole)
}

/** A DirectBody checks its size and timeouts. */
function endedBy(body: DirectBody, signal: AbortSignal): DirectBody {
  const giveUp = (): void => {
    body.destroy(new NotConnected())
  }
  signal.addEventListener('abort', giveUp, { once: true })
  body.once('close', () => signal.removeEventListener('abort', giveUp))
  if (signal.aborted) giveUp()
  return body
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
