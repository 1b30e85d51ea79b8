// How much is taken from a queue at once, and what becomes of messages about objects that cannot be given.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { objectsInMemory } from '../../../test/sources/object-memory.ts'
import { s3Event } from '../../../test/sources/queue-server.ts'
import { makeAnnouncedObjects } from './announced-objects.ts'
import { holdMessages } from './held-messages.ts'
import type { MessageQueue, QueueMessage } from './message-queue.ts'
import { parsePattern } from './object-pattern.ts'
import { makeIntake } from './queue-intake.ts'

const { signal } = new AbortController()
const testEvent = (characters = 0) => JSON.stringify({ Event: 's3:TestEvent', more: 'x'.repeat(characters) })

interface Scripted {
  /** What the queue says to the n-th receive. */
  texts(receive: number): string[]
  receivedCount?: number
  answersAfterMs?: number
}

function intakeOf(test: TestContext, { texts, receivedCount = 1, answersAfterMs = 0 }: Scripted) {
  const receives: number[] = []
  const removed: string[] = []
  let given = 0
  const queue: MessageQueue = {
    countsHeld: false,
    async receive({ waitMs }): Promise<QueueMessage[]> {
      receives.push(waitMs)
      await wait(answersAfterMs)
      return texts(receives.length).map((text) => ({ id: `m${++given}`, text, receipt: 'r', receivedCount }))
    },
    extend: async () => undefined,
    remove: async (messages) => {
      removed.push(...messages.map(({ id }) => id))
    },
    count: async () => 0,
    describe: async () => undefined,
    close: () => undefined,
  }
  const held = holdMessages(queue, { holdMs: 60_000, extendEveryMs: 20_000 })
  test.after(() => held.close())
  const pattern = parsePattern('**', { isUrl: false })
  const intake = makeIntake({ queue, held, place: { kind: 's3', bucket: 'data' }, pattern, holdMs: 60_000 })
  return { intake, held, receives, removed }
}

const tenOf = (text: string) => Array.from({ length: 10 }, () => text)

describe('what is taken from a queue at once', () => {
  it('is what comes within half a second after the first, however long that was waited for', async (test) => {
    const { intake, receives } = intakeOf(test, { texts: () => [testEvent()], answersAfterMs: 100 })
    const startedAtMs = performance.now()
    await intake.receive({ waitMs: 10_000, maxObjects: 100 }, signal)
    assert.ok(performance.now() - startedAtMs < 9_000)
    assert.ok(receives.length <= 7, `${receives.length}`)
    assert.deepEqual(receives.slice(0, 2), [10_000, 0])
  })

  it('is at most about 1,000 messages, also when none of them tells of an object', async (test) => {
    const { intake, held, removed } = intakeOf(test, { texts: () => tenOf(testEvent()) })
    await intake.receive({ waitMs: 0, maxObjects: 100 }, signal)
    assert.ok(held.count <= 1_000, `${held.count}`)
    const { count } = held
    await held.removeDone(signal)
    assert.equal(removed.length, count)
  })

  it('is at most about 8 MB', async (test) => {
    const { intake, held } = intakeOf(test, { texts: () => tenOf(testEvent(200_000)) })
    await intake.receive({ waitMs: 0, maxObjects: 100 }, signal)
    assert.ok(held.count >= 10 && held.count <= 50, `${held.count}`)
  })

  it('is as many objects as are asked for', async (test) => {
    const texts = (receive: number) => tenOf(s3Event('data', { key: `${receive}` }))
    const { intake, receives } = intakeOf(test, { texts })
    const { announced } = await intake.receive({ waitMs: 0, maxObjects: 15 }, signal)
    assert.deepEqual([announced.length, receives.length], [20, 2])
  })

  it('is remembered without what the messages say, unless that has to be kept', async (test) => {
    const texts = (receive: number) => (receive === 1 ? [s3Event('data', { key: 'a' }), testEvent()] : [])
    const textsHeld = async (receivedCount: number) => {
      const { intake } = intakeOf(test, { texts, receivedCount })
      const { announced } = await intake.receive({ waitMs: 0, maxObjects: 15 }, signal)
      return announced.map(({ held }) => [held.text, 'text' in held.message])
    }
    assert.deepEqual(await textsHeld(1), [[undefined, false]])
    const [[text]] = (await textsHeld(3)) as [[string]]
    assert.match(text, /ObjectCreated/)
  })
})

describe('an object that a message tells of', () => {
  const tooLong = '😀'.repeat(512)
  const reasons: [what: string, key: string, reason: RegExp][] = [
    ['is not there', 'missing', /^the object "missing" that the message tells of does not exist$/],
    ['has a name that nothing can be kept under', tooLong, /^the object .* has a name that is too long$/],
  ]
  for (const [what, key, reason] of reasons) {
    it(`is refused when it ${what}, with the third receive`, async (test) => {
      const store = objectsInMemory(new Map([[tooLong, 'etag']]))
      for (const receivedCount of [2, 3]) {
        const text = s3Event('data', { key })
        const texts = (receive: number) => (receive === 1 ? [text] : [])
        const { intake, held } = intakeOf(test, { texts, receivedCount })
        const announced = makeAnnouncedObjects(store, held, intake)
        const received = await intake.receive({ waitMs: 0, maxObjects: 10 }, signal)
        announced.add(received.announced, received.refused)
        await announced.lookUp(10, signal)
        const batches = announced.take(10, 1e9)
        if (receivedCount < 3) {
          assert.deepEqual([batches, held.count], [[], 0])
          continue
        }
        assert.equal(batches.length, 1)
        assert.match(batches[0]?.refused?.reason ?? '', reason)
        assert.equal(Buffer.from(batches[0]?.refused?.raw ?? []).toString(), text)
        assert.equal(held.count, 1)
      }
    })
  }
})
