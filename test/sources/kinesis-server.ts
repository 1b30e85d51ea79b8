// A Kinesis server for tests: kinesalite in this process behind a signature check, or another one. The suites must hold for all.
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import {
  CreateStreamCommand,
  DeleteStreamCommand,
  DescribeStreamSummaryCommand,
  KinesisClient,
  ListShardsCommand,
  MergeShardsCommand,
  PutRecordsCommand,
  SplitShardCommand,
  waitUntilStreamNotExists,
} from '@aws-sdk/client-kinesis'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { type CheckedKey, startSignatureCheck } from './signature-check.ts'
import { startSts } from './sts-server.ts'

export interface AccessKey {
  accessKeyId: string
  secretKey: string
}

export interface StreamRecord {
  key: string
  value: Uint8Array
}

/** A role that the operator may assume for one organization; it may read all streams. */
export interface AssumableRole {
  stsEndpoint: string
  roleArn: string
  operator: AccessKey
  organizationId: string
}

export interface StreamAdministration {
  /** Resolves when the stream can be used. */
  createStream(name: string, shards: number): Promise<void>
  /** Resolves when the stream can be created again. */
  deleteStream(name: string): Promise<void>
  /** Records of one key keep their order. */
  put(stream: string, records: StreamRecord[]): Promise<void>
  /** Splits the shard in the middle. */
  split(stream: string, shard: string): Promise<void>
  merge(stream: string, shard: string, adjacent: string): Promise<void>
}

export interface KinesisServer extends StreamAdministration {
  /** `kinesalite`, or `moto 5.1.0`. */
  name: string
  region: string
  /** `http://127.0.0.1:port`, or `https://…` */
  endpoint: string
  /** PEM of the CA that signed its certificate, with TLS. */
  ca?: string
  /** May read all streams. */
  credentials: AccessKey
  /** A valid key without permissions. */
  powerless?: AccessKey
  role?: AssumableRole
  /** False: shards that were split or merged never end and accept writes. AWS closes them. */
  keepsClosedShards?: boolean
  stop(): Promise<void>
}

export interface InProcessOptions {
  /** Uses TLS. */
  tls?: { ca: string; server: { cert: string; key: string } }
  /** All valid keys are added here, including those issued for the role. */
  keys?: CheckedKey[]
  /** Lifetime of the role's credentials. */
  roleLifetimeMs?: number
}

export async function startKinesis(options: InProcessOptions = {}): Promise<KinesisServer> {
  const { tls, keys = [], roleLifetimeMs = 3_600_000 } = options
  const region = 'eu-west-1'
  const credentials = { accessKeyId: 'AKIAREADER0000000000', secretKey: 'reader-secret/+0123456789' }
  const powerless = { accessKeyId: 'AKIAPOWERLESS0000000', secretKey: 'powerless-secret/+0123456' }
  const operator = { accessKeyId: 'AKIAOPERATOR00000000', secretKey: 'operator-secret/+01234567' }
  const role = { roleArn: 'arn:aws:iam::123456789012:role/penstock', operator, organizationId: 'org-of-the-role' }
  keys.push({ ...credentials, mayRead: true }, { ...powerless, mayRead: false })
  const store = await startKinesalite()
  const proxy = await startSignatureCheck({
    service: 'kinesis',
    region,
    target: store.url,
    keys,
    ...(tls ? { tls: tls.server } : {}),
  })
  const sts = await startSts({
    roleArn: role.roleArn,
    externalId: role.organizationId,
    keys,
    lifetimeMs: roleLifetimeMs,
  })
  const operatorKeys = [{ ...operator, mayRead: true }]
  const stsProxy = await startSignatureCheck({ service: 'sts', region, target: sts.url, keys: operatorKeys })
  const administration = administer(store.url, region, credentials)
  return {
    name: tls ? 'kinesalite with TLS' : 'kinesalite',
    region,
    endpoint: proxy.url,
    ...(tls ? { ca: tls.ca } : {}),
    credentials,
    powerless,
    role: { ...role, stsEndpoint: stsProxy.url },
    ...administration,
    stop: async () => {
      administration.close()
      await Promise.all([proxy.stop(), stsProxy.stop()])
      await Promise.all([store.stop(), sts.stop()])
    },
  }
}

