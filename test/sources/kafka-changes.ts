// Reading Kafka topics that change: transactions, tombstones, deleted records, and new partitions.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { Admin, type MessageToProduce, ProduceAcks, Producer } from '@platformatic/kafka'
import { makeAccess } from '../../src/sources/kafka/kafka-connection.ts'
import { openKafkaReader } from '../../src/sources/kafka/kafka-reader.ts'
import type { Batch } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress, probe, readAll } from './conformance.ts'
import type { KafkaServer } from './kafka-server.ts'
import { waitForLeaders, waitForMarks } from './kafka-waits.ts'
import {
  configOf,
  idsOf,
  jsonRecords,
  numbers,
  readIds,
  shortPosition,
  sorted,
  sourceOf,
  strictContext,
  topicWith,
  withReader,
} from './kafka-world.ts'

export function kafkaChanges(running: () => KafkaServer): void {
  describe('reading changes', () => {
    it('skips aborted records and transaction markers', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(3))
      await inTransaction(server, messages(topic, [100, 101]), 'abort')
      await inTransaction(server, messages(topic, [3, 4]), 'commit')
      await inTransaction(server, messages(topic, [102]), 'abort')
      await server.produce(topic, jsonRecords(2, 1, 5))
      const source = sourceOf(server, topic)
      for (const limits of [{}, { maxRecords: 1 }]) {
        const { batches } = await readAll(source, {}, limits)
        assertGapless(batches)
        assert.deepEqual(idsOf(batches), [0, 1, 2, 3, 4, 5, 6])
        // Seven records, three aborted ones, and a marker for each transaction.
        assert.equal(shortPosition(batches.at(-1)?.next), '13')
      }
      const { samples } = await probe(source)
      assert.deepEqual(
        samples[0]?.rows.map(({ id }) => id),
        [0, 1, 2, 3, 4, 5, 6],
      )
    })

    it('moves past an aborted transaction at the end of the log', async () => {
      const server = running()
      const topic = await topicWith(server, [])
      await inTransaction(server, messages(topic, [100, 101]), 'abort')
      const { batches } = await readAll(sourceOf(server, topic), {})
      assert.deepEqual(idsOf(batches), [])
      assert.equal(shortPosition(batches.at(-1)?.next), '3')
      assert.deepEqual((await probe(sourceOf(server, topic))).samples, [{ rows: [], fields: [] }])
    })

    it('skips tombstones, and returns headers', async () => {
      const server = running()
      const topic = await topicWith(server, [])
      const names = ['trace', '__proto__', 'trace']
      const headers = new Map(names.map((name, index) => [Buffer.from(name), Buffer.from(`${index} of ${name}`)]))
      await produce(server, [
        { topic, partition: 0, key: Buffer.from('a'), value: Buffer.from('{"id":1}'), headers },
        { topic, partition: 0, key: Buffer.from('a') },
        { topic, partition: 0, key: Buffer.from('b'), value: Buffer.from('{"id":2}') },
      ])
      const { batches } = await readAll(sourceOf(server, topic), {})
      assert.deepEqual(idsOf(batches), [1, 2])
      assert.equal(shortPosition(batches.at(-1)?.next), '3')
      const headerValues = Object.entries(
        batches.find(({ records }) => records?.length)?.records?.at(0)?.meta._headers ?? {},
      )
      assert.deepEqual(headerValues, [
        ['trace', ['0 of trace', '2 of trace']],
        ['__proto__', ['1 of __proto__']],
      ])
      const { samples } = await probe(sourceOf(server, topic))
      assert.deepEqual(samples[0]?.rows, [{ id: 1 }, { id: 2 }])
    })

    for (const strategy of ['from_beginning', 'from_latest'] as const) {
      it(`finds new partitions, and reads them from the beginning, also ${strategy}`, async () => {
        const server = running()
        const topic = await topicWith(server, [])
        const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) }
        const config = { ...configOf(server, topic), offset: { strategy } }
        const access = makeAccess(config, { credentials: { ...server.user } }, strictContext, connectOptions)
        const reader = await openKafkaReader(access, {}, { refreshMs: 50 })
        try {
          await growTopic(server, topic, 3)
          await server.produce(topic, jsonRecords(30, 3))
          const batches: Batch[] = []
          const { signal } = connectOptions
          while (idsOf(batches).length < 30 && !signal.aborted) {
            batches.push(...(await reader.read({ maxRecords: 100, maxBytes: 100_000, waitMs: 100, signal })))
          }
          assertGapless(batches)
          for (const [, ofPartition] of Map.groupBy(batches, ({ partition }) => partition)) {
            assert.match(shortPosition(ofPartition[0]?.from) ?? '', /^0( of 1)?$/)
          }
          assert.deepEqual(sorted(idsOf(batches)), numbers(0, 30))
        } finally {
          await reader.close()
        }
      })
    }

    it('reports a deleted topic', async () => {
      const server = running()
      const topic = await topicWith(server, jsonRecords(1))
      await withReader(sourceOf(server, topic), {}, async (reader) => {
        assert.deepEqual(await readIds(reader, 1), [0])
        await deleteTopic(server, topic)
        await assert.rejects(readIds(reader, 1), { name: 'ProbeFailure', code: 'not_found' })
      })
    })
  })
}

export function messages(topic: string, ids: number[]): MessageToProduce[] {
  return ids.map((id) => ({ topic, partition: 0, value: Buffer.from(JSON.stringify({ id })) }))
}

/** Produces to one topic. Resolves when the transaction marker is in the log: brokers respond before they write it. */
export async function inTransaction(
  server: KafkaServer,
  sent: MessageToProduce[],
  end: 'commit' | 'abort',
): Promise<void> {
  const producer = new Producer({
    clientId: 'test',
    bootstrapBrokers: [server.listeners.plain],
    idempotent: true,
    transactionalId: `transaction-${randomUUID()}`,
  })
  try {
    const transaction = await producer.beginTransaction()
    await transaction.send({ messages: sent })
    await transaction[end]()
  } finally {
    await producer.close()
  }
  await withAdmin(server, (admin) => waitForMarks(admin, sent[0]!.topic))
}

async function produce(server: KafkaServer, sent: MessageToProduce[]): Promise<void> {
  const producer = new Producer({ clientId: 'test', bootstrapBrokers: [server.listeners.plain] })
  try {
    await producer.send({ messages: sent, acks: ProduceAcks.ALL })
  } finally {
    await producer.close()
  }
}

/** Resolves when the new partitions accept records. */
export async function growTopic(server: KafkaServer, name: string, count: number): Promise<void> {
  // Null lets the brokers assign replicas, which the types of the library do not allow.
  const more = { name, count, assignments: null as never }
  await withAdmin(server, (admin) => admin.createPartitions({ topics: [more] }))
  // A new client: the first one caches the partition count.
  await withAdmin(server, (admin) => waitForLeaders(admin, name, count))
}

export async function deleteRecordsBefore(server: KafkaServer, name: string, offset: bigint): Promise<void> {
  await withAdmin(server, (admin) =>
    admin.deleteRecords({ topics: [{ name, partitions: [{ partition: 0, offset }] }] }),
  )
}

export async function deleteTopic(server: KafkaServer, name: string): Promise<void> {
  await withAdmin(server, (admin) => admin.deleteTopics({ topics: [name] }))
}

async function withAdmin(server: KafkaServer, use: (admin: Admin) => Promise<unknown>): Promise<void> {
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [server.listeners.plain] })
  try {
    await use(admin)
  } finally {
    await admin.close()
  }
}
