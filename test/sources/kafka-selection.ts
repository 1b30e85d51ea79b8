// Reading a selection: the partitions of one of several readers, and exact ranges.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeAccess } from '../../src/sources/kafka/kafka-connection.ts'
import { openKafkaReader } from '../../src/sources/kafka/kafka-reader.ts'
import { EndOfInput, type Positions, type ReadableSource, type SourceReader } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress, positionsAfter, readAll } from './conformance.ts'
import { deleteRecordsBefore, growTopic, inTransaction, messages } from './kafka-changes.ts'
import type { KafkaServer } from './kafka-server.ts'
import {
  configOf,
  idsOf,
  jsonRecords,
  numbers,
  readStarts,
  shortPositions,
  sorted,
  sourceOf,
  strictContext,
  topicWith,
} from './kafka-world.ts'

const limits = { maxRecords: 1_000, maxBytes: 1_000_000, waitMs: 200 }

/** Asserts that the read ended at the end of the range. */
async function readUntil(
  source: ReadableSource,
  positions: Positions,
  until: Positions,
  few: Partial<typeof limits> = {},
): Promise<number[]> {
  const { batches, ended } = await readAll(source, positions, few, { until })
  assert.ok(ended, 'the range has an end')
  assertGapless(batches)
  assert.deepEqual({ ...until, ...positionsAfter(batches) }, until)
  return idsOf(batches)
}

