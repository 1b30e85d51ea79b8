// Reading from Kafka: every record exactly once without gaps, from given positions, within the limits.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NotConnected } from '../../src/source-shapes/source-failure.ts'
import type { Batch, Positions, ReadableSource } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress, readAll } from './conformance.ts'
import type { KafkaServer } from './kafka-server.ts'
import {
  idsOf,
  jsonRecords,
  numbers,
  readIds,
  readStarts,
  shortPosition,
  shortPositions,
  sorted,
  sourceOf,
  topicWith,
  withReader,
} from './kafka-world.ts'

const limits = { maxRecords: 1_000, maxBytes: 1_000_000, waitMs: 200 }

export function kafkaReading(running: () => KafkaServer, stop: () => Promise<void>): void {
  describe('reading', () => {
    it('returns every record of every partition once, in order and without gaps', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(3_000, 3), 3)
      const other = await topicWith(server, jsonRecords(100, 1, 3_000))
      const { batches, ended } = await readAll(sourceOf(server, `${topic},${other}`), {})
      assertGapless(batches)
      assert.equal(ended, false)
      for (const partition of new Set(batches.map((batch) => batch.partition))) {
        const ids = idsOf(batches.filter((batch) => batch.partition === partition))
        assert.deepEqual(
          ids,
          ids.toSorted((a, b) => a - b),
        )
      }
      assert.deepEqual(sorted(idsOf(batches)), numbers(0, 3_100))
    })

    it('returns the metadata of a record', async () => {
      const server = running()
      const timestampMs = Date.now() - 60_000
      const topic = await topicWith(server, [{ partition: 1, key: 'a key', value: Buffer.from('{}'), timestampMs }], 2)
      const { batches } = await readAll(sourceOf(server, topic), {})
      const [record] = batches.flatMap((batch) => [...(batch.records ?? [])])
      assert.deepEqual(record?.meta, {
        _topic: topic,
        _partition: 1,
        _offset: 0,
        _timestamp: new Date(timestampMs),
        _key: Buffer.from('a key'),
        _headers: {},
      })
    })

    it('resumes after every batch', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(40, 2), 2)
      const source = sourceOf(server, topic)
      const batches: Batch[] = []
      let positions: Positions = {}
      for (;;) {
        const read = await withReader(source, positions, (reader) =>
          // Each reader connects first.
          reader.read({ ...limits, maxRecords: 7, waitMs: 2_000, signal: AbortSignal.timeout(10_000) }),
        )
        if (read.length === 0) break
        batches.push(...read)
        positions = { ...positions, ...Object.fromEntries(read.map(({ partition, next }) => [partition, next])) }
      }
      assertGapless(batches)
      assert.deepEqual(sorted(idsOf(batches)), numbers(0, 40))
      assert.deepEqual(shortPositions(positions), { [`${topic}/0`]: '20', [`${topic}/1`]: '20' })
    })

    for (const [what, small] of [
      ['records', { maxRecords: 3 }],
      ['bytes', { maxBytes: 100 }],
    ] as const) {
      it(`limits the ${what} of a read`, async () => {
        const server = running()
        const topic = await topicWith(server, jsonRecords(60, 3), 3)
        const { batches } = await readAll(sourceOf(server, topic), {}, small)
        assertGapless(batches)
        assert.deepEqual(sorted(idsOf(batches)), numbers(0, 60))
        assert.ok(batches.length >= 60 / 3, `${batches.length} batches`)
        for (const { records = [] } of batches) {
          const sizeBytes = [...records].reduce((sum, { value }) => sum + value.length, 0)
          assert.ok(what === 'records' ? records.length <= 3 : sizeBytes <= 100)
        }
      })
    }

    it('returns a record larger than the limit alone', async () => {
      const server = running()
      const large = { partition: 0, value: Buffer.from(JSON.stringify({ id: 1, text: 'x'.repeat(5_000) })) }
      const topic = await topicWith(server, [...jsonRecords(1), large, ...jsonRecords(1, 1, 2)])
      const { batches } = await readAll(sourceOf(server, topic), {}, { maxBytes: 1_000 })
      assertGapless(batches)
      assert.deepEqual(idsOf(batches), [0, 1, 2])
      const ofLarge = batches.find((batch) => idsOf([batch]).includes(1))
      assert.equal(ofLarge?.records?.length, 1)
    })

    it('reads the partitions in round robin', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(90, 3), 3)
      await withReader(sourceOf(server, topic), {}, async (reader) => {
        const served: string[] = []
        while (served.length < 6) {
          const read = await reader.read({ ...limits, maxRecords: 2, signal: AbortSignal.timeout(10_000) })
          served.push(...read.map(({ partition }) => partition))
        }
        assert.equal(new Set(served.slice(0, 3)).size, 3, served.join(' '))
      })
    })

    it('waits for records, and returns them when they arrive', async () => {
      const server = running()
      const topic = await topicWith(server, [])
      await withReader(sourceOf(server, topic), {}, async (reader) => {
        const signal = AbortSignal.timeout(10_000)
        await readStarts(reader)
        assert.deepEqual(await reader.read({ ...limits, waitMs: 50, signal }), [])
        const reading = reader.read({ ...limits, waitMs: 9_000, signal })
        await server.produce(topic, jsonRecords(2))
        assert.deepEqual(idsOf(await reading)[0], 0)
      })
    })

    it('stops waiting when the signal aborts, without loss', async () => {
      const server = running()
      const topic = await topicWith(server, [])
      await withReader(sourceOf(server, topic), {}, async (reader) => {
        await readStarts(reader)
        const startedAtMs = performance.now()
        const stopped = { ...limits, waitMs: 20_000, signal: AbortSignal.timeout(100) }
        await assert.rejects(reader.read(stopped), NotConnected)
        assert.ok(performance.now() - startedAtMs < 10_000)
        await server.produce(topic, jsonRecords(3))
        assert.deepEqual(await readIds(reader, 3), [0, 1, 2])
      })
    })

    it('begins at the end with from_latest, and stores that position', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(5))
      const source = sourceOf(server, topic, { config: { offset: { strategy: 'from_latest' } } })
      const started = await withReader(source, {}, (reader) =>
        reader.read({ ...limits, signal: AbortSignal.timeout(10_000) }),
      )
      assert.deepEqual(
        started.map(({ partition, from, next, records = [] }) => [
          partition,
          shortPosition(from),
          shortPosition(next),
          [...records],
        ]),
        [[`${topic}/0`, '5 of 1', '5 of 1', []]],
      )
      await server.produce(topic, jsonRecords(2, 1, 5))
      const { batches } = await readAll(source, { [`${topic}/0`]: '5 of 1' })
      assert.deepEqual(idsOf(batches), [5, 6])
    })

    for (const strategy of ['from_latest', 'from_timestamp'] as const) {
      it(`reads a partition from its beginning that was added while no reader was open, also ${strategy}`, async () => {
        const server = running()
        const timestampMs = Date.now() - 3_600_000
        const old = jsonRecords(10, 2).map((record) => ({ ...record, timestampMs }))
        const topic = await topicWith(server, old, 2)
        const timestamp = new Date(Date.now() - 60_000).toISOString().slice(0, 16)
        const offset = strategy === 'from_latest' ? { strategy } : { strategy, timestamp }
        const source = sourceOf(server, topic, { config: { offset } })
        const first = await withReader(source, {}, (reader) =>
          reader.read({ ...limits, signal: AbortSignal.timeout(10_000) }),
        )
        const starts = Object.fromEntries(first.map(({ partition, next }) => [partition, next]))
        assert.deepEqual(shortPositions(starts), { [`${topic}/0`]: '5 of 2', [`${topic}/1`]: '5 of 2' })
        // As if partition 1 had not existed yet.
        const { batches } = await readAll(source, { [`${topic}/0`]: '5 of 1' })
        assert.deepEqual(idsOf(batches), [1, 3, 5, 7, 9])
        const added = batches.find(({ partition }) => partition === `${topic}/1`)
        assert.equal(shortPosition(added?.from), '0 of 1')
      })
    }

    it('commits offsets to the consumer group', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(10, 2), 2)
      const consumerGroup = `group-of-${topic}`
      const positions = { [`${topic}/0`]: '3', [`${topic}/1`]: '5 of 2' }
      await withReader(sourceOf(server, topic, { config: { consumerGroup } }), {}, async (reader) => {
        await reader.acknowledge({ [`${topic}/0`]: '2' })
        await reader.acknowledge(positions)
      })
      assert.deepEqual(await server.committedOffsets(consumerGroup), { [`${topic}/0`]: 3, [`${topic}/1`]: 5 })
    })

    it('rejects with failures that only the user can fix', async () => {
      const server = running()
      const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(10_000) }
      const topic = await topicWith(server, [])
      const failing: [ReadableSource, string][] = [
        [sourceOf(server, 'no-such-topic'), 'not_found'],
        [sourceOf(server, topic, { secrets: { credentials: { ...server.powerlessUser } } }), 'permission_missing'],
        [
          sourceOf(server, topic, { secrets: { credentials: { username: 'nobody', password: 'no-password' } } }),
          'credentials_refused',
        ],
        [sourceOf(server, topic, { caCertificate: null }), 'certificate_untrusted'],
      ]
      for (const [source, code] of failing) {
        await assert.rejects(source.open({}, connectOptions), { name: 'ProbeFailure', code })
      }
    })

    it('rejects with NotConnected when the server has stopped', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(1))
      const source = sourceOf(server, topic)
      await withReader(source, {}, async (reader) => {
        assert.deepEqual(await readIds(reader, 1), [0])
        await stop()
        await assert.rejects(readIds(reader, 1), NotConnected)
        await assert.rejects(reader.acknowledge({ [`${topic}/0`]: '1' }), NotConnected)
      })
      const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(10_000) }
      await assert.rejects(source.open({}, connectOptions), NotConnected)
    })
  })
}
