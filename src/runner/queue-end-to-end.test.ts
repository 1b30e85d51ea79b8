// Workers that follow a queue, with an S3 and an SQS server: whenever they are killed, every line is in the table once, and the
// queue is empty at the end.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { makeRunnerWorld, type RunnerWorld } from '../../test/runner-world/runner-world.ts'
import { loopbackEgress } from '../../test/sources/conformance.ts'
import type { QueueWorld } from '../../test/sources/queue-conformance.ts'
import { startSqsWorld } from '../../test/sources/queue-worlds.ts'
import { notARow } from './queue/given-up.ts'

const holdTimes = { holdMs: 1_000, extendEveryMs: 300 }

describe('a queue of SQS', () => {
  let sqs: QueueWorld
  before(async () => {
    sqs = await startSqsWorld()
  })
  after(() => sqs.stop())

  interface Followed {
    world: RunnerWorld
    /** Puts an object with two lines, and sends its event. */
    put(key: string, copies: number): Promise<string[]>
    send(text: string): Promise<void>
    isEmpty(): Promise<boolean>
  }

  async function follow(): Promise<Followed> {
    const [bucket, queueUrl] = [await sqs.createBucket(), await sqs.createQueue()]
    const source = sqs.makeSource(bucket, 'in/**', { queueUrl }, holdTimes)
    const world = makeRunnerWorld({
      kind: 'objectStorage',
      hasQueue: true,
      options: {
        batchSize: { rows: 100, bytes: 200, note: () => undefined },
        encoders: lineEncoders({ pieceBytes: [20, 100] }),
      },
      settings: { object_storage_polling_interval_ms: 200 },
      makeSource: () => ({
        ...source,
        open: (positions, surroundings, selection) =>
          source.open(positions, { ...surroundings, egress: loopbackEgress }, selection),
      }),
    })
    return {
      world,
      async put(key, copies) {
        const lines = [`${key} is the first line`, `${key} is the second line`]
        await sqs.put(bucket, key, Buffer.from(lines.map((line) => `${line}\n`).join('')))
        for (let sent = 0; sent < copies; sent++) await sqs.send(queueUrl, sqs.eventOf(bucket, key))
        return lines
      },
      send: (text) => sqs.send(queueUrl, text),
      async isEmpty() {
        const { waiting, held } = await sqs.counts(queueUrl)
        return waiting + held === 0
      },
    }
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + 60_000
    while (!(await isSo())) {
      assert.ok(performance.now() < endMs, 'it did not come to pass')
      await wait(50)
    }
  }

  it('is followed by two workers that are killed again and again', async () => {
    const { world, put, isEmpty } = await follow()
    const lines: string[] = []
    for (let index = 0; index < 10; index++) lines.push(...(await put(`in/before ${index}`, index % 2)))
    for (const lifeMs of [50, 120, 200, 320]) {
      const workers = [0, 1].map((workerIndex) => world.newWorker({ workerIndex, workerCount: 2 }))
      const ends = workers.map((worker) => worker.run())
      for (let index = 0; index < 5; index++) lines.push(...(await put(`in/${lifeMs}/${index}`, 1 + (index % 2))))
      await wait(lifeMs)
      for (const worker of workers) worker.abort()
      await Promise.all(ends)
    }
    const worker = world.newWorker()
    const ended = worker.run()
    // Some objects were only listed: the queue may be empty before they are loaded.
    await until(async () => (await isEmpty()) && world.engine.lines.length >= lines.length)
    worker.stop()
    assert.deepEqual(await ended, { end: 'stopped' })
    assert.deepEqual(world.engine.lines.toSorted(), lines.toSorted())
    assert.equal(world.store.deliveries.size, 0)
  })

  it('moves only useless messages to the rejected rows', async () => {
    const { world, put, send, isEmpty } = await follow()
    await send('nonsense')
    const worker = world.newWorker()
    const ended = worker.run()
    const lines = await put('in/good', 1)
    await until(isEmpty)
    worker.stop()
    assert.deepEqual(await ended, { end: 'stopped' })
    assert.deepEqual(world.engine.lines.toSorted(), lines)
    const kept = [...world.engine.badRows.values()]
    assert.deepEqual(
      kept.map(({ raw, meta }) => [Buffer.from(raw).toString(), meta]),
      [['nonsense', notARow]],
    )
  })
})
