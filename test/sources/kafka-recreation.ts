// Kafka topics that are recreated or have lost records: no record of the new topic is skipped, and lost records are counted.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenOf } from '../../src/runner/delivery-token.ts'
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

/** Resolves when the new topic accepts records. */
export async function recreateTopic(server: KafkaServer, name: string, partitions: number): Promise<void> {
  await deleteTopic(server, name)
  const deadlineMs = Date.now() + longestMs
  // Real brokers delete asynchronously.
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
    it('reads all of the new topic when an earlier version of Penstock stored the position without topic id', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(20, 1), 1)
      const source = sourceOf(server, topic)
      const { batches: first } = await readAll(source, {})
      const [[name, position] = []] = Object.entries(positionsAfter(first))
      const stored = { [name!]: position!.replace(/ in .*$/, '') }
      // The position as it was: nothing is read again.
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
      it(`reads all of a topic that was recreated while no reader was open, also ${strategy}`, async () => {
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
        // The same offsets are other records, and must not be deduplicated.
        const tokens = [...first, ...batches].map(({ partition, from, next }) =>
          tokenOf('pipe', [{ partition, from, next }]),
        )
        assert.equal(new Set(tokens).size, tokens.length)
        const again = await readAll(source, positionsAfter([...started, ...first, ...batches]))
        assert.deepEqual(again.batches, [])
      })
    }

    it('is detected between two fetches, also when the new topic is longer', async () => {
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

    it('reports how many records of the earlier topic were not read, including removed partitions', async () => {
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

    it('does not return records of the new topic for a range of the earlier one', async () => {
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
    it('continues after deleted records, and reports how many were lost', async () => {
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

    it('continues at the end of a partition that is shorter than the position, and reports it', async () => {
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
