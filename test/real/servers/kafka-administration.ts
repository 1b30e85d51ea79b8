// Administration of a broker for tests, over its listener without authentication.
import { Admin, Producer } from '@platformatic/kafka'
import type { KafkaCompression, KafkaRecord } from '../../sources/kafka-server.ts'
import { waitForLeaders } from '../../sources/kafka-waits.ts'

const clientId = 'test'

async function withAdmin<Result>(
  address: string,
  retries: number,
  use: (admin: Admin) => Promise<Result>,
): Promise<Result> {
  const admin = new Admin({ clientId, bootstrapBrokers: [address], retries, retryDelay: 100 })
  try {
    return await use(admin)
  } finally {
    await admin.close()
  }
}

export function isAnswering(address: string): Promise<boolean> {
  return withAdmin(address, 0, async (admin) => Array.isArray(await admin.listTopics()))
}

/** Resolves when records can be produced to it. */
export async function createTopic(address: string, name: string, partitions: number): Promise<void> {
  await withAdmin(address, 0, async (admin) => {
    await admin.createTopics({ topics: [name], partitions, replicas: 1 })
    await waitForLeaders(admin, name, partitions)
  })
}

/** Produces without retries: a counting test must not find a record twice. */
export async function produce(
  address: string,
  topic: string,
  records: KafkaRecord[],
  compression: KafkaCompression = 'none',
): Promise<void> {
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId,
    bootstrapBrokers: [address],
    retries: 0,
    compression,
    acks: -1,
  })
  try {
    await producer.send({
      messages: records.map(({ partition, key, value, timestampMs }) => ({
        topic,
        partition,
        value: Buffer.from(value),
        ...(key === undefined ? {} : { key: Buffer.from(key) }),
        ...(timestampMs === undefined ? {} : { timestamp: BigInt(timestampMs) }),
      })),
    })
  } finally {
    await producer.close()
  }
}

/** By `topic/partition`. The first call waits until Kafka has created the offsets topic. */
export async function committedOffsets(address: string, group: string): Promise<Record<string, number>> {
  const groups = await withAdmin(address, 50, (admin) => admin.listConsumerGroupOffsets({ groups: [group] }))
  const committed: Record<string, number> = {}
  for (const { name, partitions } of groups.flatMap(({ topics }) => topics)) {
    for (const { partitionIndex, committedOffset } of partitions) {
      committed[`${name}/${partitionIndex}`] = Number(committedOffset)
    }
  }
  return committed
}
