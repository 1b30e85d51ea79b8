// One pipe from changing PostgreSQL tables into an engine, with every part killable. When writing has stopped and the pipe has
// caught up, both sides must have the same rows.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Difference } from './expected-rows.ts'
import type { FaultTarget } from './faults.ts'
import type { Outcome } from './pipe-world.ts'
import { compareTable } from './postgres-compare.ts'
import type { SourceServer } from './postgres-server.ts'
import { guest, type SourceTable, sourceTables } from './postgres-tables.ts'
import { startWriter } from './postgres-writer.ts'
import { makeRandom, type Random } from './random.ts'
import { makeStage, type Stage, type StageOptions } from './stage.ts'
import { startTcpProxy } from './tcp-proxy.ts'

export interface PostgresWorldOptions extends StageOptions {
  source: SourceServer
  random: Random
}

export interface PostgresWorld extends Stage, FaultTarget {
  source: SourceServer
  /** Currently replicated tables by target; change them with `patch`. */
  targets: Map<string, SourceTable>
  begin(): Promise<void>
  /** Changes tables until the returned function is called. */
  write(): () => Promise<void>
  resync(): Promise<void>
  /** Resolves when every table is loaded and replicating. */
  untilFollowing(timeoutMs: number): Promise<void>
  /** Waits until the pipe has caught up, and compares. */
  drain(timeoutMs: number): Promise<Outcome>
}

export async function makePostgresWorld(options: PostgresWorldOptions): Promise<PostgresWorld> {
  const { database, source, random } = options
  await source.createDatabase(database)
  await createTables(source, database)
  const proxy = await startTcpProxy(source)
  const stage = await makeStage(options)
  const hasNulls = random.happens(0.5)
  const settings = settingsOf(random, hasNulls)
  const targets = new Map(sourceTables.map((table) => [table.name, table]))
  let changes = 0
  stage.history.note(`settings: ${JSON.stringify(settings)}`)

  const world: PostgresWorld = {
    ...stage,
    get pipePath() {
      return stage.pipePath
    },
    source,
    feed: proxy,
    targets,
    begin: () =>
      stage.createPipe({
        name: 'rows',
        source: {
          postgres: {
            host: '127.0.0.1',
            port: Number(new URL(proxy.url).port),
            database,
            credentials: source.user,
            settings,
            tableMappings: sourceTables.map((table) => mappingOf(table)),
          },
        },
        destination: { database },
      }),
    write() {
      // A separate generator: other random choices do not affect these.
      const choices = makeRandom(random.below(2 ** 31))
      const writer = startWriter({ server: source, database, tables: [...sourceTables, guest], random: choices })
      return async () => {
        await writer.stop()
        changes += writer.changes
        stage.history.note(`${changes} changes were written`)
      }
    },
    async resync() {
      await stage.call('PATCH', `${stage.pipePath}/state`, { command: 'resync' })
    },
    untilFollowing: (timeoutMs) => untilFollowing(stage, timeoutMs),
    // The row count of a table shrinks when the engine merges it.
    countRows: async () => (await stage.metrics()).rowsWritten,
    async drain(timeoutMs) {
      await arrival(world, database, timeoutMs)
      const differences = await compareAll(world, { database, hasNulls })
      const { inserts, retries, rowsRefused } = await stage.metrics()
      const outcome: Outcome = {
        rows: differences,
        badRows: { lost: 0, extra: rowsRefused, examples: [] },
        producedRows: changes,
        producedBadRows: 0,
        inserts,
        retries,
      }
      stage.history.note(`outcome: ${JSON.stringify(outcome)}`)
      stage.history.note(`metrics: ${JSON.stringify(await stage.metrics())}`)
      return outcome
    },
    async close(isFailure) {
      const kept = await stage.close(isFailure)
      if (kept !== undefined) writeFileSync(join(kept, 'postgres.log'), await source.logged())
      await proxy.close()
      await source.dropDatabase(database)
      return kept
    },
  }
  return world
}

export function mappingOf({ name, engine }: SourceTable, targetTable = name): object {
  return { sourceSchemaName: 'public', sourceTable: name, targetTable, tableEngine: engine }
}

function settingsOf(random: Random, allowNullableColumns: boolean): object {
  return {
    allowNullableColumns,
    syncIntervalSeconds: 1,
    // Small batches are full before the interval has passed.
    pullBatchSize: random.pick([100, 2_000, 100_000]),
    snapshotNumRowsPerPartition: 1_000,
    initialLoadParallelism: random.between(1, 4),
    snapshotNumberOfParallelTables: random.between(1, 3),
  }
}

async function createTables(source: SourceServer, database: string): Promise<void> {
  const client = await source.connect(database)
  try {
    for (const { create } of [...sourceTables, guest]) for (const sql of create) await client.query(sql)
    await client.query('ANALYZE')
  } finally {
    await client.end()
  }
}

async function untilFollowing(stage: Stage, timeoutMs: number): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs
  for (;;) {
    const { state, stateReason, tables, doing } = await stage.metrics()
    if (state === 'Failed' || state === 'InternalError') throw new Error(`the pipe is ${state}: ${stateReason}`)
    if (state === 'Running' && tables.every((table) => table.state === 'following' && !table.isResync)) return
    if (Date.now() > deadlineMs) throw new Error(`the pipe is ${state}: ${stateReason ?? doing}`)
    await sleep(100)
  }
}

/** Waits until the whole WAL of the source is acknowledged and no insert is in flight. */
async function arrival(world: PostgresWorld, database: string, timeoutMs: number): Promise<void> {
  const { source, history, select } = world
  await world.untilFollowing(timeoutMs)
  const client = await source.connect(database)
  try {
    const { rows } = await client.query('SELECT pg_current_wal_lsn() AS lsn')
    history.note(`waiting for ${rows[0].lsn}`)
    const deadlineMs = Date.now() + timeoutMs
    for (;;) {
      const slots = await client.query(
        `SELECT 1 FROM pg_replication_slots WHERE NOT temporary AND database = current_database()
         AND confirmed_flush_lsn >= '${rows[0].lsn}'`,
      )
      const open = await select('SELECT 1 AS open FROM pipe_deliveries')
      if (slots.rows.length === 1 && open.length === 0) return
      if (Date.now() > deadlineMs) throw new Error('the pipe did not acknowledge the whole WAL')
      await sleep(100)
    }
  } finally {
    await client.end()
  }
}

async function compareAll(
  { source, engine, targets }: PostgresWorld,
  { database, hasNulls }: { database: string; hasNulls: boolean },
): Promise<Difference> {
  const all: Difference = { lost: 0, extra: 0, examples: [] }
  const client = await source.connect(database)
  try {
    for (const [target, table] of targets) {
      const { lost, extra, examples } = await compareTable({ client, engine, database, hasNulls }, table, target)
      all.lost += lost
      all.extra += extra
      all.examples.push(...examples)
    }
    return all
  } finally {
    await client.end()
  }
}
