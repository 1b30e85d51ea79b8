// Benchmark cases: source, engine, contenders, and the promises of Penstock.
import { fillLog } from './changes.ts'
import { type KafkaFeed, linesOfTopic, type ObjectFeed } from './feeds.ts'
import { type Bodies, makeBodies } from './limit.ts'
import {
  inTable,
  type Measurement,
  measureCopy,
  measureLimit,
  measureMarked,
  measurePeer,
  measurePenstock,
  type Work,
} from './measure.ts'
import { linesOf } from './orders.ts'
import { makeOrders, makeReplica } from './postgres-feed.ts'
import { type CopyMeasurement, copyAll, type PipeKind } from './postgres-limit.ts'
import type { EngineName, FeedName, Servers } from './servers.ts'

export interface Case {
  name: string
  /** Default number of rows. */
  usualRows: number
  contenders: string[]
  /** The slower of these contenders is the limit. Default: the first contender. */
  limits?: string[]
  promised: { ofLimit?: number; timesPeer?: number }
  open(servers: Servers, rows: number): Promise<OpenCase>
}

export interface OpenCase {
  title: string
  /** Undefined when the bytes were not counted. */
  readonly bytes: number | undefined
  beginRound?(round: number): Promise<void>
  measure(contender: string): Promise<Measurement>
  endRound?(): Promise<void>
  /** Stops Penstock. */
  close(): Promise<void>
}

export const titles: Record<string, string> = {
  stream: 'the limit: a bare client reads and discards the source',
  limit: 'the limit: plain bodies',
  'limit-gzip': 'the limit: bodies in stored gzip blocks',
  marked: 'the same, through marking views (exactly once)',
  'copy-whole': 'the limit: psql into curl, which buffers all rows first',
  'copy-streamed': 'the same, but curl streams',
  log: 'the limit: pg_recvlogical reads and discards the WAL',
  copy: 'a bare copy: files are streamed into inserts',
  penstock: 'Penstock',
  'peer-10000': 'the peer, 10,000 rows per insert',
  'peer-100000': 'the peer, 100,000 rows per insert',
}

const usualRows = 2_000_000
/** So many rows that the creation of the pipe and the wait for a last full batch take a small part of the time. */
const manyRows = 5_000_000
/** Peers are slow, and have no such overhead at the start and end. */
const peerRows = 1_000_000
const bare = ['limit', 'limit-gzip', 'penstock']
/** For an engine without insert deduplication tokens. */
const marking = ['limit', 'limit-gzip', 'marked', 'penstock']
const streamed = { usualRows: manyRows, promised: { ofLimit: 0.7, timesPeer: 2 } }
// These sources may be slower than every engine.
const slowest = { contenders: ['stream', ...bare], limits: ['stream', 'limit'], promised: { ofLimit: 0.7 } }
const changeContenders = ['log', 'penstock', 'peer-10000', 'peer-100000']
const copied = { usualRows, promised: { ofLimit: 0.7 }, contenders: ['copy-whole', 'copy-streamed', 'penstock'] }

export const cases: Case[] = [
  {
    ...streamed,
    name: 'kafka',
    contenders: [...marking, 'peer-10000', 'peer-100000'],
    open: (servers, rows) => openStream(servers, rows, 'kafka', { feed: 'kafka', engine: 'debian' }),
  },
  // For files and the modern engine, the peer is measured only with its best batch size.
  {
    ...streamed,
    name: 'objects',
    contenders: [...marking, 'copy', 'peer-10000'],
    open: (servers, rows) => openStream(servers, rows, 'objects', { feed: 'objects', engine: 'debian' }),
  },
  {
    ...streamed,
    name: 'modern',
    contenders: [...bare, 'peer-100000'],
    open: (servers, rows) => openStream(servers, rows, 'modern', { feed: 'kafka', engine: 'modern' }),
  },
  {
    ...streamed,
    name: 'modern-objects',
    contenders: [...bare, 'copy', 'peer-10000'],
    open: (servers, rows) => openStream(servers, rows, 'modern-objects', { feed: 'objects', engine: 'modern' }),
  },
  { ...slowest, name: 'kinesis', usualRows: 3_000_000, open: openKinesis },
  {
    ...slowest,
    name: 'queue',
    usualRows: manyRows,
    contenders: ['stream', ...marking],
    open: (servers, rows) => openQueue(servers, rows, 'debian'),
  },
  {
    ...slowest,
    name: 'modern-queue',
    usualRows: manyRows,
    open: (servers, rows) => openQueue(servers, rows, 'modern'),
  },
  { ...copied, name: 'snapshot', open: (servers, rows) => openSnapshot(servers, rows, 'debian') },
  { ...copied, name: 'snapshot-modern', open: (servers, rows) => openSnapshot(servers, rows, 'modern') },
  {
    name: 'cdc',
    usualRows: 500_000,
    contenders: changeContenders,
    promised: { timesPeer: 3 },
    open: openChanges,
  },
]

const batchRowsOf = (peer: string): number => Number(peer.slice('peer-'.length))

type RowOrder = 'sorted' | 'topic'

/** Gigabytes: only the bodies of the last case are kept. */
let lastBodies: { rows: number; order: RowOrder; bodies: Bodies } | undefined

/** The engine sorts unsorted rows, so the limit gets the rows in the same order as Penstock. */
function bodiesFor(rows: number, order: RowOrder): Bodies {
  if (lastBodies?.rows === rows && lastBodies.order === order) return lastBodies.bodies
  lastBodies = undefined
  const bodies = makeBodies(rows, order === 'topic' ? linesOfTopic : linesOf)
  lastBodies = { rows, order, bodies }
  return bodies
}