/** Manages the streams of any Kinesis server. Close it when done. */
export function administer(
  endpoint: string,
  region: string,
  { accessKeyId, secretKey }: AccessKey,
): StreamAdministration & { close(): void } {
  const client = new KinesisClient({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey: secretKey },
    // The SDK's default handler uses HTTP/2, which test servers do not support.
    requestHandler: new NodeHttpHandler(),
  })
  const becomeActive = async (StreamName: string): Promise<void> => {
    for (;;) {
      const { StreamDescriptionSummary: summary } = await client.send(new DescribeStreamSummaryCommand({ StreamName }))
      if (summary?.StreamStatus === 'ACTIVE') return
      await wait(5)
    }
  }
  return {
    async createStream(name, shards) {
      await client.send(new CreateStreamCommand({ StreamName: name, ShardCount: shards }))
      await becomeActive(name)
    },

    async deleteStream(name) {
      await client.send(new DeleteStreamCommand({ StreamName: name }))
      await waitUntilStreamNotExists({ client, maxWaitTime: 20, minDelay: 1 }, { StreamName: name })
    },

    async put(stream, records) {
      const entries = records.map(({ key, value }) => ({ PartitionKey: key, Data: value }))
      for (let first = 0; first < entries.length; first += 500) {
        const Records = entries.slice(first, first + 500)
        const { FailedRecordCount } = await client.send(new PutRecordsCommand({ StreamName: stream, Records }))
        if (FailedRecordCount) throw new Error(`${FailedRecordCount} records were not put`)
      }
    },

    async split(stream, shard) {
      const { Shards = [] } = await client.send(new ListShardsCommand({ StreamName: stream }))
      const range = Shards.find(({ ShardId }) => ShardId === shard)?.HashKeyRange
      const middle = (BigInt(range?.StartingHashKey ?? 0) + BigInt(range?.EndingHashKey ?? 0)) / 2n
      const where = { StreamName: stream, ShardToSplit: shard, NewStartingHashKey: String(middle) }
      await client.send(new SplitShardCommand(where))
      await becomeActive(stream)
    },

    async merge(stream, shard, adjacent) {
      const where = { StreamName: stream, ShardToMerge: shard, AdjacentShardToMerge: adjacent }
      await client.send(new MergeShardsCommand(where))
      await becomeActive(stream)
    },

    close: () => client.destroy(),
  }
}

type Done = (error: unknown, answer?: unknown) => void
type Store = { getStreamDb(name: string): { createReadStream(range: object): Readable } }
type Action = (store: Store, data: Record<string, unknown>, done: Done) => void

async function startKinesalite(): Promise<{ url: string; stop(): Promise<void> }> {
  const require = createRequire(import.meta.url)
  patchTimestamps(require)
  const kinesalite = require('kinesalite') as (options: object) => Server
  const server = kinesalite({ createStreamMs: 0, updateStreamMs: 0, deleteStreamMs: 0, shardLimit: 1_000 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

let isPatched = false

/** Kinesalite never answers a request for a timestamp after the last record. Kinesis then starts at the end. */
function patchTimestamps(require: NodeJS.Require): void {
  if (isPatched) return
  isPatched = true
  const path = require.resolve('kinesalite/actions/getShardIterator')
  const original = require(path) as Action
  const { shardIxToHex } = require('kinesalite/db') as { shardIxToHex(index: number): string }
  const patched: Action = (store, data, done) => {
    const { StreamName, ShardId, ShardIteratorType, Timestamp } = data
    const seconds = Number(Timestamp)
    if (ShardIteratorType !== 'AT_TIMESTAMP' || seconds * 1_000 > Date.now()) return original(store, data, done)
    const shard = Number(String(ShardId).split('-')[1])
    const range = { gt: shardIxToHex(shard), lt: shardIxToHex(shard + 1) }
    let hasLater = false
    store
      .getStreamDb(String(StreamName))
      .createReadStream(range)
      .on('data', ({ value }: { value: { ApproximateArrivalTimestamp: number } }) => {
        hasLater ||= value.ApproximateArrivalTimestamp >= seconds
      })
      .on('error', done)
      .on('end', () => {
        original(store, hasLater ? data : { StreamName, ShardId, ShardIteratorType: 'LATEST' }, done)
      })
  }
  const cached = require.cache[path]
  if (cached) cached.exports = patched
}
