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
}

export interface TablePlanParts {
  mappings: TableMapping[]
  stored: StoredTable[]
  mode: 'cdc' | 'snapshot' | 'cdc_only'
  /** Of the table that has the name now. */
  sourceIdOf(mapping: TableMapping): string
  /** When everything was last asked to be loaded again. */
  reloadRequestedAt: string | null
  newId(): string
}

export function planTables(parts: TablePlanParts): TablePlan {
  const { mappings, stored, mode, reloadRequestedAt, sourceIdOf, newId } = parts
  const filled: TablePlan['filled'] = []
  const kept = new Set<StoredTable>()
  const keep = (mapping: TableMapping, table: StoredTable, change: Partial<StoredTable> = {}): void => {
    kept.add(table)
    const planned = { ...table, ...change, sourceId: sourceIdOf(mapping) }
    filled.push({ mapping, stored: planned, isNew: false, isChanged: !isDeepStrictEqual(planned, table), like: false })
  }
  const isOf = (mapping: TableMapping, table: StoredTable): boolean =>
    table.mappingDigest === mappingDigest(mapping) && isOfSource(mapping, table)
  // What an older version has loaded is taken for what has the name.
  const isOfSource = (mapping: TableMapping, { sourceId }: StoredTable): boolean =>
    sourceId === null || sourceId === sourceIdOf(mapping)
  const add = (mapping: TableMapping, present?: StoredTable): void => {
    const stored = newTable(mapping, { mode, loadId: newId(), reloadRequestedAt, sourceId: sourceIdOf(mapping) })
    const like = present !== undefined && isOf(mapping, present)
    filled.push({ mapping, stored: present ? asShadow(stored) : stored, isNew: true, isChanged: true, like })
  }
  for (const mapping of mappings) {
    const isOfMapping = (table: StoredTable): boolean => isOf(mapping, table)
    const present = stored.find(({ targetTable, replaces }) => targetTable === mapping.targetTable && replaces === null)
    const shadow = stored.find(({ replaces }) => replaces === mapping.targetTable)
    const isOfRequest = (table: StoredTable): boolean =>
      isOfMapping(table) && table.reloadRequestedAt === reloadRequestedAt
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
    // What is not loaded yet and is to be loaded anew need not be loaded at all.
    const isLoaded = present.phase === 'following'
    if (isOfRequest(present) || (isOfMapping(present) && isLoaded)) keep(mapping, present)
    if (shadow && isOfRequest(shadow)) keep(mapping, shadow)
    else if (!isOfRequest(present)) add(mapping, present)
  }
  return { filled, removed: stored.filter((table) => !kept.has(table)) }
}

export function mappingDigest(mapping: TableMapping): string {
  return hash('sha256', JSON.stringify(Object.entries(mapping).toSorted()), 'hex').slice(0, 32)
}

function newTable(
  mapping: TableMapping,
  { mode, ...made }: Pick<TablePlanParts, 'mode' | 'reloadRequestedAt'> & Pick<StoredTable, 'loadId' | 'sourceId'>,
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
