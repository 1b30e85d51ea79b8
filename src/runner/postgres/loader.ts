// Loads tables: ranges in parallel, each with one COPY whose text goes to the engine as it is. What is durable is recorded range by
// range; whoever goes on after a crash does so with another moment of the source, which versions make one with the first.
import pg from 'pg'
import { lsnText, type PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { copyText, planLoad } from '../../sources/postgres/postgres-ranges.ts'
import { type HeldSnapshot, holdSnapshot } from '../../sources/postgres/postgres-snapshot.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import type { RefusedRow } from '../delivery.ts'
import { countOf } from '../status.ts'
import { countLines, lineRows, rewriteCopy, shapeOf } from './line-rows.ts'
import { rangeToken } from './names.ts'
import { type Replication, send } from './replication.ts'
import type { TableRange } from './table-store.ts'
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

/** Resolves when all of them are loaded, or when the worker is to stop. */
export async function loadTables(replication: Replication, loads: Load[], options: LoadOptions): Promise<void> {
  const { access, surroundings, source, stopping } = replication
  const isFollowed = source.settings.replicationMode !== 'snapshot'
  const snapshot = await holdSnapshot(access, surroundings, { isFollowed })
  try {
    // Before the first row is read: what is committed from here on comes with the stream.
    for (const { target } of loads) await beginLoad(replication, target, snapshot)
    options.begun()
    const waiting = [...loads]
    const loadNext = async (): Promise<void> => {
      for (let load = waiting.shift(); load && !stopping.aborted; load = waiting.shift()) {
        await loadTable(replication, load, snapshot, options)
      }
    }
    await allOf(replication, Math.min(loads.length, source.settings.snapshotNumberOfParallelTables), loadNext)
  } finally {
    await snapshot.release().catch(() => undefined)
  }
}

async function beginLoad({ tables }: Replication, target: Target, { lsn }: HeldSnapshot): Promise<void> {
  if (target.stored.beginLsn !== null) return
  target.beginLsn = lsn
  target.stored = { ...target.stored, beginLsn: lsnText(lsn) }
  await tables.saveTable(target.stored)
}

async function loadTable(
  replication: Replication,
  { target, described }: Load,
  snapshot: HeldSnapshot,
  { serverVersion, loaded }: LoadOptions,
): Promise<void> {
  const { tables, source, access, stopping } = replication
  const isResumed = target.stored.rangeCount !== null
  if (!isResumed) await planTable(replication, { target, described }, snapshot, serverVersion)
  const ranges = await tables.listRanges(target.stored.targetTable)
  let isLoading = false
  const loadRanges = async (): Promise<void> => {
    const link = await snapshot.open().catch((error: unknown) => {
      // The server may have no more connections for us: those that there are do the work.
      if (!isLoading) throw error
    })
    if (!link) return
    isLoading = true
    try {
      for (let range = ranges.shift(); range && !stopping.aborted; range = ranges.shift()) {
        await loadRange(replication, target, link, { range, lsn: snapshot.lsn, isRepeat: isResumed })
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

/** What fails first ends all of them. */
async function allOf({ end }: Replication, count: number, work: () => Promise<void>): Promise<void> {
  const all = Array.from({ length: count }, () =>
    work().catch((error: unknown) => {
      end()
      throw error
    }),
  )
  const results = await Promise.allSettled(all)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function planTable(
  { tables, source, access, status }: Replication,
  { target, described }: Load,
  snapshot: HeldSnapshot,
  serverVersion: number,
): Promise<void> {
  const { settings } = source
  status.doing(`Looking how to load ${tableName(target.mapping)}`)
  const link = await snapshot.open()
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
  { range, lsn, isRepeat }: { range: TableRange; lsn: bigint; isRepeat: boolean },
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
    position: (index) => `row ${index + 1} of range ${range.number}`,
  })
  const token = rangeToken(stored.loadId, range.number)
  const figures = await send(replication, target, { token, rows, isRepeat })
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
