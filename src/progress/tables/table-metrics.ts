// Load progress of the tables of a postgres pipe, as the API shows it: one entry per mapping, in their order, followed by the table
// that is loaded to replace it. Tables that the pipe no longer fills are not shown.
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { PipeTable } from '../progress.ts'
import type { TableProgress } from './store.ts'

export interface TableContext {
  now: string
  /** Without a worker the remaining time is unknown. */
  isWorkedOn: boolean
}

type Source = Pick<PostgresSource, 'tableMappings'> & { settings: Pick<PostgresSource['settings'], 'replicationMode'> }

export function tableMetrics(source: Source, tables: TableProgress[], context: TableContext): PipeTable[] {
  const { tableMappings, settings } = source
  const isFollowed = settings.replicationMode !== 'snapshot'
  const targets = new Map(tables.filter(isTarget).map((table) => [table.targetTable, table]))
  const shadows = Map.groupBy(
    tables.filter((table) => !isTarget(table)),
    ({ replaces }) => replaces,
  )
  return tableMappings.flatMap((mapping) =>
    [targets.get(mapping.targetTable) ?? notStarted(mapping), ...(shadows.get(mapping.targetTable) ?? [])].map(
      (table) => metricsOf(table, isFollowed, context),
    ),
  )
}

function isTarget({ replaces }: TableProgress): boolean {
  return replaces === null
}

function notStarted({ sourceSchemaName, sourceTable, targetTable }: TableMapping): TableProgress {
  return {
    sourceSchemaName,
    sourceTable,
    targetTable,
    replaces: null,
    phase: 'snapshot',
    rowsEstimated: null,
    rowsLoaded: 0,
    rangeCount: null,
    rangesDone: 0,
    loadStartedAt: null,
  }
}

function metricsOf(table: TableProgress, isFollowed: boolean, context: TableContext): PipeTable {
  const { sourceSchemaName, sourceTable, targetTable, rowsLoaded, rowsEstimated } = table
  const fraction = fractionLoaded(table)
  return {
    sourceSchemaName,
    sourceTable,
    targetTable,
    state: stateOf(table, isFollowed),
    isResync: !isTarget(table),
    rowsLoaded,
    rowsEstimated,
    percent: fraction === null ? null : Math.floor(fraction * 1000) / 10,
    secondsLeft: secondsLeft(table, fraction, context),
  }
}

function stateOf({ phase, rangeCount }: TableProgress, isFollowed: boolean): PipeTable['state'] {
  if (phase === 'following') return isFollowed ? 'following' : 'loaded'
  return rangeCount === null ? 'waiting' : 'loading'
}

/** Estimates may be far off: a load shows less than 100 percent until its last range is done. */
const mostByEstimate = 0.99

/** Loaded fraction, 0 to 1. Null for a table that has change data capture without an initial load. */
function fractionLoaded({ phase, rowsEstimated, rowsLoaded, rangeCount, rangesDone }: TableProgress): number | null {
  if (rangeCount === null) return phase === 'following' ? null : 0
  if (phase === 'following' || rangesDone >= rangeCount) return 1
  if (rowsEstimated === null || rowsEstimated === 0) return rangesDone / rangeCount
  return Math.min(rowsLoaded / rowsEstimated, mostByEstimate)
}

function secondsLeft(
  { loadStartedAt }: TableProgress,
  fraction: number | null,
  { now, isWorkedOn }: TableContext,
): number | null {
  if (!isWorkedOn || loadStartedAt === null || fraction === null || fraction === 0 || fraction === 1) return null
  const elapsedMs = Math.max(0, Date.parse(now) - Date.parse(loadStartedAt))
  return Math.ceil((elapsedMs * (1 - fraction)) / fraction / 1000)
}
