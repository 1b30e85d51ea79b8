// Objects behind a door whose keys come and go: listed again and again, or told of by a queue. A queue says most things once, some
// things twice, some long after, and some that are none of the pipe's business.
import { inSns, s3Event } from '../test/sources/queue-server.ts'
import { type BareObjects, region, type StoredObject } from './bare-servers.ts'
import { type KeyRing, makeKeyRing, startDoor, unknownKey } from './door.ts'
import type { Feed, FeedOptions } from './feeds.ts'
import { busEvent, removal, testEvent } from './notifications.ts'
import type { Random } from './random.ts'
import type { Way } from './way.ts'

export async function makeGuardedObjectFeed(server: BareObjects, options: FeedOptions): Promise<Feed> {
  const store = await openStore(server, options)
  return {
    ...feedOf(store, [store.door]),
    put: async (rows) => void (await store.put(rows)),
  }
}

/** What a store at an address of its own is taken to be in, until it says otherwise. */
const regionOfQueues = 'us-east-1'

export async function makeQueueFeed(server: BareObjects, options: FeedOptions): Promise<Feed> {
  const { name, random } = options
  const store = await openStore(server, options)
  const { keys } = store.ring
  const queueDoor = await startDoor({ service: 'sqs', region: regionOfQueues, target: server.url, keys })
  const queuePath = await server.createQueue(name)
  const send = (message: string): Promise<void> => server.send(queuePath, message)
  /** Of which the pipe knows, or finds them by itself. */
  const told: StoredObject[] = []
  await send(testEvent(name))
  return {
    ...feedOf(store, [store.door, queueDoor], { queueUrl: `${queueDoor.url}${queuePath}` }),
    countLeft: () => server.countMessages(queuePath),
    async putBefore(rows) {
      told.push(await store.put(rows))
    },
    async put(rows) {
      const objects = await putSome(store, rows, random)
      for (const message of messagesOf(name, objects, random)) await send(message)
      told.push(...objects)
      if (random.happens(0.1)) await send(s3Event(name, random.pick(told)))
      if (random.happens(0.1)) await send(removal(name, random.pick(told)))
      if (random.happens(0.1)) await send(s3Event(name, await store.putElsewhere()))
    },
  }
}

interface Store {
  ring: KeyRing
  door: Way
  source: object
  put(rows: string[]): Promise<StoredObject>
  /** An object that the pipe does not load. */
  putElsewhere(): Promise<StoredObject>
}

async function openStore(server: BareObjects, { name, random }: FeedOptions): Promise<Store> {
  const ring = makeKeyRing()
  const door = await startDoor({ service: 's3', region, target: server.url, keys: ring.keys })
  await server.createBucket(name)
  let objects = 0
  return {
    ring,
    door,
    source: {
      type: 's3',
      format: 'JSONEachRow',
      url: `${door.url}/${name}/rows/*.json`,
      authentication: 'IAM_USER',
      accessKey: ring.admit(),
      isContinuous: true,
    },
    put(rows) {
      const text = `${rows.join('\n')}${random.happens(0.5) ? '\n' : ''}`
      const number = String(++objects).padStart(8, '0')
      // Events encode some characters, each kind of them in its own way.
      const key = `rows/${number}${random.happens(0.2) ? ' ä+&%41' : ''}.json`
      return server.put(name, key, Buffer.from(text))
    },
    putElsewhere: () => server.put(name, 'elsewhere/rows.json', Buffer.from('{"id": 1}\n')),
  }
}

function feedOf({ ring, source }: Store, ways: Way[], more: object = {}): Omit<Feed, 'put'> {
  return {
    kind: 'objectStorage',
    source: { objectStorage: { ...source, ...more } },
    credentials: {
      next: () => ({ objectStorage: { accessKey: ring.admit() } }),
      forgetOthers: ring.forgetOthers,
      wrong: { objectStorage: { accessKey: unknownKey } },
    },
    breakOff() {
      for (const way of ways) way.breakOff()
    },
    restore() {
      for (const way of ways) way.restore()
    },
    async close() {
      await Promise.all(ways.map((way) => way.close()))
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
