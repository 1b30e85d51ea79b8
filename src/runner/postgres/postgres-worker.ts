// Worker of a postgres pipe: sets up slot and publication, and runs initial load and change data capture (CDC) at the same time. All
// state that matters between two attempts is in the database, none in memory.
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import { type PostgresLink, parseLsn } from '../../sources/postgres/postgres-link.ts'
import { findRetained } from '../../sources/postgres/postgres-maintenance.ts'
import { ensurePublication } from '../../sources/postgres/postgres-publication.ts'
import { pause } from '../back-off.ts'
import { runMover, type WorkerOptions } from '../move.ts'
import type { CommonParts, Worker } from '../worker.ts'
import { afterLogLost, checkOrigin, ensureSlot } from './ensure-slot.ts'
import { guardTables } from './guard-tables.ts'
import { runInitialLoad, startInitialLoad } from './initial-load.ts'
import { walPartition } from './names.ts'
import { openTargets, type Targets } from './open-targets.ts'
import { makeGate, type Replication } from './replication.ts'
import { applySchemaChange, reload } from './schema-change.ts'
import { type CatalogHealth, watchSource } from './source-watch.ts'
import { makeStream, type Stream } from './stream.ts'
import { publicationIdOf, recordUnfollowed, recordUnpublished, replicationNames } from './table-coverage.ts'
import { isLogTable } from './table-plan.ts'
import { checkTimeline } from './timeline.ts'

/** Times `lookAgainMs`: time that the stream waits for the start of loads, unless `waitForLoads` requires their start. */
const longestWaitForLoads = 10

export interface ReplicationParts extends CommonParts {
  source: PostgresAccess
  openTables(signal: AbortSignal): Promise<ReplicaTables>
}

export function makeReplicationWorker(parts: ReplicationParts, options: WorkerOptions = {}): Worker {
  const { source: access, openTables, egress } = parts
  return runMover(parts, options, {
    concurrentInserts: 1,
    open: openTables,
    close: (engine) => engine.close(),
    async prepare(_engine, signal) {
      await access.describe({ egress, signal }, replicationNames({ source: access.config, parts }))
    },
    async measure(signal) {
      const { config } = access
      // A snapshot pipe has no slot.
      if (config.settings.replicationMode === 'snapshot') return {}
      const context = { ...parts.context, organizationId: parts.pipe.organizationId }
      const visited = { source: config, secrets: parts.secrets, context }
      const { slot } = replicationNames({ source: config, parts })
      const { retainedBytes } = await findRetained(visited, { egress, signal }, slot)
      return { retainedBytes }
    },
    move(session, engine) {
      const { signal } = session
      return replicate({
        ...session,
        parts,
        access,
        engine,
        tables: guardTables(parts.tables, signal),
        source: access.config,
        connectOptions: { egress, signal },
        gate: makeGate(),
      })
    },
  })
}

/** Resolves when the worker was asked to stop, or when the load of a snapshot pipe is complete. */
async function replicate(session: Replication): Promise<'stopped' | 'completed'> {
  const catalogHealth: CatalogHealth = { problem: undefined }
  const replication = { ...session, well: () => session.well(catalogHealth.problem) }
  const { status, source, stopping } = replication
  status.doing('Looking at the source')
  const described = await replication.access
    .describe(replication.connectOptions, replicationNames(replication))
    .catch(async (error: unknown) => {
      await recordUnfollowed(replication, error)
      throw error
    })
  if (source.settings.replicationMode === 'snapshot') {
    const targets = await openTargets(replication, described)
    await runInitialLoad(replication, described, targets)
    return stopping.aborted ? 'stopped' : 'completed'
  }
  const link = await replication.access.open(replication.connectOptions, { isReplication: false })
  try {
    return await follow(replication, catalogHealth, described, link)
  } catch (error) {
    await recordUnfollowed(replication, error)
    throw replication.access.classifyError(await afterLogLost(replication, error))
  } finally {
    await link.close()
  }
}

async function follow(
  replication: Replication,
  catalogHealth: CatalogHealth,
  found: DescribedSource,
  link: PostgresLink,
): Promise<'stopped' | 'completed'> {
  const { access, connectOptions, source, stopping, store, status } = replication
  const { slot, publication } = replicationNames(replication)
  await recordUnpublished(replication, found)
  const change = await ensurePublication(link, source, found, publication)
  const described = change === 'unchanged' ? found : await access.describe(connectOptions, { slot, publication })
  const wal = await access.open(connectOptions, { isReplication: true })
  try {
    await checkOrigin(replication, wal)
    // Creating a slot waits for all running transactions to end, which can take long.
    const giveUp = (): void => void wal.close()
    stopping.addEventListener('abort', giveUp, { once: true })
    const publicationId = publicationIdOf(described, publication)
    const keeping = ensureSlot(replication, { link, wal, publicationId, isPublicationNew: change === 'created' })
    await keeping.finally(() => stopping.removeEventListener('abort', giveUp))
    const targets = await openTargets(replication, described)
    let stream: Stream | undefined
    const { loading, begun } = startInitialLoad(replication, described, targets, () => stream?.targetsChanged())
    await Promise.race([begun, loading, waitForLoads(replication, targets)])
    if (stopping.aborted) {
      await loading
      return 'stopped'
    }
    const [positions, deliveries] = [await store.listPositions(), await store.listDeliveries()]
    const position = positions.find(({ partition }) => partition === walPartition)?.position
    const left = deliveries.find(({ ranges }) => ranges[0]?.partition === walPartition)
    const durable = position === undefined ? 0n : parseLsn(position)
    await checkTimeline(replication, wal, durable)
    status.doing('Waiting for changes')
    stream = makeStream(replication, {
      wal: await wal.startReplication({ slot, publication, from: durable }),
      link,
      durable,
      left,
      nextNumber: 1 + Math.max(0, ...deliveries.map(({ number }) => number)),
      targetsOf: (relation) => targets.of(relation),
      partitionsOf: (id) => targets.all.filter(({ ancestors }) => ancestors.includes(String(id))),
      isFilled: (target) => targets.has(target),
      isLoading: () => targets.all.some(({ stored }) => stored.phase === 'snapshot'),
      applySchemaChange: (change) => applySchemaChange(replication, targets, change),
      reload: (need) => reload(replication, targets, need),
    })
    await runUntilFirstFailure(replication, stream.follow(), loading, watchSource(replication, targets, catalogHealth))
    return 'stopped'
  } finally {
    await wal.close()
  }
}

/**
 * A row that comes with both load and stream is one row in a copy but two rows in a log table. In a reload, a row of the stream could
 * stay although the load does not have it. In these cases the stream waits until the load has begun.
 */
async function waitForLoads({ times, stopping }: Replication, { all }: Targets): Promise<void> {
  const mustBegin = all.some(({ stored, mapping, ancestors }) => {
    if (stored.phase !== 'snapshot' || stored.beginLsn !== null) return false
    return isLogTable(mapping) || stored.replaces !== null || mapping.useCustomSortingKey || ancestors.length > 0
  })
  do await pause(longestWaitForLoads * times.lookAgainMs, stopping)
  while (mustBegin && !stopping.aborted)
}

/** Rejects with the first failure, which also ends the others. */
async function runUntilFirstFailure({ end }: Replication, ...works: Promise<void>[]): Promise<void> {
  let failure: { error: unknown } | undefined
  const watched = works.map((work) =>
    work.catch((error: unknown) => {
      failure ??= { error }
      end()
    }),
  )
  await Promise.all(watched)
  if (failure) throw failure.error
}
