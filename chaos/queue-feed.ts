// Objects behind a proxy whose access keys change: listed repeatedly, or announced by a queue. The queue repeats some messages,
// delays some, and sends some that do not concern the pipe.
import { inSns, s3Event } from '../test/sources/queue-server.ts'
import { type BareObjects, region, type StoredObject } from './bare-servers.ts'
import type { Feed, FeedOptions } from './feeds.ts'
import { busEvent, removal, testEvent } from './notifications.ts'
import type { Random } from './random.ts'
import { type KeyRing, makeKeyRing, startSignatureProxy, unknownKey } from './signature-proxy.ts'
import type { TcpProxy } from './tcp-proxy.ts'

export async function makeGuardedObjectFeed(server: BareObjects, options: FeedOptions): Promise<Feed> {
  const store = await openStore(server, options)
  return {
    ...feedOf(store, [store.proxy]),
    put: async (rows) => void (await store.put(rows)),
  }
}

/** Region of a store at a custom address, until it reports another one. */
const regionOfQueues = 'us-east-1'

export async function makeQueueFeed(server: BareObjects, options: FeedOptions): Promise<Feed> {
  const { name, random } = options
  const store = await openStore(server, options)
  const { keys } = store.ring
  const queueProxy = await startSignatureProxy({ service: 'sqs', region: regionOfQueues, target: server.url, keys })
  const queuePath = await server.createQueue(name)
  const send = (message: string): Promise<void> => server.send(queuePath, message)
  /** Objects announced to the pipe, or found by its listing. */
  const announced: StoredObject[] = []
  await send(testEvent(name))
  return {
    ...feedOf(store, [store.proxy, queueProxy], { queueUrl: `${queueProxy.url}${queuePath}` }),
    countLeft: () => server.countMessages(queuePath),
    async putBefore(rows) {
      announced.push(await store.put(rows))
    },
    async put(rows) {
      const objects = await putSome(store, rows, random)
      for (const message of messagesOf(name, objects, random)) await send(message)
      announced.push(...objects)
      if (random.happens(0.1)) await send(s3Event(name, random.pick(announced)))
      if (random.happens(0.1)) await send(removal(name, random.pick(announced)))
      if (random.happens(0.1)) await send(s3Event(name, await store.putElsewhere()))
    },
  }
}

interface Store {
  ring: KeyRing
  proxy: TcpProxy
  source: object
  put(rows: string[]): Promise<StoredObject>
  /** Writes an object outside the prefix of the pipe. */
  putElsewhere(): Promise<StoredObject>
}

async function openStore(server: BareObjects, { name, random }: FeedOptions): Promise<Store> {
  const ring = makeKeyRing()
  const proxy = await startSignatureProxy({ service: 's3', region, target: server.url, keys: ring.keys })
  await server.createBucket(name)
  let objects = 0
  return {
    ring,
    proxy,
    source: {
      type: 's3',
      format: 'JSONEachRow',
      url: `${proxy.url}/${name}/rows/*.json`,
      authentication: 'IAM_USER',
      accessKey: ring.admit(),
      isContinuous: true,
    },
    put(rows) {
      const text = `${rows.join('\n')}${random.happens(0.5) ? '\n' : ''}`
      const number = String(++objects).padStart(8, '0')
      // S3 and EventBridge events encode these characters differently.
      const key = `rows/${number}${random.happens(0.2) ? ' ä+&%41' : ''}.json`
      return server.put(name, key, Buffer.from(text))
    },
    putElsewhere: () => server.put(name, 'elsewhere/rows.json', Buffer.from('{"id": 1}\n')),
  }
}

function feedOf({ ring, source }: Store, proxies: TcpProxy[], more: object = {}): Omit<Feed, 'put'> {
  return {
    kind: 'objectStorage',
    source: { objectStorage: { ...source, ...more } },
    credentials: {
      next: () => ({ objectStorage: { accessKey: ring.admit() } }),
      forgetOthers: ring.forgetOthers,
      wrong: { objectStorage: { accessKey: unknownKey } },
    },
    block() {
      for (const proxy of proxies) proxy.block()
    },
    restore() {
      for (const proxy of proxies) proxy.restore()
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}

async function putSome(store: Store, rows: string[], random: Random): Promise<StoredObject[]> {
  const half = Math.ceil(rows.length / 2)
  const isTwo = rows.length > 1 && random.happens(0.2)
  const objects: StoredObject[] = []
  for (const some of isTwo ? [rows.slice(0, half), rows.slice(half)] : [rows]) objects.push(await store.put(some))
  return objects
}

function messagesOf(bucket: string, objects: StoredObject[], random: Random): string[] {
  const form = random.pick(['plain', 'plain', 'topic', 'bus'])
  const messages = form === 'bus' ? objects.map((object) => busEvent(bucket, object)) : [s3Event(bucket, ...objects)]
  const wrapped = form === 'topic' ? messages.map(inSns) : messages
  return random.happens(0.15) ? [...wrapped, ...wrapped] : wrapped
}
