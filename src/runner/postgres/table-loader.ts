// Loads tables: ranges in parallel, one COPY per range. Each durable range is recorded. A load that resumes after a crash uses a new
// snapshot; row versions reconcile it with the rows of the first one.
import { randomUUID } from 'node:crypto'
import type { RejectedRow } from '../../engine/rejected-row.ts'
import { countOf } from '../../lib/count-text.ts'
import type { StoredTable, TableRange } from '../../progress/tables/stored-table.ts'
import { lsnText, type PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { escapeIdentifier, tableName } from '../../sources/postgres/postgres-names.ts'
import { areStillThere, copyText, planLoad } from '../../sources/postgres/postgres-ranges.ts'
import { type HeldSnapshot, holdSnapshot } from '../../sources/postgres/postgres-snapshot.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { countLines, lineRows, rewriteCopy, shapeOf } from './line-rows.ts'
import { rangeToken } from './names.ts'
import { type Replication, send } from './replication.ts'
import { versionOf } from './row-version.ts'
import { reportBlocker } from './slot-wait.ts'
import type { Target } from './target.ts'

export interface Load {
  target: Target
  described: MappedTable
}

export interface LoadOptions {
  serverVersion: number
  /** Called when the snapshot is set: later commits are not in the loads. */
  begun(): void
  /** Called when all rows of a table are loaded. */
  loaded(target: Target): Promise<void>
}

/** Upper bound of ranges of one table that an earlier attempt can have started without finishing. */
const mostBegun = 64

/** Shared by concurrent loads. The first failure ends the others. */
interface Loading extends Replication {
  failing: AbortController
}

/** Resolves when all tables are loaded, or when the worker stops. */
export async function loadTables(replication: Replication, loads: Load[], options: LoadOptions): Promise<void> {
  const loading = withFailureSignal(replication)
  const { access, connectOptions, source, stopping } = loading
  const isFollowed = source.settings.replicationMode !== 'snapshot'
  const snapshot = await holdSnapshot(access, connectOptions, {
    isFollowed,
    tables: loads.map(({ described }) => described),
    stopping,
    whileWaiting: (link, work) => reportBlocker(loading, link, work, (reason) => loading.status.doing(reason)),
  }).catch((error: unknown) => {
    if (!stopping.aborted) throw error
  })
  if (!snapshot) return
  try {
    // Before the first row is read: later commits come with the stream.
    for (const load of loads) await beginLoad(loading, load, snapshot)
    options.begun()
    const waiting = [...loads]
    const loadNext = async (): Promise<void> => {
      for (let load = waiting.shift(); load && !stopping.aborted; load = waiting.shift()) {
        await loadTable(loading, load, snapshot, options)
      }
    }
    await allOf(loading, Math.min(loads.length, source.settings.snapshotNumberOfParallelTables), loadNext)
  } finally {
    await snapshot.release().catch(() => undefined)
  }
}

function withFailureSignal(replication: Replication): Loading {
  const failing = new AbortController()
  const signal = AbortSignal.any([replication.signal, failing.signal])
  return {
    ...replication,
    failing,
    signal,
    stopping: AbortSignal.any([replication.stopping, failing.signal]),
    connectOptions: { ...replication.connectOptions, signal },
  }
}

async function beginLoad({ tables }: Loading, { target, described }: Load, snapshot: HeldSnapshot): Promise<void> {
  const { targetTable, rangeCount, beginLsn } = target.stored
  const left = rangeCount === null ? [] : await tables.listRanges(targetTable)
  const files = snapshot.files.get(described.found.id) ?? []
  const isOtherFile = !areStillThere(
    left.map(({ range }) => range),
    files,
  )
  if (beginLsn !== null && !isOtherFile) return
  if (beginLsn === null) target.beginLsn = snapshot.lsn
  target.stored = {
    ...target.stored,
    beginLsn: beginLsn ?? lsnText(snapshot.lsn),
    ...(isOtherFile ? notPlanned() : {}),
  }
  await tables.saveTable(target.stored)
}

/** A new `loadId`, so that tokens of the earlier ranges are not used for other rows. */
function notPlanned(): Partial<StoredTable> {
  return {
    loadId: randomUUID(),
    rowsEstimated: null,
    rowsLoaded: 0,
    rangeCount: null,
    rangesDone: 0,
    loadStartedAt: null,
  }
}

async function loadTable(
  replication: Loading,
  { target, described }: Load,
  snapshot: HeldSnapshot,
  { serverVersion, loaded }: LoadOptions,
): Promise<void> {
  const { tables, source, access, stopping } = replication
  const isResumed = target.stored.rangeCount !== null
  if (!isResumed) await planTable(replication, { target, described }, snapshot, serverVersion)
  const ranges = await tables.listRanges(target.stored.targetTable)
  // Ranges start in this order.
  const begun = new Set(ranges.slice(0, mostBegun))
  let isLoading = false
  const loadRanges = async (): Promise<void> => {
    const link = await snapshot.open(described).catch((error: unknown) => {
      // The server may be out of connections: the open ones load the remaining ranges.
      if (!isLoading && !stopping.aborted) throw error
    })
    if (!link) return
    isLoading = true
    try {
      for (let range = ranges.shift(); range && !stopping.aborted; range = ranges.shift()) {
        await loadRange(replication, target, link, {
          range,
          lsn: snapshot.lsn,
          isRepeat: isResumed,
          mayBeBegun: begun.has(range),
        })
      }
    } catch (error) {
      throw access.classifyError(error)
    } finally {
      await link.close()
    }
  }
  await allOf(replication, Math.min(ranges.length, source.settings.initialLoadParallelism), loadRanges)
  if (!stopping.aborted) await loaded(target)
}

/** Rejects with the first failure; later ones follow from it. */
async function allOf({ failing }: Loading, count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => work().catch((error: unknown) => failing.abort(error))))
  failing.signal.throwIfAborted()
}

