// Reading a Kafka topic that is deleted and created again, or that has lost records: nothing of the new one is passed over, and what was
// never read is counted.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenOf } from '../../src/runner/delivery.ts'
import type { Batch, LostRecords, SourceReader } from '../../src/sources/source.ts'
import { assertGapless, positionsAfter, readAll } from './conformance.ts'
import { deleteRecordsBefore, deleteTopic } from './kafka-changes.ts'
import type { KafkaServer } from './kafka-server.ts'
import {
  idsOf,
  jsonRecords,
  numbers,
  readIds,
  shortPosition,
  sorted,
  sourceOf,
  topicWith,
  withReader,
} from './kafka-world.ts'

const longestMs = 30_000

/** Resolves when the new one can be produced to. */
export async function recreateTopic(server: KafkaServer, name: string, partitions: number): Promise<void> {
  await deleteTopic(server, name)
  const deadlineMs = Date.now() + longestMs
  // A real broker deletes in the background.
  for (;;) {
    try {
      return await server.createTopic(name, partitions)
    } catch (error) {
      if (Date.now() > deadlineMs) throw error
      await sleep(20)
    }
  }
}

function lossesOf(batches: Batch[]): LostRecords[] {
  return batches.flatMap(({ lost }) => lost ?? [])
}

async function readSome(reader: SourceReader, recordCount: number): Promise<Batch[]> {
  const signal = AbortSignal.timeout(longestMs)
  const batches: Batch[] = []
  while (idsOf(batches).length < recordCount) {
    batches.push(...(await reader.read({ maxRecords: 1_000, maxBytes: 1_000_000, waitMs: 100, signal })))
  }
  return batches
}

