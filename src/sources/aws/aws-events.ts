// Splits application/vnd.amazon.eventstream into frames and limits their length. The SDK would allocate any length that a frame
// claims.

/** The limit of the AWS SDK in C. */
const maxFrameBytes = 24 * 1_024 * 1_024
/** Two lengths and two checksums. */
const minFrameBytes = 16

export class BrokenFrames extends Error {
  constructor() {
    super('not a frame of AWS')
    this.name = 'BrokenFrames'
  }
}

/** Yields one frame at a time. Rejects with BrokenFrames. */
export async function* wholeFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = []
  let bufferedBytes = 0
  let frameBytes: number | undefined
  for await (const chunk of chunks) {
    parts.push(chunk)
    bufferedBytes += chunk.length
    while (bufferedBytes >= (frameBytes ?? minFrameBytes)) {
      const joined = Buffer.concat(parts)
      frameBytes ??= lengthOf(joined)
      const isWhole = bufferedBytes >= frameBytes
      if (isWhole) yield joined.subarray(0, frameBytes)
      const rest = isWhole ? joined.subarray(frameBytes) : joined
      parts = [rest]
      bufferedBytes = rest.length
      if (!isWhole) break
      frameBytes = undefined
    }
  }
  if (bufferedBytes > 0) throw new BrokenFrames()
}

function lengthOf(frame: Buffer): number {
  const lengthBytes = frame.readUInt32BE(0)
  if (lengthBytes < minFrameBytes || lengthBytes > maxFrameBytes) throw new BrokenFrames()
  return lengthBytes
}
