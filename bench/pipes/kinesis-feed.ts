// Kinesis stream that is filled once and read from the beginning by every contender, and a bare client that reads and discards
// all of it to measure the maximum of the server.
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { findFreePort } from '../../src/lib/free-port.ts'
import { administer } from '../../test/sources/kinesis-server.ts'
import { end, start, untilAnswers } from '../processes.ts'
import { linesOf, usualRowBytes } from './orders.ts'

export interface KinesisFeed {
  kind: 'kinesis'
  endpoint: string
  region: string
  stream: string
  accessKeyId: string
  secretKey: string
}

export interface KinesisFeedServer {
  name: string
  feed: KinesisFeed
  /** Returns the duration in seconds. */
  readAll(): Promise<number>
  stop(): Promise<void>
}

const shards = 4
/** About 20 KB: producers aggregate rows into records of up to 25 KB, the billing unit. */
const rowsPerRecord = 100
const recordsPerPut = 200
const answerBytes = 10 * 1_024 * 1_024

export async function startKinesisFeed(folder: string, rows: number): Promise<KinesisFeedServer> {
  const port = await findFreePort()
  const mostRecords = Math.floor(answerBytes / (rowsPerRecord * usualRowBytes))
  const running = await start(
    [join(import.meta.dirname, '..', 'pipes-kinesis.ts'), String(port), String(mostRecords)],
    {
      logFile: join(folder, 'kinesis.log'),
    },
  )
  const [endpoint, region, stream] = [`http://127.0.0.1:${port}`, 'eu-west-1', 'orders']
  const key = { accessKeyId: 'AKIABENCH00000000000', secretKey: 'nobody-checks-it' }
  await untilAnswers(running, endpoint)
  const administration = administer(endpoint, region, key)
  try {
    await administration.createStream(stream, shards)
    const rowsPerPut = rowsPerRecord * recordsPerPut
    for (let begin = 0; begin < rows; begin += rowsPerPut) {
      await administration.put(stream, recordsOf(begin, Math.min(rows, begin + rowsPerPut)))
    }
  } finally {
    administration.close()
  }
  return {
    name: `kinesalite (a server for tests, in JavaScript), ${rowsPerRecord} rows in a record`,
    feed: { kind: 'kinesis', endpoint, region, stream, ...key },
    readAll: () => readAll(endpoint, stream),
    stop: () => end(running),
  }
}

function recordsOf(begin: number, rowsEnd: number): { key: string; value: Buffer }[] {
  const records = []
  for (let first = begin; first < rowsEnd; first += rowsPerRecord) {
    const value = linesOf(first, Math.min(rowsEnd, first + rowsPerRecord))
    records.push({ key: `order-${first}`, value })
  }
  return records
}

async function readAll(endpoint: string, stream: string): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const beganAtMs = performance.now()
  const ids = Array.from({ length: shards }, (_, index) => `shardId-${String(index).padStart(12, '0')}`)
  await Promise.all(ids.map((id) => readShard(endpoint, agent, stream, id)))
  agent.destroy()
  return (performance.now() - beganAtMs) / 1_000
}

async function readShard(endpoint: string, agent: Agent, stream: string, shard: string): Promise<void> {
  const start = { StreamName: stream, ShardId: shard, ShardIteratorType: 'TRIM_HORIZON' }
  let answer = await ask(endpoint, agent, 'GetShardIterator', start)
  while (!answer.includes('"Records":[]')) {
    const [, iterator] = /"(?:Next)?ShardIterator":"([^"]+)"/.exec(answer) ?? []
    if (iterator === undefined) throw new Error(`the stream is answered with ${answer}`)
    answer = await ask(endpoint, agent, 'GetRecords', { ShardIterator: iterator })
  }
}

/** The next iterator precedes the records. */
const headBytes = 1_000

/** Returns the beginning of the answer. The server does not verify the signature, but requires one. */
function ask(endpoint: string, agent: Agent, action: string, input: object): Promise<string> {
  const headers = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': `Kinesis_20131202.${action}`,
    'x-amz-date': '20260101T000000Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=bench/20260101/eu-west-1/kinesis/aws4_request, SignedHeaders=host, Signature=none',
  }
  return new Promise((resolve, reject) => {
    const sent = request(endpoint, { method: 'POST', agent, headers }, (answer) => {
      let head = ''
      answer.on('data', (chunk: Buffer) => {
        if (head.length < headBytes) head += chunk.toString('latin1', 0, headBytes)
      })
      answer.on('end', () => resolve(head))
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(input))
  })
}
