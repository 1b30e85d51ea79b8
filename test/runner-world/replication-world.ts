// Workers of a postgres pipe between a real PostgreSQL and an engine in memory. A worker that dies is replaced by one that has only
// the stored state.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplicaTables } from '../../src/engine/replica-tables.ts'
import { Log } from '../../src/lib/log.ts'
import { defaultScaling } from '../../src/pipes/scaling.ts'
import { defaultSettings } from '../../src/pipes/settings.ts'
import type { EffectivePipe } from '../../src/runner/configuration.ts'
import { replicationName } from '../../src/runner/postgres/names.ts'
import { makeReplicationWorker } from '../../src/runner/postgres/postgres-worker.ts'
import type { WorkerTimes } from '../../src/runner/session.ts'
import type { Worker, WorkerEnd, WorkerStatus } from '../../src/runner/worker.ts'
import type { PostgresSource } from '../../src/source-shapes/postgres-source.ts'
import type { TableMapping } from '../../src/source-shapes/table-mappings.ts'
import { makePostgresAccess } from '../../src/sources/postgres/postgres-access.ts'
import { loopbackEgress } from '../sources/conformance.ts'
import type { PostgresServer } from '../sources/postgres-world.ts'
import { MemoryReplicas } from './memory-replicas.ts'
import { MemoryStore } from './memory-store.ts'
import { MemoryTables } from './memory-tables.ts'

export interface ReplicationWorld {
  replicas: MemoryReplicas
  store: MemoryStore
  tables: MemoryTables
  statuses: WorkerStatus[]
  source: PostgresSource
  pipe: EffectivePipe
  /** Overrides the engine in memory. */
  openTables?: (signal: AbortSignal) => Promise<ReplicaTables>
  /** Overrides the times of this world for workers that are started later. */
  times?: Partial<WorkerTimes>
  /** Starts a worker; aborts the previous one. */
  start(): Running
  readonly running: Running | undefined
  /** Stops the worker at a boundary. */
  pause(): Promise<void>
  stop(): Promise<void>
  query(sql: string): Promise<Record<string, unknown>[]>
  /** Waits for a condition; fails with the last status after a timeout. */
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>
}

export interface Running {
  worker: Worker
  ended: Promise<WorkerEnd>
}

const times = { backOff: { firstMs: 5, longestMs: 20 }, userErrorRetryMs: 2_000, lookAgainMs: 10 }
const longestMs = 60_000
let databases = 0

export function tableMapping(table: string, more: Partial<TableMapping> = {}): TableMapping {
  return {
    sourceSchemaName: 'public',
    sourceTable: table,
    targetTable: table,
    tableEngine: 'ReplacingMergeTree',
    useCustomSortingKey: false,
    sortingKeys: [],
    excludedColumns: [],
    ...more,
  }
}

/** A world with these tables that ends with the test. */
export async function worldOfTest(
  server: PostgresServer,
  context: TestContext,
  sql: string,
  mappings: TableMapping[],
  settings: Partial<PostgresSource['settings']> = {},
): Promise<ReplicationWorld> {
  const world = await makeReplicationWorld(server, { mappings, settings })
  context.after(() => world.stop())
  await world.query(sql)
  return world
}

/** Large enough for several ranges. */
export const orders = `CREATE TABLE orders (id int PRIMARY KEY, note text, amount int);
  INSERT INTO orders SELECT i, 'note ' || i, i * 3 FROM generate_series(1, 3500) i`

export async function makeReplicationWorld(
  server: PostgresServer,
  { mappings, settings = {} }: { mappings: TableMapping[]; settings?: Partial<PostgresSource['settings']> },
): Promise<ReplicationWorld> {
  const database = `replicated_${++databases}`
  await server.query(`CREATE DATABASE ${database}`)
  const source: PostgresSource = {
    host: server.host,
    port: server.port,
    database,
    tableMappings: mappings,
    settings: {
      allowNullableColumns: true,
      enableFailoverSlots: false,
      initialLoadParallelism: 2,
      pullBatchSize: 100_000,
      replicationMode: 'cdc',
      snapshotNumRowsPerPartition: 1_000,
      snapshotNumberOfParallelTables: 1,
      syncIntervalSeconds: 0,
      ...settings,
    },
  }
  const pipe: EffectivePipe = {
    id: `0199a000-0000-7000-8000-${String(databases).padStart(12, '0')}`,
    organizationId: 'organization',
    serviceId: 'service',
    name: 'replicated',
    kind: 'postgres',
    source,
    sealedSecrets: null,
    destination: { database: 'shop', columns: [] },
    fieldMappings: [],
    scaling: defaultScaling,
    settings: defaultSettings,
    state: 'Running',
    createdAt: '2026-11-02T16:40:07.310Z',
    updatedAt: '2026-11-02T16:40:07.310Z',
    version: 1,
  }
  const [replicas, store, tables] = [new MemoryReplicas(), new MemoryStore(), new MemoryTables()]
  const statuses: WorkerStatus[] = []
  const context = { caCertificates: server.ca, allowPlaintext: false, awsEndpoints: {} }
  let epoch = 0
  let running: Running | undefined

  const stop = async (): Promise<void> => {
    running?.worker.abort()
    await running?.ended
    running = undefined
  }
  const world: ReplicationWorld = {
    replicas,
    store,
    tables,
    statuses,
    source,
    pipe,
    start() {
      running?.worker.abort()
      epoch++
      const lease = { workerIndex: 0, workerCount: 1, epoch }
      const secrets = { credentials: server.superuser }
      const worker = makeReplicationWorker(
        {
          ...lease,
          pipe: world.pipe,
          secrets,
          source: makePostgresAccess(world.source, secrets, { ...context, organizationId: 'organization' }),
          openTables: world.openTables ?? (async () => replicas.open()),
          store: store.of(lease),
          tables: tables.of(lease),
          egress: loopbackEgress,
          context,
          log: new Log('silent'),
          report: (status) => statuses.push(status),
        },
        { times: { ...times, ...world.times } },
      )
      running = { worker, ended: worker.run() }
      return running
    },
    get running() {
      return running
    },
    async pause() {
      running?.worker.stop()
      await running?.ended
    },
    async stop() {
      await stop()
      const slot = replicationName(pipe.id)
      for (let round = 0; round < 1_500; round++) {
        const [found] = await server.query(`SELECT active FROM pg_replication_slots WHERE slot_name = '${slot}'`)
        if (!found) break
        if (found.active) await sleep(20)
        else await server.query(`SELECT pg_drop_replication_slot('${slot}')`)
      }
      await server.query(`DROP DATABASE ${database} WITH (FORCE)`)
    },
    query: (sql) => server.query(sql, database),
    async until(what, isSo) {
      const deadlineMs = performance.now() + longestMs
      while (!(await isSo())) {
        const status = statuses.at(-1)
        assert.ok(performance.now() < deadlineMs, `${what} did not happen; ${JSON.stringify(status)}`)
        await sleep(10)
      }
    },
  }
  return world
}
