// Peer, in a separate process: a program with the most common libraries. It reads, parses, batches and inserts rows. Prints its
// measurements as JSON.
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { Kafka, logLevel } from 'kafkajs'
import type { KafkaFeed, ObjectFeed } from './pipes/feeds.ts'
import { type Insert, type PeerEngine, runPeer } from './pipes/peer-tools.ts'

export interface PeerTask {
  feed: KafkaFeed | ObjectFeed
  engine: PeerEngine
  table: string
  rows: number
  batchRows: number
}

const { feed, engine, table, rows, batchRows } = JSON.parse(process.argv[2] ?? '') as PeerTask
await runPeer(engine, table, (insert) =>
  feed.kind === 'kafka' ? fromKafka(feed, rows, batchRows, insert) : fromObjects(feed, batchRows, insert),
)

/** Measured from the assignment of partitions: the group rebalance before it is not compared. */
async function fromKafka(feed: KafkaFeed, rows: number, batchRows: number, insert: Insert): Promise<number> {
  const { broker, username, password, topic } = feed
  const kafka = new Kafka({
    clientId: 'peer',
    brokers: [broker],
    sasl: { mechanism: 'plain', username, password },
    logLevel: logLevel.NOTHING,
  })
  const consumer = kafka.consumer({
    groupId: `peer-${process.pid}-${Date.now()}`,
    maxBytesPerPartition: 8 * 1_024 * 1_024,
    maxBytes: 32 * 1_024 * 1_024,
  })
  let beganAtMs = 0
  consumer.on(consumer.events.GROUP_JOIN, () => {
    beganAtMs = performance.now()
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const { promise: done, resolve } = Promise.withResolvers<number>()
  let gathered: unknown[] = []
  let insertedRows = 0
  await consumer.run({
    autoCommit: false,
    async eachBatch({ batch, heartbeat }) {
      for (const { value } of batch.messages) {
        gathered.push(JSON.parse(value?.toString() ?? ''))
        const isLast = insertedRows + gathered.length === rows
        if (gathered.length < batchRows && !isLast) continue
        await insert(gathered)
        insertedRows += gathered.length
        gathered = []
        await heartbeat()
      }
      if (insertedRows === rows) resolve((performance.now() - beganAtMs) / 1_000)
    },
  })
  const seconds = await done
  await consumer.disconnect()
  return seconds
}

async function fromObjects(feed: ObjectFeed, batchRows: number, insert: Insert): Promise<number> {
  const { endpoint, region, bucket: Bucket, accessKeyId, secretKey: secretAccessKey } = feed
  const store = new S3Client({ endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } })
  const beganAtMs = performance.now()
  let gathered: unknown[] = []
  for await (const { Contents = [] } of paginateListObjectsV2({ client: store }, { Bucket })) {
    for (const { Key } of Contents) {
      const { Body } = await store.send(new GetObjectCommand({ Bucket, Key }))
      for await (const line of createInterface({ input: Body as Readable })) {
        gathered.push(JSON.parse(line))
        if (gathered.length < batchRows) continue
        await insert(gathered)
        gathered = []
      }
    }
  }
  if (gathered.length > 0) await insert(gathered)
  store.destroy()
  return (performance.now() - beganAtMs) / 1_000
}
