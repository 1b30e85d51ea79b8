// Plans which tables a postgres pipe fills, from its mappings and the stored tables. A reload fills a shadow table; the existing table
// stays until the two are swapped.
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { StoredTable } from '../../progress/tables/stored-table.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import { shadowName } from './names.ts'

export interface TablePlan {
  /** Tables to fill, with their mappings. */
  filled: {
    mapping: TableMapping
    stored: StoredTable
    isNew: boolean
    /** The plan differs from what is stored. */
    isChanged: boolean
    /** Of a new shadow: create it like the table that it replaces. */
    like: boolean
  }[]
  /** No longer filled. The table stays in the engine, unless it is a shadow. */
  removed: StoredTable[]
  /** Tables that stay until they are replaced, and get no more changes. */
  idle: StoredTable[]
}

export interface TablePlanParts {
  mappings: TableMapping[]
  stored: StoredTable[]
  mode: 'cdc' | 'snapshot' | 'cdc_only'
  /** OID of the table that has this name now. */
  sourceIdOf(mapping: TableMapping): string
  /** The table has no primary key: a load that resumes may miss or repeat rows. */
  isWithoutKey(mapping: TableMapping): boolean
  coverageOf(mapping: TableMapping): string | null
  /** Whether a table has missed changes since it was loaded. */
  lacksChanges(mapping: TableMapping, table: StoredTable): boolean
  /** A change at the source that needs a reload. */
  findChange(mapping: TableMapping, table: StoredTable): TableChange | undefined
  /** Time of the last request to reload everything. */
  reloadRequestedAt: string | null
  newId(): string
}

export interface TableChange {
  /** The existing table of the engine can hold the rows as they are now. */
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
    // A table that lacks changes keeps its old coverage, which shows the loss, until it is replaced.
    const coverage = mode === 'cdc' && lacksChanges(mapping, table) ? table.coverage : coverageOf(mapping)
    const planned = { ...table, ...change, sourceId: sourceIdOf(mapping), coverage }
    filled.push({ mapping, stored: planned, isNew: false, isChanged: !isDeepStrictEqual(planned, table), like: false })
  }
  const isOf = (mapping: TableMapping, table: StoredTable): boolean =>
    table.mappingDigest === mappingDigest(mapping) && isOfSource(mapping, table)
  // Tables stored by an older version have no source id: assume that it is the table with this name.
  const isOfSource = (mapping: TableMapping, { sourceId }: StoredTable): boolean =>
    sourceId === null || sourceId === sourceIdOf(mapping)
  const add = (mapping: TableMapping, present?: StoredTable): void => {
    const [sourceId, coverage] = [sourceIdOf(mapping), coverageOf(mapping)]
    const stored = newTable(mapping, { mode, loadId: newId(), reloadRequestedAt, sourceId, coverage })
    const like = present && isOf(mapping, present) ? (findChange(mapping, present)?.isSameType ?? true) : false
    filled.push({ mapping, stored: present ? asShadow(stored) : stored, isNew: true, isChanged: true, like })
  }
  for (const mapping of mappings) {
    // An interrupted load starts over: a log table would have rows from both load and stream, and a load without a key
    // could have a row in two ranges.
    const isCutShort = ({ phase, beginLsn }: StoredTable): boolean =>
      phase === 'snapshot' && beginLsn !== null && (mode === 'cdc' ? isLogTable(mapping) : isWithoutKey(mapping))
    const isOfMapping = (table: StoredTable): boolean =>
      isOf(mapping, table) && !isCutShort(table) && !findChange(mapping, table)
    const present = stored.find(({ targetTable, replaces }) => targetTable === mapping.targetTable && replaces === null)
    const shadow = stored.find(({ replaces }) => replaces === mapping.targetTable)
    const isOfRequest = (table: StoredTable): boolean =>
      isOfMapping(table) && table.reloadRequestedAt === reloadRequestedAt && !lacksChanges(mapping, table)
    if (!present) {
      // A shadow is alone when the mapping of the table that it replaces was removed.
      if (shadow && isOfRequest(shadow)) keep(mapping, shadow)
      else add(mapping)
      continue
    }
    // Also when it is no longer filled: its rows stay until it is replaced.
    kept.add(present)
    // Without a load there is no shadow.
    if (mode === 'cdc_only') {
      const { sourceSchemaName, sourceTable } = mapping
      const isSame = present.sourceSchemaName === sourceSchemaName && present.sourceTable === sourceTable
      // Columns of another source table are not renamed columns of this one.
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
    // Another source table has the name now. A log table keeps its rows.
    const isKept = mode === 'cdc' && !isCopy(mapping) && present.phase === 'following'
    const isOfNamesake = present.mappingDigest === mappingDigest(mapping) && !isOfSource(mapping, present)
    if (isKept && isOfNamesake && present.reloadRequestedAt === reloadRequestedAt) {
      keep(mapping, present, { columns: [] })
      continue
    }
    // A table that is not loaded yet and must be reloaded is not loaded first.
    const isLoaded = present.phase === 'following'
    if (isOfRequest(present) || (isOfMapping(present) && isLoaded)) keep(mapping, present)
    else idle.push(present)
    if (shadow && isOfRequest(shadow)) keep(mapping, shadow)
    else if (!isOfRequest(present)) add(mapping, present)
  }
  return { filled, removed: stored.filter((table) => !kept.has(table)), idle }
}

/** Has one row per change: rows with the same key are not merged. */
export function isLogTable({ tableEngine }: TableMapping): boolean {
  return tableEngine === 'MergeTree'
}

/** Its rows are those of the source, so a reload can replace it. Other tables keep every change. */
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

/** A shadow is filled beside the target table and swapped with it when it is loaded. */
export function asShadow(table: StoredTable): StoredTable {
  return { ...table, targetTable: shadowName(table.targetTable), replaces: table.targetTable }
}
