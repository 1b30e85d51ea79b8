// Servers of the drills, each started when it is first requested, and stopped together.
import { startPostgres } from '../src/embedded-postgres/postgres-server.ts'
import { startModernEngine } from '../test/real/servers/chdb.ts'
import { startClickHouse } from '../test/real/servers/clickhouse.ts'
import type { EngineServer } from '../test/real/servers/engine.ts'
import { startKafka } from '../test/real/servers/kafka.ts'
import { startVersitygw } from '../test/real/servers/versitygw.ts'
import { startKafkaBroker } from '../test/sources/kafka-broker/broker.ts'
import type { KafkaServer, Login } from '../test/sources/kafka-server.ts'
import { type ObjectServer, startObjectServer } from '../test/sources/object-server.ts'
import { type BareKinesis, type BareObjects, startBareKinesis, startBareObjects } from './bare-servers.ts'
import { type SourceName, type SourceServer, startSource } from './postgres-server.ts'

export type EngineName = 'old' | 'modern'
export const engineNames: EngineName[] = ['old', 'modern']

export interface Servers {
  engine(name: EngineName): Promise<EngineServer>
  /** Apache Kafka if `isReal`, otherwise our in-process broker. */
  kafka(isReal: boolean): Promise<KafkaServer>
  objects(isReal: boolean): Promise<ObjectServer>
  kinesis(): Promise<BareKinesis>
  /** Accepts every request, and has queues. */
  bareObjects(): Promise<BareObjects>
  /** Replication source. */
  postgres(name: SourceName): Promise<SourceServer>
  /** Returns the URL of a new database. */
  newDatabase(): Promise<string>
  stop(): Promise<void>
}

/** Second login that our broker accepts. */
export const secondLogin: Login = { username: 'second', password: 'also allowed, to read' }

export function makeServers(): Servers {
  const started = new Map<string, Promise<{ stop(): Promise<void> }>>()
  let databases = 0
  const once = <Server extends { stop(): Promise<void> }>(
    name: string,
    start: () => Promise<Server>,
  ): Promise<Server> => {
    const known = started.get(name) ?? start()
    started.set(name, known)
    return known as Promise<Server>
  }
  return {
    engine: (name) => once(`engine ${name}`, name === 'old' ? startClickHouse : startModernEngine),
    kafka: (isReal) =>
      isReal
        ? once('Kafka', startKafka)
        : once('broker', () => startKafkaBroker({ users: [{ ...secondLogin, permissions: {} }] })),
    objects: (isReal) => (isReal ? once('Versity', startVersitygw) : once('objects', () => startObjectServer())),
    kinesis: () => once('Kinesis', startBareKinesis),
    bareObjects: () => once('bare objects', startBareObjects),
    postgres: (name) => once(`PostgreSQL ${name}`, () => startSource(name)),
    async newDatabase() {
      const postgres = await once('PostgreSQL', () => startPostgres())
      return postgres.createDatabase(`chaos_${++databases}`)
    },
    async stop() {
      const servers = await Promise.allSettled(started.values())
      await Promise.all(servers.map((server) => (server.status === 'fulfilled' ? server.value.stop() : undefined)))
    },
  }
}
