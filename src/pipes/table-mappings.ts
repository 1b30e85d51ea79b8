// Which table of PostgreSQL goes to which table of the service. Source schema and source table together identify a mapping.
import type { FieldProblem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { fieldPath } from '../lib/shape-rules.ts'
import { ColumnNames, Name } from './names.ts'
import { fieldProblem } from './pipe-source.ts'

const tableNames = {
  sourceSchemaName: Name('Schema of the table in PostgreSQL.'),
  sourceTable: Name('Table in PostgreSQL.'),
}
const targetTable = Name('Table of the service; unique in the pipe.')
const TableEngine = Type.Enum(['MergeTree', 'ReplacingMergeTree', 'Null'], { default: 'ReplacingMergeTree' })

export const TableMapping = Type.Object(
  {
    ...tableNames,
    targetTable,
    tableEngine: TableEngine,
    useCustomSortingKey: Type.Boolean(),
    sortingKeys: Type.Array(Type.String()),
    excludedColumns: Type.Array(Type.String()),
  },
  { $id: 'TableMapping', additionalProperties: false },
)
export type TableMapping = Static<typeof TableMapping>

export const TableMappingToAdd = Type.Object(
  {
    ...tableNames,
    targetTable,
    tableEngine: Type.Optional(TableEngine),
    useCustomSortingKey: Type.Optional(Type.Boolean({ default: false, description: 'Needs `sortingKeys`.' })),
    sortingKeys: Type.Optional(ColumnNames('Columns of the sorting key.')),
    excludedColumns: Type.Optional(ColumnNames('Columns that are not replicated.')),
  },
  { $id: 'TableMappingToAdd', additionalProperties: false },
)
type TableMappingToAdd = Static<typeof TableMappingToAdd>

export const TableMappingToRemove = Type.Object(
  { ...tableNames, targetTable: Type.Optional({ ...targetTable, description: 'When sent, must match.' }) },
  { $id: 'TableMappingToRemove', additionalProperties: false },
)
type TableMappingToRemove = Static<typeof TableMappingToRemove>

/** What a table is called that is loaded to take the place of another. */
export function shadowName(table: string): string {
  return `${table}_penstock_resync`
}

export const maxTables = 1000
/** As much as one request can bring. */
const maxMappingsLength = 1_048_576

type TableName = { sourceSchemaName: string; sourceTable: string }

const nameOf = ({ sourceSchemaName, sourceTable }: TableName): string => `${sourceSchemaName}.${sourceTable}`
// JSON keeps the two names apart whatever characters they have.
const keyOf = ({ sourceSchemaName, sourceTable }: TableName): string => JSON.stringify([sourceSchemaName, sourceTable])

/** The mappings of a new pipe. */
export function newMappings(additions: TableMappingToAdd[], problems: FieldProblem[]): TableMapping[] {
  const mappings = new Map<string, TableMapping>()
  addMappings(mappings, additions, 'source.postgres.tableMappings', ' a second time', problems)
  return [...mappings.values()]
}

/** Removals first, so that one request can replace a mapping. */
export function changeMappings(
  present: TableMapping[],
  removals: TableMappingToRemove[],
  additions: TableMappingToAdd[],
  problems: FieldProblem[],
): TableMapping[] {
  const mappings = new Map(present.map((mapping) => [keyOf(mapping), mapping]))
  for (const [index, removal] of removals.entries()) {
    const path = fieldPath('source.postgres.tableMappingsToRemove', index)
    const mapping = mappings.get(keyOf(removal))
    if (!mapping) problems.push(fieldProblem(path, `names ${nameOf(removal)}, which the pipe does not have`))
    else if (removal.targetTable !== undefined && removal.targetTable !== mapping.targetTable) {
      const goesTo = `${nameOf(removal)} goes to ${JSON.stringify(mapping.targetTable)}`
      problems.push(fieldProblem(`${path}.targetTable`, `is ${JSON.stringify(removal.targetTable)}, but ${goesTo}`))
    } else mappings.delete(keyOf(removal))
  }
  const taken = ', which the pipe has already; remove it in the same request to replace it'
  addMappings(mappings, additions, 'source.postgres.tableMappingsToAdd', taken, problems)
  if (mappings.size === 0) problems.push(fieldProblem('source.postgres.tableMappings', 'must keep at least one table'))
  return [...mappings.values()]
}

function addMappings(
  mappings: Map<string, TableMapping>,
  additions: TableMappingToAdd[],
  path: string,
  taken: string,
  problems: FieldProblem[],
): void {
  for (const [index, addition] of additions.entries()) {
    if (mappings.has(keyOf(addition))) {
      problems.push(fieldProblem(fieldPath(path, index), `names ${nameOf(addition)}${taken}`))
      continue
    }
    mappings.set(keyOf(addition), {
      sourceSchemaName: addition.sourceSchemaName,
      sourceTable: addition.sourceTable,
      targetTable: addition.targetTable,
      tableEngine: addition.tableEngine ?? 'ReplacingMergeTree',
      useCustomSortingKey: addition.useCustomSortingKey ?? false,
      sortingKeys: addition.sortingKeys ?? [],
      excludedColumns: addition.excludedColumns ?? [],
    })
  }
}

/** What is wrong with all mappings of a pipe together. */
export function mappingProblems(mappings: TableMapping[]): FieldProblem[] {
  const problems: FieldProblem[] = []
  const report = (rest: string): void => {
    problems.push(fieldProblem('source.postgres.tableMappings', rest))
  }
  if (mappings.length > maxTables) report(`must have at most ${maxTables} tables`)
  if (JSON.stringify(mappings).length > maxMappingsLength) {
    report(`must have at most ${maxMappingsLength} characters as JSON`)
  }
  const targets = new Set<string>()
  for (const mapping of mappings) {
    const name = nameOf(mapping)
    if (targets.has(mapping.targetTable)) {
      report(`has the targetTable ${JSON.stringify(mapping.targetTable)} more than once (at ${name})`)
    }
    targets.add(mapping.targetTable)
    if (mapping.useCustomSortingKey && mapping.sortingKeys.length === 0) {
      report(`needs sortingKeys at ${name}, because useCustomSortingKey is true`)
    }
    const excluded = new Set(mapping.excludedColumns)
    const both = mapping.sortingKeys.filter((column) => excluded.has(column))
    if (both.length > 0) report(`excludes columns of the sorting key at ${name}: ${both.join(', ')}`)
  }
  return problems
}
