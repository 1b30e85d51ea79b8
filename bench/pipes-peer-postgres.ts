// Peer for PostgreSQL changes, in a separate process: a program with the most common library. It batches rows, inserts them, and
// acknowledges only inserted rows. Prints its measurements as JSON.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Insert, type PeerEngine, runPeer } from './pipes/peer-tools.ts'
import type { PostgresFeed } from './pipes/postgres-feed.ts'

export interface PostgresPeerTask {
  feed: PostgresFeed
  engine: PeerEngine
  table: string
  slot: string
  publication: string
  changes: number
  batchRows: number
}

/** The used part of pg-logical-replication, which is installed only when the benchmark runs. */
interface Service {
  on(event: 'data', listener: (lsn: string, message: Message) => Promise<void>): void
  on(event: 'error', listener: (error: Error) => void): void
  subscribe(plugin: object, slot: string): Promise<unknown>
  acknowledge(lsn: string): Promise<boolean>
  stop(): Promise<unknown>
}
type Row = Record<string, unknown>
type Message =
  | { tag: 'insert' | 'update'; new: Row }
  | { tag: 'delete'; key: Row | null; old: Row | null }
  | { tag: 'begin' | 'commit' | 'relation' | 'truncate' }
interface Library {
  LogicalReplicationService: new (connection: object, options: object) => Service
  PgoutputPlugin: new (options: { protoVersion: 1; publicationNames: string[] }) => object
}

const libraryFile = join(import.meta.dirname, 'node_modules', 'pg-logical-replication', 'dist', 'index.js')
const { LogicalReplicationService, PgoutputPlugin } = (await import(libraryFile)) as Library
const task = JSON.parse(process.argv[2] ?? '') as PostgresPeerTask
await runPeer(task.engine, task.table, (insert) => follow(task, insert))

async function follow(task: PostgresPeerTask, insert: Insert): Promise<number> {
  const { host, port, database, username: user, password, caFile } = task.feed
  const service = new LogicalReplicationService(
    { host, port, database, user, password, ssl: { ca: readFileSync(caFile, 'utf8') } },
    // The defaults would acknowledge received but not inserted rows, and read on during an insert.
    { acknowledge: { auto: false, timeoutSeconds: 0 }, flowControl: { enabled: true } },
  )
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  let gathered: Row[] = []
  let insertedRows = 0
  service.on('error', reject)
  service.on('data', async (lsn, message) => {
    if (message.tag === 'insert' || message.tag === 'update') {
      gathered.push({ ...message.new, _penstock_version: positionOf(lsn), _penstock_deleted: 0 })
    } else if (message.tag === 'delete') {
      gathered.push({ ...(message.key ?? message.old), _penstock_version: positionOf(lsn), _penstock_deleted: 1 })
    }
    if (message.tag !== 'commit') return
    const isLast = insertedRows + gathered.length >= task.changes
    if (gathered.length < task.batchRows && !isLast) return
    await insert(gathered)
    insertedRows += gathered.length
    gathered = []
    await service.acknowledge(lsn)
    if (isLast) resolve()
  })
  const beganAtMs = performance.now()
  const plugin = new PgoutputPlugin({ protoVersion: 1, publicationNames: [task.publication] })
  service.subscribe(plugin, task.slot).catch(reject)
  await done
  const seconds = (performance.now() - beganAtMs) / 1_000
  await service.stop()
  return seconds
}

/** LSN such as `1/16B3748` as a number. */
function positionOf(lsn: string): number {
  const [high = '', low = ''] = lsn.split('/')
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16)
}
