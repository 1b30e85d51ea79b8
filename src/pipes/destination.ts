// Where a pipe writes: the table, its columns, and which field of the source fills which column.

import type { FieldProblem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { fieldPath } from '../lib/shape-rules.ts'

const Column = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 255, description: 'Unique in the table.' }),
    type: Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '\\S',
      patternHint: 'a type of the engine',
      description: 'A type of the engine, such as `UInt64` or `Nullable(String)`.',
    }),
  },
  { $id: 'Column', additionalProperties: false },
)

export const Columns = Type.Array(Column, {
  maxItems: 2000,
  description: 'All columns of the table; a new list replaces the old one.',
})

const TableDefinition = Type.Object(
  {
    engine: Type.Object(
      {
        type: Type.Enum(['MergeTree', 'ReplacingMergeTree', 'SummingMergeTree', 'Null']),
        columnIds: Type.Optional(
          Type.Array(Type.String(), { description: 'Columns that a `SummingMergeTree` adds up.' }),
        ),
        versionColumnId: Type.Optional(
          Type.String({ description: 'The column that tells a `ReplacingMergeTree` the newest row.' }),
        ),
      },
      { additionalProperties: false },
    ),
    partitionBy: Type.Optional(Type.String()),
    primaryKey: Type.Optional(Type.String()),
    sortingKey: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
)

export const Destination = Type.Object(
  {
    database: Type.String(),
    table: Type.Optional(Type.String()),
    managedTable: Type.Optional(Type.Boolean({ description: 'Whether Penstock creates and extends the table.' })),
    columns: Columns,
    tableDefinition: Type.Optional(TableDefinition),
  },
  { $id: 'PipeDestination', additionalProperties: false },
)
export type Destination = Static<typeof Destination>

export const FieldMappings = Type.Array(
  Type.Object(
    {
      destinationField: Type.String({ minLength: 1, maxLength: 255, description: 'A column of the destination.' }),
      sourceField: Type.String({ minLength: 1, maxLength: 1024, description: 'A field of the source.' }),
    },
    { $id: 'FieldMapping', additionalProperties: false },
  ),
  { maxItems: 2000, description: 'Columns that are not mapped are filled by name. A new list replaces the old one.' },
)
export type FieldMappings = Static<typeof FieldMappings>

/** What is wrong with the columns and mappings of a whole pipe. */
export function destinationProblems(destination: Destination, fieldMappings: FieldMappings): FieldProblem[] {
  const problems: FieldProblem[] = []
  const report = (path: string, rest: string): void => {
    problems.push({ path, detail: `${path} ${rest}` })
  }
  const columns = new Set<string>()
  for (const [index, column] of destination.columns.entries()) {
    if (columns.has(column.name)) {
      report(
        fieldPath(fieldPath('destination.columns', index), 'name'),
        `repeats ${JSON.stringify(column.name)}: column names are unique`,
      )
    }
    columns.add(column.name)
  }
  const filled = new Set<string>()
  for (const [index, { destinationField }] of fieldMappings.entries()) {
    const path = fieldPath(fieldPath('fieldMappings', index), 'destinationField')
    if (!columns.has(destinationField)) {
      report(path, `names ${JSON.stringify(destinationField)}, which is not one of the destination's columns`)
    } else if (filled.has(destinationField)) {
      report(path, `maps ${JSON.stringify(destinationField)} a second time: a column is mapped once`)
    }
    filled.add(destinationField)
  }
  return problems
}
