// Loads tables: ranges in parallel, each with one COPY whose text goes to the engine as it is. What is durable is recorded range by
// range; whoever goes on after a crash does so with another moment of the source, which versions make one with the first.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { countOf } from '../../lib/count-text.ts'
import { lsnText, type PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { areStillThere, copyText, planLoad } from '../../sources/postgres/postgres-ranges.ts'
import { type HeldSnapshot, holdSnapshot } from '../../sources/postgres/postgres-snapshot.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import type { RefusedRow } from '../delivery.ts'
import { countLines, lineRows, rewriteCopy, shapeOf } from './line-rows.ts'
import { rangeToken } from './names.ts'
import { type Replication, send } from './replication.ts'
import { reportBlocker } from './slot-wait.ts'
import type { StoredTable, TableRange } from './table-store.ts'
import type { Target } from './target.ts'
import { versionOf } from './versions.ts'

export interface Load {
  target: Target
  described: MappedTable
}

export interface LoadOptions {
  serverVersion: number
  /** From here on, what is committed is not in the loads. */
  begun(): void
  /** A table has all its rows. */
  loaded(target: Target): Promise<void>
}

/** More ranges of a table than were ever loaded at the same time. */
const mostBegun = 64

/** What works on loads at the same time. What fails first ends the others. */
interface Loading extends Replication {
  failing: AbortController
}

/** Resolves when all of them are loaded, or when the worker is to stop. */
export async function loadTables(replication: Replication, loads: Load[], options: LoadOptions): Promise<void> {
  const loading = whatMayFail(replication)
  const { access, surroundings, source, stopping } = loading
  const isFollowed = source.settings.replicationMode !== 'snapshot'
  const snapshot = await holdSnapshot(access, surroundings, {
    isFollowed,
    tables: loads.map(({ described }) => described),
    stopping,
    whileWaiting: (link, work) => reportBlocker(loading, link, work, (reason) => loading.status.doing(reason)),
  }).catch((error: unknown) => {
    if (!stopping.aborted) throw error
  })
  if (!snapshot) return
  try {
    // Before the first row is read: what is committed from here on comes with the stream.
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

function whatMayFail(replication: Replication): Loading {
  const failing = new AbortController()
  const signal = AbortSignal.any([replication.signal, failing.signal])
  return {
    ...replication,
    failing,
    signal,
    stopping: AbortSignal.any([replication.stopping, failing.signal]),
    surroundings: { ...replication.surroundings, signal },
  }
}

async function beginLoad({ tables }: Loading, { target, described }: Load, snapshot: HeldSnapshot): Promise<void> {
  const { targetTable, rangeCount, beginLsn } = target.stored
  const left = rangeCount === null ? [] : await tables.listRanges(targetTable)
  const files = snapshot.files.get(described.found.id) ?? []
  const isAnother = !areStillThere(
    left.map(({ range }) => range),
    files,
  )
  if (beginLsn !== null && !isAnother) return
  if (beginLsn === null) target.beginLsn = snapshot.lsn
  target.stored = {
    ...target.stored,
    beginLsn: beginLsn ?? lsnText(snapshot.lsn),
    ...(isAnother ? notPlanned() : {}),
  }
  await tables.saveTable(target.stored)
}

/** The tokens of the ranges of before must not be those of others. */
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
  // They are begun in their order.
  const begun = new Set(ranges.slice(0, mostBegun))
  let isLoading = false
  const loadRanges = async (): Promise<void> => {
    const link = await snapshot.open(described).catch((error: unknown) => {
      // The server may have no more connections for us: those that there are do the work.
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
      throw access.judge(error)
    } finally {
      await link.close()
    }
  }
  await allOf(replication, Math.min(ranges.length, source.settings.initialLoadParallelism), loadRanges)
  if (!stopping.aborted) await loaded(target)
}

/** What fails first is what is told: how the others end follows from it. */
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
    throw access.judge(error)
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
  const { tables, status, turn, well } = replication
  const { columns, stored, mapping } = target
  status.doing(`Loading ${tableName(mapping)}: ${loadedText(target)}`)
  const chunks: Buffer[] = []
  const refused: RefusedRow[] = []
  let count = 0
  for await (const chunk of link.copyOut(copyText(range.range, expressionsOf(target, lsn)))) {
    const before = count
    const rewritten = await turn.build(async () =>
      rewriteCopy(columns, chunk, ({ index, reason }) => refused.push({ index: before + index, reason })),
    )
    chunks.push(rewritten)
    count += countLines([rewritten])
  }
  const rows = lineRows({
    shape: shapeOf(columns),
    chunks,
    count,
    refused,
    partition: tableName(mapping),
    loadId: stored.loadId,
    position: (index) => `row ${index + 1} of range ${range.number}`,
  })
  // Whoever has sent it before has read it at another moment: where versions do not make one row of two, nobody can tell.
  const mayBeCompared = mayBeBegun && mapping.tableEngine === 'ReplacingMergeTree'
  const identity = mayBeCompared ? undefined : 'none'
  const token = rangeToken(stored.loadId, range.number)
  const figures = await send(replication, target, { token, rows, isRepeat, identity })
  // It was given up because the worker is to stop.
  if (!figures) return
  await tables.finishRange(stored.targetTable, { number: range.number, rows: rows.count, figures })
  target.stored.rowsLoaded += rows.count
  well()
}

function loadedText({ stored: { rowsLoaded, rowsEstimated } }: Target): string {
  return rowsEstimated === null
    ? `${countOf(rowsLoaded, 'row')} so far`
    : `${countOf(rowsLoaded, 'row')} of about ${rowsEstimated.toLocaleString('en-US')}`
}

/** What is read of each row: its columns, then the version and that it is not deleted. */
function expressionsOf({ columns }: Target, lsn: bigint): string[] {
  const values = columns.map(({ name, values: { expression } }) => expression(pg.escapeIdentifier(name)))
  return [...values, String(versionOf(lsn, 0)), '0']
}
