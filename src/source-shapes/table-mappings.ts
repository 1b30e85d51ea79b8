// Mappings from tables of PostgreSQL to tables of the service. Source schema and source table identify a mapping.
import type { FieldProblem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { fieldPath } from '../lib/shape-rules.ts'
import { ColumnNames, Name } from './names.ts'
import { fieldProblem } from './source-kind.ts'

const tableNames = {
  sourceSchemaName: Name('PostgreSQL schema of the source table.'),
  sourceTable: Name('Source table in PostgreSQL.'),
}
const targetTable = Name('Destination table in ClickHouse, unique in the pipe.')
const TableEngine = Type.Enum(['MergeTree', 'ReplacingMergeTree', 'Null'], {
  default: 'ReplacingMergeTree',
  description:
    'Engine of the destination table. `ReplacingMergeTree`: a copy of the source table. `MergeTree`: a log of its changes.',
})
const useCustomSortingKey = 'Whether `sortingKeys` precede the primary key in the sorting key.'
const sortingKeys = 'Columns before the primary key in the sorting key.'
const excludedColumns = 'Columns that are not replicated.'

export const TableMapping = Type.Object(
  {
    ...tableNames,
    targetTable,
    tableEngine: TableEngine,
    useCustomSortingKey: Type.Boolean({ description: useCustomSortingKey }),
    sortingKeys: Type.Array(Type.String(), { description: sortingKeys }),
    excludedColumns: Type.Array(Type.String(), { description: excludedColumns }),
  },
  { $id: 'TableMapping', description: 'Table to replicate and its destination table.', additionalProperties: false },
)
export type TableMapping = Static<typeof TableMapping>

export const TableMappingToAdd = Type.Object(
  {
    ...tableNames,
    targetTable,
    tableEngine: Type.Optional(TableEngine),
    useCustomSortingKey: Type.Optional(
      Type.Boolean({ default: false, description: `${useCustomSortingKey} Requires \`sortingKeys\`.` }),
    ),
    sortingKeys: Type.Optional(ColumnNames(sortingKeys)),
    excludedColumns: Type.Optional(ColumnNames(excludedColumns)),
  },
  {
    $id: 'TableMappingToAdd',
    description: 'Table to replicate and its destination table.',
    additionalProperties: false,
  },
)
type TableMappingToAdd = Static<typeof TableMappingToAdd>

export const TableMappingToRemove = Type.Object(
  {
    ...tableNames,
    targetTable: Type.Optional({
      ...targetTable,
      description: 'Destination table of the mapping. Optional; if sent, it must match.',
    }),
  },
  { $id: 'TableMappingToRemove', description: 'Table to stop replicating.', additionalProperties: false },
)
type TableMappingToRemove = Static<typeof TableMappingToRemove>

/** Name of the table that is reloaded to replace another. */
export function shadowName(table: string): string {
  return `${table}_penstock_resync`
}

export const maxTables = 1000
/** The size limit of one request. */
const maxMappingsLength = 1_048_576

type TableName = { sourceSchemaName: string; sourceTable: string }

const nameOf = ({ sourceSchemaName, sourceTable }: TableName): string => `${sourceSchemaName}.${sourceTable}`
// JSON separates the two names whatever characters they have.
const keyOf = ({ sourceSchemaName, sourceTable }: TableName): string => JSON.stringify([sourceSchemaName, sourceTable])

/** The mappings of a pipe after a request. */
interface Changed {
  mappings: Map<string, TableMapping>
  /** Path in the request of each mapping that came with it, for error messages. */
  paths: Map<TableMapping, string>
}

/** The mappings of a new pipe. */
export function newMappings(additions: TableMappingToAdd[], problems: FieldProblem[]): TableMapping[] {
  const changed: Changed = { mappings: new Map(), paths: new Map() }
  addMappings(changed, additions, 'source.postgres.tableMappings', problems)
  return validated(changed, 'source.postgres.tableMappings', problems)
}

/** Applies removals first, so that one request can replace a mapping. */
export function changeMappings(
  present: TableMapping[],
  removals: TableMappingToRemove[],
  additions: TableMappingToAdd[],
  problems: FieldProblem[],
): TableMapping[] {
  const mappings = new Map(present.map((mapping) => [keyOf(mapping), mapping]))
  const toRemove = 'source.postgres.tableMappingsToRemove'
  for (const [index, removal] of removals.entries()) {
    const path = fieldPath(toRemove, index)
    const mapping = mappings.get(keyOf(removal))
    if (!mapping) problems.push(fieldProblem(path, `names ${nameOf(removal)}, which the pipe does not have`))
    else if (removal.targetTable !== undefined && removal.targetTable !== mapping.targetTable) {
      const goesTo = `${nameOf(removal)} goes to ${JSON.stringify(mapping.targetTable)}`
      problems.push(fieldProblem(`${path}.targetTable`, `is ${JSON.stringify(removal.targetTable)}, but ${goesTo}`))
    } else mappings.delete(keyOf(removal))
  }
  const changed: Changed = { mappings, paths: new Map() }
  const toAdd = 'source.postgres.tableMappingsToAdd'
  addMappings(changed, additions, toAdd, problems)
  if (mappings.size === 0) problems.push(fieldProblem(toRemove, 'must leave the pipe at least one table'))
  return validated(changed, toAdd, problems)
}

function addMappings(
  { mappings, paths }: Changed,
  additions: TableMappingToAdd[],
  path: string,
  problems: FieldProblem[],
): void {
  for (const [index, addition] of additions.entries()) {
    const addedPath = fieldPath(path, index)
    const taken = mappings.get(keyOf(addition))
    if (taken) {
      const rest = paths.has(taken)
        ? ' a second time'
        : ', which the pipe has already; remove it in the same request to replace it'
      problems.push(fieldProblem(addedPath, `names ${nameOf(addition)}${rest}`))
      continue
    }
    const mapping: TableMapping = {
      sourceSchemaName: addition.sourceSchemaName,
      sourceTable: addition.sourceTable,
      targetTable: addition.targetTable,
      tableEngine: addition.tableEngine ?? 'ReplacingMergeTree',
      useCustomSortingKey: addition.useCustomSortingKey ?? false,
      sortingKeys: addition.sortingKeys ?? [],
      excludedColumns: addition.excludedColumns ?? [],
    }
    mappings.set(keyOf(mapping), mapping)
    paths.set(mapping, addedPath)
  }
}

/** Validates the mappings that came with the request against all mappings of the pipe. */
function validated({ mappings, paths }: Changed, path: string, problems: FieldProblem[]): TableMapping[] {
  const all = [...mappings.values()]
  if (all.length > maxTables) problems.push(fieldProblem(path, `would give the pipe more than ${maxTables} tables`))
  if (JSON.stringify(all).length > maxMappingsLength) {
    const rest = `would give the pipe table mappings of more than ${maxMappingsLength} characters as JSON`
    problems.push(fieldProblem(path, rest))
  }
  const targets = new Map<string, TableMapping>()
  for (const mapping of all) {
    const addedPath = paths.get(mapping)
    const other = targets.get(mapping.targetTable)
    targets.set(mapping.targetTable, mapping)
    if (addedPath === undefined) continue
    const report = (field: string, rest: string): void =>
      void problems.push(fieldProblem(`${addedPath}.${field}`, rest))
    if (other) report('targetTable', `is ${JSON.stringify(mapping.targetTable)}, where ${nameOf(other)} goes already`)
    if (mapping.useCustomSortingKey && mapping.sortingKeys.length === 0) {
      report('sortingKeys', 'is required, because useCustomSortingKey is true')
    }
    const excluded = new Set(mapping.excludedColumns)
    const both = mapping.sortingKeys.filter((column) => excluded.has(column))
    if (both.length > 0) report('excludedColumns', `has columns of the sorting key: ${both.join(', ')}`)
  }
  return all
}
