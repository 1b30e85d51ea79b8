// The servers that runs need, each started once and when it is first asked for, and all stopped together.
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
  /** Real: Apache Kafka, and otherwise our broker. */
  kafka(isReal: boolean): Promise<KafkaServer>
  objects(isReal: boolean): Promise<ObjectServer>
  kinesis(): Promise<BareKinesis>
  /** Lets everyone in, and has queues. */
  bareObjects(): Promise<BareObjects>
  /** To replicate from. */
  postgres(name: SourceName): Promise<SourceServer>
  /** The address of a database of its own. */
  newDatabase(): Promise<string>
  stop(): Promise<void>
}

/** Also lets in by our broker. */
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
