// What is compared: from which source into which engine, by whom, and what is promised of Penstock.
import { fillLog } from './changes.ts'
import type { KafkaFeed, ObjectFeed } from './feeds.ts'
import { type Bodies, makeBodies } from './limit.ts'
import { inTable, type Measurement, measureLimit, measurePeer, measurePenstock, type Work } from './measure.ts'
import { makeOrders, makeReplica } from './postgres-feed.ts'
import { type CopyMeasurement, copyAll, type PipeKind } from './postgres-limit.ts'
import type { EngineName, FeedName, Servers } from './servers.ts'

export interface Case {
  name: string
  /** Unless the command line says how many. */
  usualRows: number
  /** The first is the limit. */
  contenders: string[]
  promised: { ofLimit?: number; timesPeer?: number }
  open(servers: Servers, rows: number): Promise<OpenCase>
}

export interface OpenCase {
  title: string
  /** Undefined when nobody has counted them. */
  readonly bytes: number | undefined
  beginRound?(round: number): Promise<void>
  measure(contender: string): Promise<Measurement>
  endRound?(): Promise<void>
  /** Penstock has ended then. */
  close(): Promise<void>
}

export const titles: Record<string, string> = {
  limit: 'the limit: plain bodies',
  'limit-gzip': 'the limit: bodies in gzip, not compressed',
  'copy-whole': 'the limit: psql into curl, which gathers all rows first',
  'copy-streamed': 'the same, but curl sends what it has',
  log: 'the limit: the log is read by pg_recvlogical and thrown away',
  penstock: 'Penstock',
  'peer-10000': 'the peer, 10,000 rows per insert',
  'peer-100000': 'the peer, 100,000 rows per insert',
}

const usualRows = 2_000_000
const bare = ['limit', 'limit-gzip', 'penstock']
const streamed = { usualRows, promised: { ofLimit: 0.7, timesPeer: 2 } }
const changeContenders = ['log', 'penstock', 'peer-10000', 'peer-100000']
const copied = { usualRows, promised: { ofLimit: 0.7 }, contenders: ['copy-whole', 'copy-streamed', 'penstock'] }

export const cases: Case[] = [
  {
    ...streamed,
    name: 'kafka',
    contenders: [...bare, 'peer-10000', 'peer-100000'],
    open: (servers, rows) => openStream(servers, rows, 'kafka', { feed: 'kafka', engine: 'debian' }),
  },
  // Of files and of the modern engine, the peer only with the size at which it is at its best there.
  {
    ...streamed,
    name: 'objects',
    contenders: [...bare, 'peer-10000'],
    open: (servers, rows) => openStream(servers, rows, 'objects', { feed: 'objects', engine: 'debian' }),
  },
  {
    ...streamed,
    name: 'modern',
    contenders: [...bare, 'peer-100000'],
    open: (servers, rows) => openStream(servers, rows, 'modern', { feed: 'kafka', engine: 'modern' }),
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

const bodiesOf = new Map<number, Bodies>()

async function openStream(
  servers: Servers,
  rows: number,
  name: string,
  ends: { feed: FeedName; engine: EngineName },
): Promise<OpenCase> {
  const [source, engine] = [await servers.feed(ends.feed, rows), await servers.engine(ends.engine)]
  const penstock = await servers.penstock(name)
  const work: Work<KafkaFeed | ObjectFeed> = { engine, feed: source.feed, rows }
  const bodies = bodiesOf.get(rows) ?? makeBodies(rows)
  bodiesOf.set(rows, bodies)
  return {
    title: `${source.name}, ${engine.name} ${engine.version}`,
    bytes: bodies.plain.reduce((sum, body) => sum + body.length, 0),
    measure(contender) {
      if (contender === 'limit') return measureLimit(work, bodies.plain, 'plain')
      if (contender === 'limit-gzip') return measureLimit(work, bodies.gzip, 'gzip')
      if (contender === 'penstock') return measurePenstock(work, penstock)
      return measurePeer(work, batchRowsOf(contender))
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
  const measureCopy = async (kind: PipeKind): Promise<Measurement> => {
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
      return measureCopy(contender === 'copy-whole' ? 'whole' : 'streamed')
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
    if (!log) throw new Error('a round has not begun')
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
