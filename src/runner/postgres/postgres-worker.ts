// Replicates tables of PostgreSQL: sets up what it needs at the source, loads what is not loaded yet, and follows the changes, all
// at the same time. Between two attempts nothing is kept in memory that decides anything: what is in the database does.
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import { type PostgresLink, parseLsn } from '../../sources/postgres/postgres-link.ts'
import { keepPublication } from '../../sources/postgres/postgres-setup.ts'
import { pause } from '../back-off.ts'
import { runMover, type WorkerOptions } from '../move.ts'
import type { CommonParts, Worker } from '../worker.ts'
import { loadAll, startLoading } from './all-loads.ts'
import { guardTables } from './guard-tables.ts'
import { replicationName, walPartition } from './names.ts'
import { afterLogLost, keepOrigin, keepSlot, slotName } from './own-slot.ts'
import { makeGate, type Replication } from './replication.ts'
import { LogLost, makeStream, type Stream } from './stream.ts'
import { openTargets, reshape, watchNames } from './targets.ts'

/** Changes wait so long at most for the moment from which a new table is loaded: until then they may be in the load as well. */
const longestWaitForLoadMs = 10_000

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
      await access.describe({ egress, signal }, slotName({ source: access.config, parts }))
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
async function replicate(replication: Replication): Promise<'stopped' | 'completed'> {
  const { status, source, stopping } = replication
  status.doing('Looking at the source')
  const described = await replication.access.describe(replication.surroundings, slotName(replication))
  if (source.settings.replicationMode === 'snapshot') {
    const targets = await openTargets(replication, described)
    await loadAll(replication, described, targets)
    return stopping.aborted ? 'stopped' : 'completed'
  }
  const link = await replication.access.open(replication.surroundings, { isReplication: false })
  try {
    return await follow(replication, described, link)
  } catch (error) {
    throw replication.access.judge(await afterLogLost(replication, error))
  } finally {
    await link.close()
  }
}

async function follow(
  replication: Replication,
  described: DescribedSource,
  link: PostgresLink,
): Promise<'stopped' | 'completed'> {
  const { access, surroundings, source, parts, stopping, store, status } = replication
  const publication = await keepPublication(link, source, described, replicationName(parts.pipe.id))
  const wal = await access.open(surroundings, { isReplication: true })
  try {
    await keepOrigin(replication, wal)
    // A slot is made when all transactions of before have ended, which can be long.
    const giveUp = (): void => void wal.close()
    stopping.addEventListener('abort', giveUp, { once: true })
    await keepSlot(replication, { link, wal }).finally(() => stopping.removeEventListener('abort', giveUp))
    const targets = await openTargets(replication, described)
    let stream: Stream | undefined
    const { loading, begun } = startLoading(replication, described, targets, () => stream?.lookAgain())
    await Promise.race([begun, loading, pause(longestWaitForLoadMs, stopping)])
    if (stopping.aborted) {
      await loading
      return 'stopped'
    }
    const [positions, deliveries] = [await store.listPositions(), await store.listDeliveries()]
    const position = positions.find(({ partition }) => partition === walPartition)?.position
    const left = deliveries.find(({ ranges }) => ranges[0]?.partition === walPartition)
    const durable = position === undefined ? 0n : parseLsn(position)
    // A server that was restored is not where we have been.
    const [system] = await wal.query('IDENTIFY_SYSTEM')
    if (parseLsn(system?.[2] ?? '') < durable) throw new LogLost()
    status.doing('Waiting for changes')
    stream = makeStream(replication, {
      wal: await wal.startReplication({ slot: slotName(replication), publication, from: durable }),
      link,
      durable,
      left,
      nextNumber: 1 + Math.max(0, ...deliveries.map(({ number }) => number)),
      targetsOf: (relation) => targets.of(relation),
      isFilled: (target) => targets.has(target),
      isLoading: () => targets.all.some(({ stored }) => stored.phase === 'snapshot'),
      reshape: (relation, before) => reshape(replication, targets, relation, before),
    })
    await together(replication, stream.follow(), loading, watchNames(replication, targets))
    return 'stopped'
  } finally {
    await wal.close()
  }
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
