// Bare copy from an object store: streams each file into an insert, one after another, without looking at the content. Any
// failure would lose or duplicate rows.
import { once } from 'node:events'
import { request } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import type { ObjectFeed } from './pipes/feeds.ts'
import { type PeerEngine, printMetrics } from './pipes/peer-tools.ts'

export interface CopyTask {
  feed: ObjectFeed
  engine: PeerEngine
  table: string
}

const { feed, engine, table } = JSON.parse(process.argv[2]!) as CopyTask
const { endpoint, region, bucket: Bucket } = feed
const credentials = { accessKeyId: feed.accessKeyId, secretAccessKey: feed.secretKey }
const store = new S3Client({ endpoint, region, forcePathStyle: true, credentials })
const beganAtMs = performance.now()
const { Contents = [] } = await store.send(new ListObjectsV2Command({ Bucket }))
for (const { Key } of Contents) await insert((await store.send(new GetObjectCommand({ Bucket, Key }))).Body as Readable)
printMetrics((performance.now() - beganAtMs) / 1_000)
store.destroy()

async function insert(body: Readable): Promise<void> {
  const query = new URLSearchParams({ query: `INSERT INTO ${table} FORMAT JSONEachRow` })
  const outgoing = request(`${engine.url}/?${query}`, {
    method: 'POST',
    headers: { 'x-clickhouse-user': engine.username, 'x-clickhouse-key': engine.password },
  })
  const answered = once(outgoing, 'response')
  await pipeline(body, outgoing)
  const [answer] = await answered
  let text = ''
  for await (const part of answer) text += part
  if (answer.statusCode !== 200) throw new Error(`the engine refused a file: ${text}`)
}