function bytesOf({ plain }: Bodies): number {
  return plain.reduce((sum, body) => sum + body.length, 0)
}

async function openStream(
  servers: Servers,
  rows: number,
  name: string,
  ends: { feed: FeedName; engine: EngineName },
): Promise<OpenCase> {
  const [source, engine] = [await servers.feed(ends.feed), await servers.engine(ends.engine)]
  const penstock = await servers.penstock(name)
  const workOf = async (count: number): Promise<Work<KafkaFeed | ObjectFeed>> => {
    return { engine, feed: await source.feed(count), rows: count }
  }
  const [work, peerWork] = [await workOf(rows), await workOf(Math.min(rows, peerRows))]
  const bodies = bodiesFor(rows, ends.feed === 'kafka' ? 'topic' : 'sorted')
  return {
    title: `${source.name}, ${engine.name} ${engine.version}`,
    bytes: bytesOf(bodies),
    measure(contender) {
      if (contender === 'penstock') return measurePenstock(work, penstock)
      if (marking.includes(contender)) return measureBodies(work, contender, bodies)
      if (contender === 'copy') return measureCopy(work as Work<ObjectFeed>)
      return measurePeer(peerWork, batchRowsOf(contender))
    },
    close: () => penstock.stop(),
  }
}

type Target = Pick<Work, 'engine' | 'rows'>

function measureBodies(target: Target, contender: string, { plain, gzip }: Bodies): Promise<Measurement> {
  if (contender === 'marked') return measureMarked(target, gzip)
  return contender === 'limit' ? measureLimit(target, plain, 'plain') : measureLimit(target, gzip, 'gzip')
}

async function openKinesis(servers: Servers, rows: number): Promise<OpenCase> {
  const [source, engine] = [await servers.kinesis(rows), await servers.engine('debian')]
  const { feed, readAll } = source
  const penstock = await servers.penstock('kinesis', { PENSTOCK_AWS_ENDPOINTS: `kinesis=${feed.endpoint}` })
  const work: Work = { engine, feed, rows }
  const bodies = bodiesFor(rows, 'sorted')
  return {
    title: `${source.name}, ${engine.name} ${engine.version}`,
    bytes: bytesOf(bodies),
    async measure(contender) {
      if (contender === 'stream') return { seconds: await readAll() }
      if (contender === 'penstock') return measurePenstock(work, penstock)
      return measureBodies(work, contender, bodies)
    },
    async close() {
      await penstock.stop()
      // The streams of kinesalite are in memory.
      await source.stop()
    },
  }
}

async function openQueue(servers: Servers, rows: number, engineName: EngineName): Promise<OpenCase> {
  const [source, engine] = [await servers.queue(rows), await servers.engine(engineName)]
  const { newFeed, readAll } = source
  const penstock = await servers.penstock(`queue into ${engineName}`)
  const bodies = bodiesFor(rows, 'sorted')
  return {
    title: `${source.name}, ${engine.name} ${engine.version}`,
    bytes: bytesOf(bodies),
    async measure(contender) {
      if (contender === 'stream') return { seconds: await readAll() }
      if (contender === 'penstock') return measurePenstock({ engine, feed: await newFeed(), rows }, penstock)
      return measureBodies({ engine, rows }, contender, bodies)
    },
    close: () => penstock.stop(),
  }
}

async function openSnapshot(servers: Servers, rows: number, engineName: EngineName): Promise<OpenCase> {
  const [source, engine] = [await servers.postgres(), await servers.engine(engineName)]
  const feed = source.feed(`orders_for_${engineName}`)
  await makeOrders(source, feed.table, rows)
  const penstock = await servers.penstock(`snapshot into ${engineName}`, { PENSTOCK_CA_CERTIFICATES: feed.caFile })
  let bytes: number | undefined
  const measurePsql = async (kind: PipeKind): Promise<Measurement> => {
    const measured = await inTable(engine, rows, async (table): Promise<CopyMeasurement> => {
      await makeReplica(engine, table)
      return copyAll(feed, engine, table, kind)
    })
    bytes = measured.bytes
    return measured
  }
  return {
    title: `${source.name}, the rows of a table, ${engine.name} ${engine.version}`,
    get bytes() {
      return bytes
    },
    measure(contender) {
      if (contender === 'penstock') return measurePenstock({ engine, feed, rows }, penstock)
      return measurePsql(contender === 'copy-whole' ? 'whole' : 'streamed')
    },
    async close() {
      await penstock.stop()
      await source.query(`DROP TABLE ${feed.table}`)
    },
  }
}

async function openChanges(servers: Servers, rows: number): Promise<OpenCase> {
  const [source, engine] = [await servers.postgres(), await servers.engine('debian')]
  const { caFile } = source.feed('')
  const penstock = await servers.penstock('cdc', { PENSTOCK_CA_CERTIFICATES: caFile })
  let log: Awaited<ReturnType<typeof fillLog>> | undefined
  const filled = (): NonNullable<typeof log> => {
    if (!log) throw new Error('no round has started')
    return log
  }
  return {
    title: `${source.name}, changes, ${engine.name} ${engine.version}`,
    bytes: undefined,
    async beginRound(round) {
      const readers = changeContenders.filter((contender) => contender !== 'penstock')
      log = await fillLog({ source, engine, penstock, changes: rows, readers }, round)
    },
    measure(contender) {
      if (contender === 'penstock') return filled().measurePenstock()
      if (contender === 'log') return filled().measureLimit(contender)
      return filled().measurePeer(contender, batchRowsOf(contender))
    },
    endRound: () => filled().forget(),
    close: () => penstock.stop(),
  }
}