export function kafkaSelection(running: () => KafkaServer): void {
  describe('reading a selection', () => {
    it('assigns every partition to exactly one reader, evenly', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(120, 6), 6)
      const source = sourceOf(server, topic)
      for (const count of [1, 2, 3, 5, 8]) {
        const assigned = await Promise.all(
          numbers(0, count).map(
            async (index) => (await readAll(source, {}, {}, { assignment: { index, count } })).batches,
          ),
        )
        assert.deepEqual(sorted(assigned.flatMap(idsOf)), numbers(0, 120))
        const sizes = assigned.map((batches) => new Set(batches.map(({ partition }) => partition)).size)
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `${sizes}`)
      }
    })

    it('resumes from positions of other readers, when their number changes', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(60, 6), 6)
      const source = sourceOf(server, topic)
      let positions: Positions = {}
      const ids: number[] = []
      for (const [round, count] of [1, 3, 2, 1].entries()) {
        const produced = (round + 1) * 60
        // On a busy machine, a read can end before records arrive.
        for (let rounds = 0; ids.length < produced && rounds < 20; rounds++) {
          for (const index of numbers(0, count)) {
            const { batches } = await readAll(source, positions, {}, { assignment: { index, count } })
            positions = { ...positions, ...positionsAfter(batches) }
            ids.push(...idsOf(batches))
          }
        }
        await server.produce(topic, jsonRecords(60, 6, produced))
      }
      assert.deepEqual(sorted(ids), numbers(0, 240))
    })

    it('begins at the end of each assignment with from_latest, also when others have begun', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(20, 2), 2)
      const source = sourceOf(server, topic, { config: { offset: { strategy: 'from_latest' } } })
      let positions: Positions = {}
      for (const index of [0, 1]) {
        const { batches } = await readAll(source, positions, {}, { assignment: { index, count: 2 } })
        assert.deepEqual(idsOf(batches), [])
        positions = { ...positions, ...positionsAfter(batches) }
      }
      assert.deepEqual(shortPositions(positions), { [`${topic}/0`]: '10 of 2', [`${topic}/1`]: '10 of 2' })
    })

    it('reads a partition from its beginning that was added while its reader was closed', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(10))
      const source = sourceOf(server, topic, { config: { offset: { strategy: 'from_latest' } } })
      const readBoth = async (positions: Positions): Promise<{ ids: number[]; positions: Positions }> => {
        const assigned = await Promise.all(
          [0, 1].map((index) => readAll(source, positions, { waitMs: 2_000 }, { assignment: { index, count: 2 } })),
        )
        const batches = assigned.flatMap(({ batches }) => batches)
        return { ids: idsOf(batches), positions: { ...positions, ...positionsAfter(batches) } }
      }
      const first = await readBoth({})
      assert.deepEqual([first.ids, shortPositions(first.positions)], [[], { [`${topic}/0`]: '10 of 1' }])
      await growTopic(server, topic, 2)
      await server.produce(topic, jsonRecords(6, 2, 10))
      const second = await readBoth(first.positions)
      assert.deepEqual(sorted(second.ids), numbers(10, 16))
      assert.deepEqual(shortPositions(second.positions), { [`${topic}/0`]: '13 of 1', [`${topic}/1`]: '3 of 1' })
      const until = { [`${topic}/1`]: '3 of 1' }
      assert.deepEqual(await readUntil(source, { [`${topic}/1`]: '1 of 1' }, until), [13, 15])
      // The reader that has the partitions now.
      await server.produce(topic, jsonRecords(2, 2, 16))
      assert.deepEqual(sorted(idsOf((await readAll(source, second.positions)).batches)), [16, 17])
    })

    it('reads new partitions of its assignment from their beginning, and no others', async () => {
      const server = running()
      const topic = await topicWith(server, [])
      const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) }
      const config = { ...configOf(server, topic), offset: { strategy: 'from_latest' as const } }
      const open = (index: number): Promise<SourceReader> => {
        const access = makeAccess(config, { credentials: { ...server.user } }, strictContext, connectOptions)
        return openKafkaReader(access, {}, { refreshMs: 50, selection: { assignment: { index, count: 2 } } })
      }
      const readers = await Promise.all([open(0), open(1)])
      try {
        await growTopic(server, topic, 4)
        await server.produce(topic, jsonRecords(40, 4))
        const { signal } = connectOptions
        const found: number[][] = [[], []]
        while (found.flat().length < 40 && !signal.aborted) {
          for (const [index, reader] of readers.entries()) {
            found[index]!.push(...idsOf(await reader.read({ ...limits, waitMs: 100, signal })))
          }
        }
        assert.deepEqual(sorted(found.flat()), numbers(0, 40))
        assert.deepEqual(
          found.map(({ length }) => length),
          [20, 20],
        )
      } finally {
        await Promise.all(readers.map((reader) => reader.close()))
      }
    })

    it('reads exactly a range, with any limit', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(40, 2), 2)
      const other = await topicWith(server, jsonRecords(10))
      const source = sourceOf(server, `${topic},${other}`)
      const from = { [`${topic}/0`]: '3', [`${topic}/1`]: '7' }
      const until = { [`${topic}/0`]: '11', [`${topic}/1`]: '8' }
      for (const few of [{}, { maxRecords: 1 }, { maxBytes: 70 }]) {
        const ids = await readUntil(source, from, until, few)
        assert.deepEqual(sorted(ids), [6, 8, 10, 12, 14, 15, 16, 18, 20])
      }
      const { batches } = await readAll(source, from, {}, { until, assignment: { index: 1, count: 7 } })
      assert.equal(idsOf(batches).length, 9, 'the reader that has the partitions now')
    })

    it('ends an empty range', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(5))
      for (const until of [{}, { [`${topic}/0`]: '3' }, { [`${topic}/0`]: '2' }]) {
        const signal = AbortSignal.timeout(10_000)
        const connectOptions = { egress: loopbackEgress, signal }
        const reader = await sourceOf(server, topic).open({ [`${topic}/0`]: '3' }, connectOptions, { until })
        await assert.rejects(reader.read({ ...limits, signal }), EndOfInput)
        await reader.close()
      }
    })

    it('reads ranges of aborted records, and ranges that end within a transaction', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(2))
      await inTransaction(server, messages(topic, [100, 101]), 'abort')
      await inTransaction(server, messages(topic, [2, 3]), 'commit')
      const source = sourceOf(server, topic)
      const name = `${topic}/0`
      assert.deepEqual(await readUntil(source, { [name]: '2' }, { [name]: '5' }), [])
      assert.deepEqual(await readUntil(source, { [name]: '2' }, { [name]: '3' }), [])
      assert.deepEqual(await readUntil(source, { [name]: '3' }, { [name]: '4' }), [])
      assert.deepEqual(await readUntil(source, { [name]: '1' }, { [name]: '6' }), [1, 2])
      // The marker of the last transaction.
      assert.deepEqual(await readUntil(source, { [name]: '7' }, { [name]: '8' }), [])
    })

    it('reads a range of a topic that the source no longer names', async () => {
      const server = running()
      const [topic, other] = [await topicWith(server, jsonRecords(5)), await topicWith(server, [])]
      const name = `${topic}/0`
      assert.deepEqual(await readUntil(sourceOf(server, other), { [name]: '1' }, { [name]: '3' }), [1, 2])
    })

    it('reads the rest of a range, and reports how many records are gone', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(10))
      await deleteRecordsBefore(server, topic, 6n)
      const source = sourceOf(server, topic)
      const rangeOf = async (name: string, from: string, until: string): Promise<[number[], unknown[]]> => {
        const { batches } = await readAll(source, { [name]: from }, { waitMs: 10_000 }, { until: { [name]: until } })
        assertGapless(batches)
        assert.deepEqual(positionsAfter(batches), { [name]: until })
        return [idsOf(batches), batches.flatMap(({ lost }) => (lost ? [lost.records] : []))]
      }
      const name = `${topic}/0`
      assert.deepEqual(await rangeOf(name, '4', '8'), [[6, 7], [{ atMost: 2 }]])
      assert.deepEqual(await rangeOf(name, '2', '5'), [[], [{ atMost: 3 }]])
      assert.deepEqual(await rangeOf(`${topic}/1`, '4', '8'), [[], [{ atMost: 4 }]])
      assert.deepEqual(await rangeOf(name, '8', '12'), [[8, 9], [{ atMost: 2 }]])
    })

    it('returns the lag', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(30, 3), 3)
      const signal = AbortSignal.timeout(20_000)
      const reader = await sourceOf(server, topic).open({}, { egress: loopbackEgress, signal })
      try {
        assert.equal(reader.lag(), undefined)
        await readStarts(reader)
        const first = await reader.read({ ...limits, maxRecords: 4, waitMs: 9_000, signal })
        assert.equal(reader.lag(), 30 - idsOf(first).length)
        let given = idsOf(first).length
        while (given < 30) given += idsOf(await reader.read({ ...limits, signal })).length
        assert.equal(reader.lag(), 0)
        await server.produce(topic, jsonRecords(6, 3))
        assert.equal((await reader.read({ ...limits, maxRecords: 1, waitMs: 5_000, signal })).length, 1)
        assert.ok((reader.lag() ?? 0) > 0)
      } finally {
        await reader.close()
      }
      const until = { [`${topic}/1`]: '7' }
      const bounded = await sourceOf(server, topic).open(
        { [`${topic}/1`]: '2' },
        { egress: loopbackEgress, signal },
        { until },
      )
      assert.equal(bounded.lag(), 5)
      await bounded.close()
    })
  })
}
