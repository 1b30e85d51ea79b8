// Servers of the benchmark: engines, sources and Penstock, each started when it is first requested.
import { startModernEngine } from '../../test/real/servers/chdb.ts'
import { startClickHouse } from '../../test/real/servers/clickhouse.ts'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { type FeedServer, startKafkaFeed, startObjectFeed } from './feeds.ts'
import { type KinesisFeedServer, startKinesisFeed } from './kinesis-feed.ts'
import { type Penstock, startPenstock } from './penstock.ts'
import { type PostgresFeedServer, startPostgresFeed } from './postgres-feed.ts'
import { type QueueFeedServer, startQueueFeed } from './queue-feed.ts'

export type EngineName = 'debian' | 'modern'
export type FeedName = 'kafka' | 'objects'

export interface Servers {
  engine(name: EngineName): Promise<EngineServer>
  feed(name: FeedName): Promise<FeedServer>
  kinesis(rows: number): Promise<KinesisFeedServer>
  queue(rows: number): Promise<QueueFeedServer>
  postgres(): Promise<PostgresFeedServer>
  /** One process per name. */
  penstock(name: string, environment?: Record<string, string>): Promise<Penstock>
  stop(): Promise<void>
}

export interface ServersOptions {
  folder: string
  /** Node flags for Penstock. */
  flags: string[]
  starting(name: string): void
}

/** Flush interval of the query log as Debian sets it. Tests use a shorter one, which costs the engine CPU. */
const startUsualClickHouse = (): Promise<EngineServer> => startClickHouse({ logFlushMs: 7_500 })

export function makeServers({ folder, flags, starting }: ServersOptions): Servers {
  const started = new Map<string, Promise<{ stop(): Promise<void> }>>()
  const once = <Server extends { stop(): Promise<void> }>(
    name: string,
    start: () => Promise<Server>,
  ): Promise<Server> => {
    const known = started.get(name)
    if (known) return known as Promise<Server>
    starting(name)
    const server = start()
    started.set(name, server)
    return server
  }
  return {
    engine: (name) => once(`engine ${name}`, name === 'debian' ? startUsualClickHouse : startModernEngine),
    feed: (name) => once(name, name === 'kafka' ? startKafkaFeed : startObjectFeed),
    kinesis: (rows) => once(`Kinesis with ${rows.toLocaleString('en')} rows`, () => startKinesisFeed(folder, rows)),
    queue: (rows) => once(`a queue of ${rows.toLocaleString('en')} rows`, () => startQueueFeed(rows)),
    postgres: () => once('PostgreSQL', () => startPostgresFeed(folder)),
    penstock: (name, environment = {}) =>
      once(`Penstock for ${name}`, () => startPenstock(name, { folder, flags, environment })),
    async stop() {
      const servers = await Promise.allSettled(started.values())
      await Promise.all(servers.map((server) => (server.status === 'fulfilled' ? server.value.stop() : undefined)))
    },
  }
}
