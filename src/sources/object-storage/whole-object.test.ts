import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { firstBytes, wholeObject } from './whole-object.ts'

const never = new AbortController().signal
const bytes = Buffer.alloc(200_000, 'abc')
const piecesOf = (whole: Buffer) => Readable.from([whole.subarray(0, 100_000), whole.subarray(100_000)])

describe('the stream of a whole object', () => {
  it('is complete', async () => {
    assert.ok((await buffer(wholeObject(piecesOf(bytes), bytes.length, never))).equals(bytes))
  })

  it('fails when it is truncated, too long or broken', async () => {
    await assert.rejects(buffer(wholeObject(piecesOf(bytes), bytes.length + 1, never)), NotConnected)
    await assert.rejects(buffer(wholeObject(piecesOf(bytes), bytes.length - 1, never)), NotConnected)
    const broken = new PassThrough()
    const whole = buffer(wholeObject(broken, 10, never))
    broken.write('abc')
    broken.destroy(new Error('ECONNRESET'))
    await assert.rejects(whole, NotConnected)
    const gone = new PassThrough()
    const other = buffer(wholeObject(gone, 10, never))
    gone.destroy()
    await assert.rejects(other, NotConnected)
  })

  it('stops when the signal is aborted, also before the start', async () => {
    const stopping = new AbortController()
    const body = new PassThrough()
    const whole = buffer(wholeObject(body, 10, stopping.signal))
    stopping.abort()
    await assert.rejects(whole, NotConnected)
    assert.ok(body.destroyed)
    await assert.rejects(buffer(wholeObject(new PassThrough(), 10, stopping.signal)), NotConnected)
  })

  it('destroys the answer when the reader stops early', async () => {
    const body = new PassThrough()
    const whole = wholeObject(body, 10, never)
    whole.destroy()
    await once(body, 'close')
    assert.ok(body.destroyed)
  })

  it('fails when the store stalls, but not when the reader is slow', async () => {
    const stalled = new PassThrough()
    await assert.rejects(buffer(wholeObject(stalled, 10, never, 20)), NotConnected)
    for (const given of [bytes, bytes.subarray(0, 10)]) {
      const whole = wholeObject(piecesOf(given), given.length, never, 200)
      await wait(1_000)
      assert.ok((await buffer(whole)).equals(given))
    }
  })

  it('returns its start, or undefined when it is shorter', async () => {
    const body = piecesOf(bytes)
    assert.deepEqual(Buffer.from((await firstBytes(body, 3))!).toString(), 'abc')
    assert.ok(body.destroyed)
    assert.equal(await firstBytes(piecesOf(bytes), bytes.length + 1), undefined)
  })
})