export function kafkaRecreation(running: () => KafkaServer): void {
  describe('reading a topic that was deleted and created again', () => {
    it('reads all of the new one where an earlier version of Penstock has stored the position, without the topic', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(20, 1), 1)
      const source = sourceOf(server, topic)
      const { batches: first } = await readAll(source, {})
      const [[name, position] = []] = Object.entries(positionsAfter(first))
      const stored = { [name!]: position!.replace(/ in .*$/, '') }
      // As it was left: nothing is read again.
      assert.deepEqual(idsOf((await readAll(source, stored)).batches), [])
      await recreateTopic(server, topic, 1)
      await server.produce(topic, jsonRecords(5, 1, 100))
      const { batches } = await readAll(source, stored)
      assert.deepEqual(sorted(idsOf(batches)), numbers(100, 105))
      assert.match(
        lossesOf(batches)[0]?.reason ?? '',
        /was created again, or the brokers have lost records; it is read from/,
      )
    })

    for (const strategy of ['from_beginning', 'from_latest'] as const) {
      it(`reads all of the new one when it was away meanwhile, also ${strategy}`, async () => {
        const server = running()
        const topic = await topicWith(server, [], 2)
        const source = sourceOf(server, topic, { config: { offset: { strategy } } })
        const { batches: started } = await readAll(source, {})
        await server.produce(topic, jsonRecords(20, 2))
        const { batches: first } = await readAll(source, positionsAfter(started))
        assert.equal(idsOf(first).length, 20)
        await recreateTopic(server, topic, 3)
        await server.produce(topic, jsonRecords(90, 3, 100))
        const { batches } = await readAll(source, positionsAfter([...started, ...first]))
        assert.deepEqual(sorted(idsOf(batches)), numbers(100, 190))
        assertGapless([...started, ...first, ...batches])
        const reason = `the topic "${topic}" was deleted and created again, and the new one is read from its beginning`
        assert.deepEqual(lossesOf(batches), [{ reason }, { reason }])
        // The same offsets are other records: the engine must not take them for repeated ones.
        const tokens = [...first, ...batches].map(({ partition, from, next }) =>
          tokenOf('pipe', [{ partition, from, next }]),
        )
        assert.equal(new Set(tokens).size, tokens.length)
        const again = await readAll(source, positionsAfter([...started, ...first, ...batches]))
        assert.deepEqual(again.batches, [])
      })
    }

    it('notices it while reading, between two fetches, although the new one is longer', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(10))
      await withReader(sourceOf(server, topic), {}, async (reader) => {
        assert.equal((await readIds(reader, 10)).length, 10)
        for (const round of [1, 2, 3]) {
          await recreateTopic(server, topic, 1)
          await server.produce(topic, jsonRecords(30, 1, round * 100))
          const batches = await readSome(reader, 30)
          assert.deepEqual(idsOf(batches), numbers(round * 100, round * 100 + 30))
          assert.equal(lossesOf(batches).length, 1)
        }
      })
    })

    it('says how many records of the earlier one were not read, of partitions that are gone too', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(90, 3), 3)
      await withReader(sourceOf(server, topic), {}, async (reader) => {
        const signal = AbortSignal.timeout(longestMs)
        const first = await reader.read({ maxRecords: 40, maxBytes: 1_000_000, waitMs: 5_000, signal })
        assert.ok(idsOf(first).length < 90)
        await recreateTopic(server, topic, 1)
        await server.produce(topic, jsonRecords(5, 1, 100))
        const batches: Batch[] = [...first]
        while (!idsOf(batches).includes(104) || lossesOf(batches).length < 3) {
          batches.push(...(await reader.read({ maxRecords: 40, maxBytes: 1_000_000, waitMs: 100, signal })))
        }
        assertGapless(batches)
        const ids = idsOf(batches)
        assert.equal(new Set(ids).size, ids.length)
        const lost = lossesOf(batches).map(({ records }) => (records && 'atLeast' in records ? records.atLeast : 0))
        const lostCount = lost.reduce((sum, count) => sum + count, 0)
        assert.equal(ids.filter((id) => id < 100).length + lostCount, 90)
      })
    })

    it('does not give records of the new one for a range of the earlier one', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(10))
      const source = sourceOf(server, topic)
      const { batches } = await readAll(source, {}, { maxRecords: 5 })
      const [, second] = batches
      assert.ok(second)
      await recreateTopic(server, topic, 1)
      await server.produce(topic, jsonRecords(20, 1, 100))
      const until = { [second.partition]: second.next }
      const again = await readAll(source, { [second.partition]: second.from }, {}, { until })
      assert.ok(again.ended)
      assert.deepEqual(idsOf(again.batches), [])
      assert.deepEqual(positionsAfter(again.batches), until)
      assert.deepEqual(
        lossesOf(again.batches).map(({ records }) => records),
        [{ atMost: 5 }],
      )
    })
  })

  describe('reading a topic that has lost records', () => {
    it('goes on with what is left, and says how many were deleted before they were read', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(10))
      await deleteRecordsBefore(server, topic, 6n)
      const source = sourceOf(server, topic)
      const { batches: fresh } = await readAll(source, {})
      assert.deepEqual([idsOf(fresh), lossesOf(fresh)], [[6, 7, 8, 9], []])
      const { batches } = await readAll(source, { [`${topic}/0`]: '4' }, { waitMs: 2_000 })
      assert.deepEqual(idsOf(batches), [6, 7, 8, 9])
      const reason = `records of the topic "${topic}" were deleted before they were read`
      assert.deepEqual(lossesOf(batches), [{ reason, records: { atMost: 2 } }])
    })

    it('goes on at the end of a partition that ends before what was read, and says so', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(5))
      const { batches: read } = await readAll(sourceOf(server, topic), {})
      const beyond = positionsAfter(read)[`${topic}/0`]!.replace('5', '100')
      await withReader(sourceOf(server, topic), { [`${topic}/0`]: beyond }, async (reader) => {
        const signal = AbortSignal.timeout(longestMs)
        const batches: Batch[] = []
        while (lossesOf(batches).length === 0) {
          batches.push(...(await reader.read({ maxRecords: 10, maxBytes: 1_000_000, waitMs: 100, signal })))
        }
        assert.deepEqual(idsOf(batches), [])
        assert.match(
          lossesOf(batches)[0]?.reason ?? '',
          /ends before what was read of it: the brokers have lost records/,
        )
        assert.equal(shortPosition(batches.at(-1)?.next), '5 after 1')
        await server.produce(topic, jsonRecords(3, 1, 5))
        assert.deepEqual(await readIds(reader, 3), [5, 6, 7])
      })
    })
  })
}
