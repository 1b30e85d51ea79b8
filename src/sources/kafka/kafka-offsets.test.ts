import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KafkaCluster } from './kafka-cluster.ts'
import { latest } from './kafka-fetch.ts'
import { loadStarts } from './kafka-offsets.ts'

/** A broker with five records that are too old, and one that comes after the first question. */
function clusterOf(): KafkaCluster {
  let recordCount = 5n
  const answer = (moment: bigint): bigint => {
    if (moment === latest) return recordCount
    return recordCount > 5n ? 5n : -1n
  }
  const async = async (_wire: unknown, _replica: number, _isolation: number, topics: Asked[]) => {
    const [{ name, partitions } = { name: '', partitions: [] }] = topics
    const offset = answer(partitions[0]?.timestamp ?? latest)
    recordCount = 6n
    return { topics: [{ name, partitions: [{ partitionIndex: 0, errorCode: 0, offset }] }] }
  }
  const broker = { choose: () => ({ async }), call: <Answer>(ask: (wire: unknown) => Answer) => ask(undefined) }
  return { connectionTo: async () => broker } as unknown as KafkaCluster
}

interface Asked {
  name: string
  partitions: { timestamp: bigint }[]
}

describe('where the partitions of a Kafka source begin', () => {
  it('does not pass over a record that comes while the brokers are asked', async () => {
    const leader = { host: 'broker.example', port: 9092, isAdvertised: true }
    const partitions = [{ topic: 'topic', partition: 0, topicId: undefined, leader }]
    const offset = { strategy: 'from_timestamp', timestamp: '2026-01-31T12:00' } as const
    assert.deepEqual(await loadStarts(clusterOf(), partitions, offset), new Map([['topic/0', 5n]]))
  })
})
