// Destination of a pipe: the table, its columns, and the field mappings. A postgres pipe writes to the tables of its mappings; its
// destination has only a database.

import { GrammarError } from '../engine/grammar-tokens.ts'
import { canonicalType } from '../engine/type-grammar.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { fieldPath } from '../lib/shape-rules.ts'
import { ColumnNames, Name } from '../source-shapes/names.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { fieldProblem } from '../source-shapes/source-kind.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'

const Column = Type.Object(
  {
    name: Name('Column name, unique in the table.'),
    type: Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '\\S',
      patternHint: 'a ClickHouse data type',
      description: 'ClickHouse data type, such as `UInt64` or `Nullable(String)`.',
    }),
  },
  { $id: 'Column', description: 'Column of the destination table.', additionalProperties: false },
)

export const Columns = Type.Array(Column, {
  maxItems: 2000,
  description: 'Columns that the pipe writes. A new list replaces the current one.',
})

const Expression = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description })

const TableDefinition = Type.Object(
  {
    engine: Type.Object(
      {
        type: Type.Enum(['MergeTree', 'ReplacingMergeTree', 'SummingMergeTree', 'Null'], {
          description: 'ClickHouse table engine.',
        }),
        columnIds: Type.Optional(ColumnNames('Columns that a `SummingMergeTree` sums.')),
        versionColumnId: Type.Optional(
          Name('Version column of a `ReplacingMergeTree`. The row with the highest version is kept.'),
        ),
      },
      { additionalProperties: false, description: 'Table engine and its parameters.' },
    ),
    partitionBy: Type.Optional(Expression('Partition key expression, as in `PARTITION BY`.')),
    primaryKey: Type.Optional(Expression('Primary key expression, as in `PRIMARY KEY`.')),
    sortingKey: Type.Optional(ColumnNames('Columns of the sorting key, as in `ORDER BY`.')),
  },
  { $id: 'TableDefinition', description: 'Definition of a table that Penstock creates.', additionalProperties: false },
)
type TableDefinition = Static<typeof TableDefinition>
const definitionPath = 'destination.tableDefinition'

const fixed = {
  database: Name('ClickHouse database.'),
  table: Type.Optional(Name('Destination table. Not for PostgreSQL, where `tableMappings` has the tables.')),
  tableDefinition: Type.Optional(TableDefinition),
}
const managedTable =
  '`true`: Penstock creates the table and adds missing columns; requires `tableDefinition`. `false`: the table must ' +
  'exist and is not altered.'

export const Destination = Type.Object(
  { ...fixed, managedTable: Type.Optional(Type.Boolean({ description: managedTable })), columns: Columns },
  {
    $id: 'PipeDestination',
    description: 'Database, table and columns that the pipe writes to.',
    additionalProperties: false,
  },
)
export type Destination = Static<typeof Destination>

export const DestinationCreate = Type.Object(
  {
    ...fixed,
    managedTable: Type.Optional(Type.Boolean({ default: true, description: `${managedTable} Not for PostgreSQL.` })),
    columns: Type.Optional(
      Type.Array(Column, { maxItems: 2000, description: 'Columns that the pipe writes. Not for PostgreSQL.' }),
    ),
  },
  {
    $id: 'PipeDestinationCreate',
    description: 'Database, table and columns that the pipe writes to.',
    additionalProperties: false,
  },
)

export const FieldMappings = Type.Array(
  Type.Object(
    {
      destinationField: Name('Destination column.'),
      sourceField: Type.String({ minLength: 1, maxLength: 1024, description: 'Field of the source record.' }),
    },
    { $id: 'FieldMapping', description: 'Maps a field of the source to a column.', additionalProperties: false },
  ),
  {
    maxItems: 2000,
    description:
      'Maps source fields to columns with different names. Columns without a mapping are filled by name. A new list ' +
      'replaces the current one.',
  },
)
export type FieldMappings = Static<typeof FieldMappings>

/** The destination of a new pipe. Reports problems of the fields that no update can change. */
export function newDestination(
  kind: SourceKindName | undefined,
  created: Static<typeof DestinationCreate>,
  problems: FieldProblem[],
): Destination {
  const { database, columns = [] } = created
  if (readsTables(kind)) {
    const unusable = (['table', 'managedTable', 'tableDefinition'] as const).filter((name) => name in created)
    problems.push(...unusable.map((name) => fieldProblem(`destination.${name}`, `is ${notForPostgres}`)))
    return { database, columns }
  }
  const destination = { managedTable: true, ...created, columns }
  problems.push(...tableProblems(destination))
  return destination
}