async function planTable(
  { tables, source, access, status }: Replication,
  { target, described }: Load,
  snapshot: HeldSnapshot,
  serverVersion: number,
): Promise<void> {
  const { settings } = source
  status.doing(`Looking how to load ${tableName(target.mapping)}`)
  const link = await snapshot.open(described)
  try {
    const { ranges, rowsEstimated } = await planLoad(link, described, {
      rowsPerRange: settings.snapshotNumRowsPerPartition,
      isFollowed: settings.replicationMode !== 'snapshot',
      serverVersion,
    })
    const numbered = ranges.map((range, number) => ({ number, range }))
    await tables.planLoad(target.stored.targetTable, { ranges: numbered, rowsEstimated })
    target.stored = { ...target.stored, rangeCount: ranges.length, rowsEstimated }
  } catch (error) {
    throw access.classifyError(error)
  } finally {
    await link.close()
  }
}

async function loadRange(
  replication: Replication,
  target: Target,
  link: PostgresLink,
  { range, lsn, isRepeat, mayBeBegun }: { range: TableRange; lsn: bigint; isRepeat: boolean; mayBeBegun: boolean },
): Promise<void> {
  const { tables, status, builder, well } = replication
  const { columns, stored, mapping } = target
  status.doing(`Loading ${tableName(mapping)}: ${loadedText(target)}`)
  const chunks: Buffer[] = []
  const rejected: RejectedRow[] = []
  let count = 0
  for await (const chunk of link.copyOut(copyText(range.range, expressionsOf(target, lsn)))) {
    const before = count
    const rewritten = await builder.build(async () =>
      rewriteCopy(columns, chunk, ({ index, reason }) => rejected.push({ index: before + index, reason })),
    )
    chunks.push(rewritten)
    count += countLines([rewritten])
  }
  const rows = lineRows({
    shape: shapeOf(columns),
    chunks,
    count,
    rejected,
    partition: tableName(mapping),
    loadId: stored.loadId,
    position: (index) => `row ${index + 1} of range ${range.number}`,
  })
  // An earlier attempt read the range from another snapshot. Only a ReplacingMergeTree merges both versions of a row.
  const mayBeCompared = mayBeBegun && mapping.tableEngine === 'ReplacingMergeTree'
  const identity = mayBeCompared ? undefined : 'none'
  const token = rangeToken(stored.loadId, range.number)
  const counters = await send(replication, target, { token, rows, isRepeat, identity })
  // The send was given up because the worker stops.
  if (!counters) return
  await tables.finishRange(stored.targetTable, { number: range.number, rows: rows.count, counters })
  target.stored.rowsLoaded += rows.count
  well()
}

function loadedText({ stored: { rowsLoaded, rowsEstimated } }: Target): string {
  return rowsEstimated === null
    ? `${countOf(rowsLoaded, 'row')} so far`
    : `${countOf(rowsLoaded, 'row')} of about ${rowsEstimated.toLocaleString('en-US')}`
}

/** Expressions that COPY reads: the columns, the version, and 0 as the deletion flag. */
function expressionsOf({ columns }: Target, lsn: bigint): string[] {
  const values = columns.map(({ name, values: { expression } }) => expression(escapeIdentifier(name)))
  return [...values, String(versionOf(lsn, 0)), '0']
}
