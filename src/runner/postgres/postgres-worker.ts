// Replicates tables of PostgreSQL: sets up what it needs at the source, loads what is not loaded yet, and follows the changes, all
// at the same time. Between two attempts nothing is kept in memory that decides anything: what is in the database does.
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import { type PostgresLink, parseLsn } from '../../sources/postgres/postgres-link.ts'
import { keepPublication } from '../../sources/postgres/postgres-publication.ts'
import { findRetained } from '../../sources/postgres/postgres-visit.ts'
import { pause } from '../back-off.ts'
import { runMover, type WorkerOptions } from '../move.ts'
import type { CommonParts, Worker } from '../worker.ts'
import { loadAll, startLoading } from './all-loads.ts'
import { guardTables } from './guard-tables.ts'
import { walPartition } from './names.ts'
import { afterLogLost, keepOrigin, keepSlot } from './own-slot.ts'
import { makeGate, type Replication } from './replication.ts'
import { reload, reshape } from './reshape.ts'
import { type Sight, watchSource } from './source-watch.ts'
import { makeStream, type Stream } from './stream.ts'
import { publicationIdOf, recordUnfollowed, recordUnpublished, replicationNames } from './table-coverage.ts'
import { isLogTable } from './table-plan.ts'
import { openTargets, type Targets } from './targets.ts'
import { keepTimeline } from './timeline.ts'

/** Of `lookAgainMs`: changes of copies that are new wait so long at most until it is known from which LSN on they are not in a load. */
const longestWaitForLoads = 10

export interface ReplicationParts extends CommonParts {
  source: PostgresAccess
  openTables(signal: AbortSignal): Promise<ReplicaTables>
}

export function makeReplicationWorker(parts: ReplicationParts, options: WorkerOptions = {}): Worker {
  const { source: access, openTables, egress } = parts
  return runMover(parts, options, {
    lanes: 1,
    open: openTables,
    close: (engine) => engine.close(),
    async prepare(_engine, signal) {
      await access.describe({ egress, signal }, replicationNames({ source: access.config, parts }))
    },
    async measure(signal) {
      const { config } = access
      // A pipe that only loads has no slot.
      if (config.settings.replicationMode === 'snapshot') return {}
      const context = { ...parts.context, organizationId: parts.pipe.organizationId }
      const visited = { place: config, secrets: parts.secrets, context }
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
        surroundings: { egress, signal },
        gate: makeGate(),
      })
    },
  })
}

/** Resolves when the worker was told to stop, or when everything is loaded and nothing is to be followed. */
async function replicate(session: Replication): Promise<'stopped' | 'completed'> {
  const sight: Sight = { blindness: undefined }
  const replication = { ...session, well: () => session.well(sight.blindness) }
  const { status, source, stopping } = replication
  status.doing('Looking at the source')
  const described = await replication.access
    .describe(replication.surroundings, replicationNames(replication))
    .catch(async (error: unknown) => {
      await recordUnfollowed(replication, error)
      throw error
    })
  if (source.settings.replicationMode === 'snapshot') {
    const targets = await openTargets(replication, described)
    await loadAll(replication, described, targets)
    return stopping.aborted ? 'stopped' : 'completed'
  }
  const link = await replication.access.open(replication.surroundings, { isReplication: false })
  try {
    return await follow(replication, sight, described, link)
  } catch (error) {
    await recordUnfollowed(replication, error)
    throw replication.access.judge(await afterLogLost(replication, error))
  } finally {
    await link.close()
  }
}

async function follow(
  replication: Replication,
  sight: Sight,
  found: DescribedSource,
  link: PostgresLink,
): Promise<'stopped' | 'completed'> {
  const { access, surroundings, source, stopping, store, status } = replication
  const { slot, publication } = replicationNames(replication)
  await recordUnpublished(replication, found)
  const change = await keepPublication(link, source, found, publication)
  const described = change === 'unchanged' ? found : await access.describe(surroundings, { slot, publication })
  const wal = await access.open(surroundings, { isReplication: true })
  try {
    await keepOrigin(replication, wal)
    // A slot is made when all transactions of before have ended, which can be long.
    const giveUp = (): void => void wal.close()
    stopping.addEventListener('abort', giveUp, { once: true })
    const publicationId = publicationIdOf(described, publication)
    const keeping = keepSlot(replication, { link, wal, publicationId, isPublicationNew: change === 'created' })
    await keeping.finally(() => stopping.removeEventListener('abort', giveUp))
    const targets = await openTargets(replication, described)
    let stream: Stream | undefined
    const { loading, begun } = startLoading(replication, described, targets, () => stream?.lookAgain())
    await Promise.race([begun, loading, waitForLoads(replication, targets)])
    if (stopping.aborted) {
      await loading
      return 'stopped'
    }
    const [positions, deliveries] = [await store.listPositions(), await store.listDeliveries()]
    const position = positions.find(({ partition }) => partition === walPartition)?.position
    const left = deliveries.find(({ ranges }) => ranges[0]?.partition === walPartition)
    const durable = position === undefined ? 0n : parseLsn(position)
    await keepTimeline(replication, wal, durable)
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
      reshape: (change) => reshape(replication, targets, change),
      reload: (need) => reload(replication, targets, need),
    })
    await together(replication, stream.follow(), loading, watchSource(replication, targets, sight))
    return 'stopped'
  } finally {
    await wal.close()
  }
}

/**
 * A row that comes with a load and with the stream is one row in a copy, and two rows in a log table. What is loaded again may lack
 * changes in the log: a row that the stream brings would stay although the load does not have it.
 */
async function waitForLoads({ times, stopping }: Replication, { all }: Targets): Promise<void> {
  const mustBegin = all.some(({ stored, mapping, ancestors }) => {
    if (stored.phase !== 'snapshot' || stored.beginLsn !== null) return false
    return isLogTable(mapping) || stored.replaces !== null || mapping.useCustomSortingKey || ancestors.length > 0
  })
  do await pause(longestWaitForLoads * times.lookAgainMs, stopping)
  while (mustBegin && !stopping.aborted)
}

/** What fails first ends the others too, and is what is told. */
async function together({ end }: Replication, ...works: Promise<void>[]): Promise<void> {
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
