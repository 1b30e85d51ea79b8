// Which tables a postgres pipe fills, from what its mappings say and what it has filled so far. A table that is to be loaded again
// is loaded beside the one that is there, which stays as it is until the new one takes its place.
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import { shadowName } from './names.ts'
import type { StoredTable } from './table-store.ts'

export interface TablePlan {
  /** Filled by these mappings. */
  filled: {
    mapping: TableMapping
    stored: StoredTable
    isNew: boolean
    /** What is planned is not what is stored. */
    isChanged: boolean
    /** Of a new shadow: whether it looks like the table whose place it takes. */
    like: boolean
  }[]
  /** Not filled any more; the table of the engine stays, unless it is a shadow. */
  removed: StoredTable[]
  /** Kept as they are until others take their place, without the changes that come meanwhile. */
  idle: StoredTable[]
}

export interface TablePlanParts {
  mappings: TableMapping[]
  stored: StoredTable[]
  mode: 'cdc' | 'snapshot' | 'cdc_only'
  /** Of the table that has the name now. */
  sourceIdOf(mapping: TableMapping): string
  /** Its ranges are by where rows lie, or their rows cannot be told apart: a load that goes on later may miss rows or have them twice. */
  isWithoutKey(mapping: TableMapping): boolean
  coverageOf(mapping: TableMapping): string | null
  /** Whether changes are missing in a table since it was loaded. */
  lacksChanges(mapping: TableMapping, table: StoredTable): boolean
  /** What has changed at the source so that the table must be loaded again. */
  findChange(mapping: TableMapping, table: StoredTable): TableChange | undefined
  /** When everything was last asked to be loaded again. */
  reloadRequestedAt: string | null
  newId(): string
}

export interface TableChange {
  /** A table of the engine that holds what was loaded before can hold it as it is now. */
  isSameType: boolean
}

