// Reading a Kafka whose topics change: transactions, deleted keys and records, and partitions that are added.
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
  describe('reading what changes', () => {
    it('passes over what was aborted, and over the marks of transactions', async () => {
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
        // Seven records, three that were aborted, and a mark for each transaction.
        assert.equal(shortPosition(batches.at(-1)?.next), '13')
      }
      const { samples } = await probe(source)
      assert.deepEqual(
        samples[0]?.rows.map(({ id }) => id),
        [0, 1, 2, 3, 4, 5, 6],
      )
    })

    it('goes on after an aborted transaction that nothing follows', async () => {
      const server = running()
      const topic = await topicWith(server, [])
      await inTransaction(server, messages(topic, [100, 101]), 'abort')
      const { batches } = await readAll(sourceOf(server, topic), {})
      assert.deepEqual(idsOf(batches), [])
      assert.equal(shortPosition(batches.at(-1)?.next), '3')
      assert.deepEqual((await probe(sourceOf(server, topic))).samples, [{ rows: [], fields: [] }])
    })

    it('passes over deleted keys, and tells the headers', async () => {
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
      const told = Object.entries(batches.find(({ records }) => records?.length)?.records?.at(0)?.meta._headers ?? {})
      assert.deepEqual(told, [
        ['trace', ['0 of trace', '2 of trace']],
        ['__proto__', ['1 of __proto__']],
      ])
      const { samples } = await probe(sourceOf(server, topic))
      assert.deepEqual(samples[0]?.rows, [{ id: 1 }, { id: 2 }])
    })

    for (const strategy of ['from_beginning', 'from_latest'] as const) {
      it(`notices new partitions, and reads all of them, also ${strategy}`, async () => {
        const server = running()
        const topic = await topicWith(server, [])
        const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) }
        const config = { ...configOf(server, topic), offset: { strategy } }
        const access = makeAccess(config, { credentials: { ...server.user } }, strictContext, surroundings)
        const reader = await openKafkaReader(access, {}, { refreshMs: 50 })
        try {
          await growTopic(server, topic, 3)
          await server.produce(topic, jsonRecords(30, 3))
          const batches: Batch[] = []
          const { signal } = surroundings
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

    it('tells that the topic was deleted', async () => {
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

/** All to one topic. Resolves when the mark of its end is in the log: the broker answers before, and what comes next could be in front of it. */
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

/** Resolves when it can be produced to. */
export async function growTopic(server: KafkaServer, name: string, count: number): Promise<void> {
  // Null: the brokers decide who leads them. The types of the library do not know that.
  const more = { name, count, assignments: null as never }
  await withAdmin(server, (admin) => admin.createPartitions({ topics: [more] }))
  // Another one: the first remembers how many there were.
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
