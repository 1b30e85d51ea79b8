// Limits of one receive, and messages about objects that cannot be loaded.
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
  /** Answer to the n-th receive. */
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
  const intake = makeIntake({ queue, held, origin: { kind: 's3', bucket: 'data' }, pattern, holdMs: 60_000 })
  return { intake, held, receives, removed }
}

const tenOf = (text: string) => Array.from({ length: 10 }, () => text)

describe('one receive', () => {
  it('gathers messages for half a second after the first', async (test) => {
    const { intake, receives } = intakeOf(test, { texts: () => [testEvent()], answersAfterMs: 100 })
    const startedAtMs = performance.now()
    await intake.receive({ waitMs: 10_000, maxObjects: 100 }, signal)
    assert.ok(performance.now() - startedAtMs < 9_000)
    assert.ok(receives.length <= 7, `${receives.length}`)
    assert.deepEqual(receives.slice(0, 2), [10_000, 0])
  })

  it('is limited to about 1,000 messages, also when none of them announces an object', async (test) => {
    const { intake, held, removed } = intakeOf(test, { texts: () => tenOf(testEvent()) })
    await intake.receive({ waitMs: 0, maxObjects: 100 }, signal)
    assert.ok(held.count <= 1_000, `${held.count}`)
    const { count } = held
    await held.removeDone(signal)
    assert.equal(removed.length, count)
  })

  it('is limited to about 8 MB', async (test) => {
    const { intake, held } = intakeOf(test, { texts: () => tenOf(testEvent(200_000)) })
    await intake.receive({ waitMs: 0, maxObjects: 100 }, signal)
    assert.ok(held.count >= 10 && held.count <= 50, `${held.count}`)
  })

  it('is limited to the requested number of objects', async (test) => {
    const texts = (receive: number) => tenOf(s3Event('data', { key: `${receive}` }))
    const { intake, receives } = intakeOf(test, { texts })
    const { announced } = await intake.receive({ waitMs: 0, maxObjects: 15 }, signal)
    assert.deepEqual([announced.length, receives.length], [20, 2])
  })

  it('keeps the text of a message only if it may be rejected', async (test) => {
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

describe('an announced object', () => {
  const tooLong = '😀'.repeat(512)
  const reasons: [what: string, key: string, reason: RegExp][] = [
    ['is not there', 'missing', /^the object "missing" that the message announces does not exist$/],
    ['has a name that nothing can be kept under', tooLong, /^the object .* has a name that is too long$/],
  ]
  for (const [what, key, reason] of reasons) {
    it(`is rejected when it ${what}, with the third receive`, async (test) => {
      const store = objectsInMemory(new Map([[tooLong, 'etag']]))
      for (const receivedCount of [2, 3]) {
        const text = s3Event('data', { key })
        const texts = (receive: number) => (receive === 1 ? [text] : [])
        const { intake, held } = intakeOf(test, { texts, receivedCount })
        const announced = makeAnnouncedObjects(store, held, intake)
        const received = await intake.receive({ waitMs: 0, maxObjects: 10 }, signal)
        announced.add(received.announced, received.rejected)
        await announced.lookUp(10, signal)
        const batches = announced.take(10, 1e9)
        if (receivedCount < 3) {
          assert.deepEqual([batches, held.count], [[], 0])
          continue
        }
        assert.equal(batches.length, 1)
        assert.match(batches[0]?.rejected?.reason ?? '', reason)
        assert.equal(Buffer.from(batches[0]?.rejected?.raw ?? []).toString(), text)
        assert.equal(held.count, 1)
      }
    })
  }
})
