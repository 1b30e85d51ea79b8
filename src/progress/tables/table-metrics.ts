// How far the tables of a postgres pipe have come, as the API shows it: one for each mapping, in their order, and after it the
// one that is loaded to take its place. Tables that the pipe does not fill any more are not shown.
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { PipeTable } from '../progress.ts'
import type { TableProgress } from './store.ts'

export interface TableCircumstances {
  now: string
  /** Otherwise nobody can tell how long it takes. */
  isWorkedOn: boolean
}

type Source = Pick<PostgresSource, 'tableMappings'> & { settings: Pick<PostgresSource['settings'], 'replicationMode'> }

export function tableMetrics(source: Source, tables: TableProgress[], circumstances: TableCircumstances): PipeTable[] {
  const { tableMappings, settings } = source
  const isFollowed = settings.replicationMode !== 'snapshot'
  const targets = new Map(tables.filter(isTarget).map((table) => [table.targetTable, table]))
  const shadows = Map.groupBy(
    tables.filter((table) => !isTarget(table)),
    ({ replaces }) => replaces,
  )
  return tableMappings.flatMap((mapping) =>
    [targets.get(mapping.targetTable) ?? unbegun(mapping), ...(shadows.get(mapping.targetTable) ?? [])].map((table) =>
      metricsOf(table, isFollowed, circumstances),
    ),
  )
}

function isTarget({ replaces }: TableProgress): boolean {
  return replaces === null
}

function unbegun({ sourceSchemaName, sourceTable, targetTable }: TableMapping): TableProgress {
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

function metricsOf(table: TableProgress, isFollowed: boolean, circumstances: TableCircumstances): PipeTable {
  const { sourceSchemaName, sourceTable, targetTable, rowsLoaded, rowsEstimated } = table
  const share = shareOf(table)
  return {
    sourceSchemaName,
    sourceTable,
    targetTable,
    state: stateOf(table, isFollowed),
    isResync: !isTarget(table),
    rowsLoaded,
    rowsEstimated,
    percent: share === null ? null : Math.floor(share * 1000) / 10,
    secondsLeft: secondsLeft(table, share, circumstances),
  }
}

function stateOf({ phase, rangeCount }: TableProgress, isFollowed: boolean): PipeTable['state'] {
  if (phase === 'following') return isFollowed ? 'following' : 'loaded'
  return rangeCount === null ? 'waiting' : 'loading'
}

/** An estimate may be far off: what is being loaded is not done before its last range is. */
const mostByEstimate = 0.99

/** Of the load, 0 to 1. Null for a table that is followed without having been loaded. */
function shareOf({ phase, rowsEstimated, rowsLoaded, rangeCount, rangesDone }: TableProgress): number | null {
  if (rangeCount === null) return phase === 'following' ? null : 0
  if (phase === 'following' || rangesDone >= rangeCount) return 1
  if (rowsEstimated === null || rowsEstimated === 0) return rangesDone / rangeCount
  return Math.min(rowsLoaded / rowsEstimated, mostByEstimate)
}

function secondsLeft(
  { loadStartedAt }: TableProgress,
  share: number | null,
  { now, isWorkedOn }: TableCircumstances,
): number | null {
  if (!isWorkedOn || loadStartedAt === null || share === null || share === 0 || share === 1) return null
  const elapsedMs = Math.max(0, Date.parse(now) - Date.parse(loadStartedAt))
  return Math.ceil((elapsedMs * (1 - share)) / share / 1000)
}
