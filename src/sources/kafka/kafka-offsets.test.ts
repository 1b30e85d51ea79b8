import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KafkaCluster } from './kafka-cluster.ts'
import { latest } from './kafka-fetch.ts'
import { loadStarts } from './kafka-offsets.ts'

/** A broker with five records before the timestamp, and a sixth that arrives after the first request. */
function clusterOf(): KafkaCluster {
  let recordCount = 5n
  const answer = (timestamp: bigint): bigint => {
    if (timestamp === latest) return recordCount
    return recordCount > 5n ? 5n : -1n
  }
  const async = async (_wire: unknown, _replica: number, _isolation: number, topics: Requested[]) => {
    const [{ name, partitions } = { name: '', partitions: [] }] = topics
    const offset = answer(partitions[0]?.timestamp ?? latest)
    recordCount = 6n
    return { topics: [{ name, partitions: [{ partitionIndex: 0, errorCode: 0, offset }] }] }
  }
  const broker = { choose: () => ({ async }), call: <Answer>(send: (wire: unknown) => Answer) => send(undefined) }
  return { connectionTo: async () => broker } as unknown as KafkaCluster
}

interface Requested {
  name: string
  partitions: { timestamp: bigint }[]
}

describe('start offsets of a Kafka source', () => {
  it('does not skip a record that arrives between the two ListOffsets requests', async () => {
    const leader = { host: 'broker.example', port: 9092, isAdvertised: true }
    const partitions = [{ topic: 'topic', partition: 0, topicId: undefined, leader }]
    const offset = { strategy: 'from_timestamp', timestamp: '2026-01-31T12:00' } as const
    assert.deepEqual(await loadStarts(clusterOf(), partitions, offset), new Map([['topic/0', 5n]]))
  })
})
