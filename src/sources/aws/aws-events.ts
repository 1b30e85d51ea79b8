// The frames of application/vnd.amazon.eventstream, as they are cut out of what comes. A frame says how long it is before it comes,
// and clients of AWS make room for whatever it says: here it is not believed beyond what AWS itself would send.

/** As the clients of AWS in C have it. */
const maxFrameBytes = 24 * 1_024 * 1_024
/** Two lengths and two checksums. */
const minFrameBytes = 16

export class BrokenFrames extends Error {
  constructor() {
    super('not a frame of AWS')
    this.name = 'BrokenFrames'
  }
}

/** Each piece that is given is one frame. Rejects with BrokenFrames. */
export async function* wholeFrames(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = []
  let haveBytes = 0
  let frameBytes: number | undefined
  for await (const piece of pieces) {
    parts.push(piece)
    haveBytes += piece.length
    while (haveBytes >= (frameBytes ?? minFrameBytes)) {
      const joined = Buffer.concat(parts)
      frameBytes ??= lengthOf(joined)
      const isWhole = haveBytes >= frameBytes
      if (isWhole) yield joined.subarray(0, frameBytes)
      const rest = isWhole ? joined.subarray(frameBytes) : joined
      parts = [rest]
      haveBytes = rest.length
      if (!isWhole) break
      frameBytes = undefined
    }
  }
  if (haveBytes > 0) throw new BrokenFrames()
}

function lengthOf(frame: Buffer): number {
  const lengthBytes = frame.readUInt32BE(0)
  if (lengthBytes < minFrameBytes || lengthBytes > maxFrameBytes) throw new BrokenFrames()
  return lengthBytes
}