export function planTables(parts: TablePlanParts): TablePlan {
  const {
    mappings,
    stored,
    mode,
    reloadRequestedAt,
    sourceIdOf,
    isWithoutKey,
    coverageOf,
    lacksChanges,
    findChange,
    newId,
  } = parts
  const filled: TablePlan['filled'] = []
  const kept = new Set<StoredTable>()
  const idle: StoredTable[] = []
  const keep = (mapping: TableMapping, table: StoredTable, change: Partial<StoredTable> = {}): void => {
    kept.add(table)
    // One that lacks changes keeps what shows that, until the load that brings them has taken its place.
    const coverage = mode === 'cdc' && lacksChanges(mapping, table) ? table.coverage : coverageOf(mapping)
    const planned = { ...table, ...change, sourceId: sourceIdOf(mapping), coverage }
    filled.push({ mapping, stored: planned, isNew: false, isChanged: !isDeepStrictEqual(planned, table), like: false })
  }
  const isOf = (mapping: TableMapping, table: StoredTable): boolean =>
    table.mappingDigest === mappingDigest(mapping) && isOfSource(mapping, table)
  // What an older version has loaded is taken for what has the name.
  const isOfSource = (mapping: TableMapping, { sourceId }: StoredTable): boolean =>
    sourceId === null || sourceId === sourceIdOf(mapping)
  const add = (mapping: TableMapping, present?: StoredTable): void => {
    const [sourceId, coverage] = [sourceIdOf(mapping), coverageOf(mapping)]
    const stored = newTable(mapping, { mode, loadId: newId(), reloadRequestedAt, sourceId, coverage })
    const like = present && isOf(mapping, present) ? (findChange(mapping, present)?.isSameType ?? true) : false
    filled.push({ mapping, stored: present ? asShadow(stored) : stored, isNew: true, isChanged: true, like })
  }
  for (const mapping of mappings) {
    // Of a log table, what the stream has brought and what is loaded now could not be told apart; without a stream, rows that a range
    // has now and another one had before.
    const isCutShort = ({ phase, beginLsn }: StoredTable): boolean =>
      phase === 'snapshot' && beginLsn !== null && (mode === 'cdc' ? isLogTable(mapping) : isWithoutKey(mapping))
    const isOfMapping = (table: StoredTable): boolean =>
      isOf(mapping, table) && !isCutShort(table) && !findChange(mapping, table)
    const present = stored.find(({ targetTable, replaces }) => targetTable === mapping.targetTable && replaces === null)
    const shadow = stored.find(({ replaces }) => replaces === mapping.targetTable)
    const isOfRequest = (table: StoredTable): boolean =>
      isOfMapping(table) && table.reloadRequestedAt === reloadRequestedAt && !lacksChanges(mapping, table)
    if (!present) {
      // A shadow is alone when the table whose place it takes was filled by a mapping that is gone.
      if (shadow && isOfRequest(shadow)) keep(mapping, shadow)
      else add(mapping)
      continue
    }
    // Also when it is not filled any more: what is in it is there until the new one takes its place.
    kept.add(present)
    // Without a load there is nothing to fill beside it.
    if (mode === 'cdc_only') {
      const { sourceSchemaName, sourceTable } = mapping
      const isSame = present.sourceSchemaName === sourceSchemaName && present.sourceTable === sourceTable
      // Columns of another table are not those of this one under other names.
      const columns = isSame && isOfSource(mapping, present) ? present.columns : []
      const change = {
        mappingDigest: mappingDigest(mapping),
        reloadRequestedAt,
        sourceSchemaName,
        sourceTable,
        columns,
      }
      keep(mapping, present, change)
      continue
    }
    // Another table has the name of its source. What the log table has stays.
    const isKept = mode === 'cdc' && !isCopy(mapping) && present.phase === 'following'
    const isOfNamesake = present.mappingDigest === mappingDigest(mapping) && !isOfSource(mapping, present)
    if (isKept && isOfNamesake && present.reloadRequestedAt === reloadRequestedAt) {
      keep(mapping, present, { columns: [] })
      continue
    }
    // What is not loaded yet and is to be loaded anew need not be loaded at all.
    const isLoaded = present.phase === 'following'
    if (isOfRequest(present) || (isOfMapping(present) && isLoaded)) keep(mapping, present)
    else idle.push(present)
    if (shadow && isOfRequest(shadow)) keep(mapping, shadow)
    else if (!isOfRequest(present)) add(mapping, present)
  }
  return { filled, removed: stored.filter((table) => !kept.has(table)), idle }
}

/** Has a row for each change: nothing makes one of two rows with the same key. */
export function isLogTable({ tableEngine }: TableMapping): boolean {
  return tableEngine === 'MergeTree'
}

/** Its rows are what the source has now, so that another load can take its place. Others keep what has come, change by change. */
export function isCopy({ tableEngine }: TableMapping): boolean {
  return tableEngine === 'ReplacingMergeTree'
}

export function mappingDigest(mapping: TableMapping): string {
  return hash('sha256', JSON.stringify(Object.entries(mapping).toSorted()), 'hex').slice(0, 32)
}

function newTable(
  mapping: TableMapping,
  {
    mode,
    ...made
  }: Pick<TablePlanParts, 'mode' | 'reloadRequestedAt'> & Pick<StoredTable, 'loadId' | 'sourceId' | 'coverage'>,
): StoredTable {
  const { targetTable, sourceSchemaName, sourceTable } = mapping
  return {
    targetTable,
    sourceSchemaName,
    sourceTable,
    replaces: null,
    mappingDigest: mappingDigest(mapping),
    ...made,
    beginLsn: null,
    phase: mode === 'cdc_only' ? 'following' : 'snapshot',
    columns: [],
    shape: null,
    truncatedVersion: null,
    rowsEstimated: null,
    rowsLoaded: 0,
    rangeCount: null,
    rangesDone: 0,
    loadStartedAt: null,
    loadEndedAt: null,
  }
}

/** Filled beside the table that it is meant for, whose place it takes when it is loaded. */
export function asShadow(table: StoredTable): StoredTable {
  return { ...table, targetTable: shadowName(table.targetTable), replaces: table.targetTable }
}