const notForPostgres = 'not for a postgres pipe: its table mappings say where the data goes'

/** Validates the columns of a new or changed pipe, and everything that refers to a column. */
export function destinationProblems(
  kind: SourceKindName | undefined,
  destination: Destination,
  fieldMappings: FieldMappings,
): FieldProblem[] {
  const problems: FieldProblem[] = []
  if (readsTables(kind) && destination.table === undefined && destination.columns.length > 0) {
    problems.push(fieldProblem('destination.columns', `are ${notForPostgres}`))
  }
  const columns = new Set<string>()
  problems.push(...columnTypeProblems('destination.columns', destination.columns))
  for (const [index, { name }] of destination.columns.entries()) {
    if (columns.has(name)) {
      const path = fieldPath(fieldPath('destination.columns', index), 'name')
      problems.push(fieldProblem(path, `repeats ${JSON.stringify(name)}: column names are unique`))
    }
    columns.add(name)
  }
  if (destination.tableDefinition) problems.push(...namedColumnProblems(destination.tableDefinition, columns))
  const filled = new Set<string>()
  for (const [index, { destinationField }] of fieldMappings.entries()) {
    const path = fieldPath(fieldPath('fieldMappings', index), 'destinationField')
    if (!columns.has(destinationField)) problems.push(unknownColumn(path, destinationField))
    else if (filled.has(destinationField)) {
      const rest = `maps ${JSON.stringify(destinationField)} a second time: a column is mapped once`
      problems.push(fieldProblem(path, rest))
    }
    filled.add(destinationField)
  }
  return problems
}

/** Reports types that no version of ClickHouse has. */
export function columnTypeProblems(path: string, columns: Destination['columns']): FieldProblem[] {
  return columns.flatMap(({ name, type }, index) => {
    try {
      canonicalType(type)
      return []
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error
      const detail = `of the column ${JSON.stringify(name)} ${error.message}; use a type of ClickHouse`
      return [fieldProblem(fieldPath(fieldPath(path, index), 'type'), detail)]
    }
  })
}

function unknownColumn(path: string, name: string): FieldProblem {
  return fieldProblem(path, `names ${JSON.stringify(name)}, which is not one of the destination's columns`)
}

function tableProblems({ table, managedTable, columns, tableDefinition }: Destination): FieldProblem[] {
  const problems = tableDefinition ? engineProblems(tableDefinition) : []
  if (table === undefined) problems.push(fieldProblem('destination.table', 'is required'))
  if (columns.length === 0) problems.push(fieldProblem('destination.columns', 'must have at least 1 item, not 0'))
  if (managedTable === false && tableDefinition) {
    problems.push(fieldProblem('destination.tableDefinition', 'is only for a managed table; managedTable is false'))
  } else if (managedTable !== false && !tableDefinition) {
    problems.push(fieldProblem('destination.tableDefinition', 'is required, because managedTable is true'))
  }
  return problems
}

const engineOf = { versionColumnId: 'ReplacingMergeTree', columnIds: 'SummingMergeTree' } as const

function engineProblems({ engine }: TableDefinition): FieldProblem[] {
  const { type, versionColumnId, columnIds = [] } = engine
  const sent = { versionColumnId: versionColumnId !== undefined, columnIds: columnIds.length > 0 }
  return (['versionColumnId', 'columnIds'] as const)
    .filter((field) => sent[field] && type !== engineOf[field])
    .map((field) =>
      fieldProblem(`${definitionPath}.engine.${field}`, `is only for a ${engineOf[field]}, not for a ${type}`),
    )
}

/** Checks only the fields that the table engine uses. */
function namedColumnProblems({ engine, sortingKey = [] }: TableDefinition, columns: Set<string>): FieldProblem[] {
  const { type, versionColumnId, columnIds = [] } = engine
  const problems: FieldProblem[] = []
  if (type === engineOf.versionColumnId && versionColumnId !== undefined && !columns.has(versionColumnId)) {
    problems.push(unknownColumn(`${definitionPath}.engine.versionColumnId`, versionColumnId))
  }
  if (type === engineOf.columnIds) {
    problems.push(...unknownColumns(`${definitionPath}.engine.columnIds`, columnIds, columns))
  }
  return [...problems, ...unknownColumns(`${definitionPath}.sortingKey`, sortingKey, columns)]
}

function unknownColumns(path: string, names: string[], columns: Set<string>): FieldProblem[] {
  return names.flatMap((name, index) => (columns.has(name) ? [] : [unknownColumn(fieldPath(path, index), name)]))
}
