import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventFrame } from '../../../test/sources/kinesis-event-frames.ts'
import { BrokenFrames, wholeFrames } from './aws-events.ts'

async function* inChunks(bytes: Uint8Array, sizeBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sizeBytes) yield bytes.subarray(at, at + sizeBytes)
}

async function framesIn(bytes: Uint8Array, sizeBytes: number): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = []
  for await (const frame of wholeFrames(inChunks(bytes, sizeBytes))) frames.push(frame)
  return frames
}

describe('frames of an AWS event stream', () => {
  const frames = [
    eventFrame('initial-response', {}),
    eventFrame('event', { text: 'x'.repeat(500) }),
    eventFrame('e', {}),
  ]
  const bytes = Buffer.concat(frames)

  it('are found with any chunk size', async () => {
    for (const sizeBytes of [1, 2, 7, 16, 100, 499, bytes.length]) {
      const found = await framesIn(bytes, sizeBytes)
      assert.deepEqual(
        found.map((frame) => Buffer.from(frame)),
        frames,
        `chunks of ${sizeBytes}`,
      )
    }
    assert.deepEqual(await framesIn(Buffer.alloc(0), 1), [])
  })

  it('fail when the last one is truncated', async () => {
    const found: Uint8Array[] = []
    await assert.rejects(async () => {
      for await (const frame of wholeFrames(inChunks(bytes.subarray(0, -1), 50))) found.push(frame)
    }, BrokenFrames)
    assert.equal(found.length, 2)
  })

  it('are rejected when their length is out of bounds', async () => {
    for (const lengthBytes of [0, 15, 24 * 1_024 * 1_024 + 1, 2 ** 32 - 1]) {
      const wrong = Buffer.from(frames[1]!)
      wrong.writeUInt32BE(lengthBytes, 0)
      await assert.rejects(framesIn(wrong, 100), BrokenFrames)
    }
  })
})
