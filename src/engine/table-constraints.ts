// Loads the constraints of a table, and its column definitions for a table that computes the same values without checking the
// constraints.
import type { EngineClient } from './client.ts'
import { EngineError } from './engine.ts'
import { quoteName, quoteText } from './names.ts'
import { fullName, parseRows, type TableRef } from './side-tables.ts'

export interface Constraint {
  /** As ClickHouse quotes it. */
  name: string
  expression: string
}

interface ColumnRow {
  name: string
  type: string
  default_kind: string
  default_expression: string
}

/** Empty when the user may not see them. */
export async function loadConstraints(
  client: EngineClient,
  table: TableRef,
  signal: AbortSignal,
): Promise<{ constraints: Constraint[]; definitions: string[] }> {
  const constraints = constraintsIn(await definitionOf(client, table, signal))
  if (constraints.length === 0) return { constraints, definitions: [] }
  const answer = await client.query(
    'SELECT name, type, default_kind, default_expression FROM system.columns ' +
      `WHERE database = ${quoteText(table.database)} AND table = ${quoteText(table.table)} FORMAT JSONEachRow`,
    { signal },
  )
  const definitions = parseRows<ColumnRow>(answer).map(
    ({ name, type, default_kind: kind, default_expression: expression }) =>
      [quoteName(name), type, kind, expression].filter((part) => part !== '').join(' '),
  )
  return { constraints, definitions }
}

async function definitionOf(client: EngineClient, table: TableRef, signal: AbortSignal): Promise<string> {
  try {
    return await client.query(`SHOW CREATE TABLE ${fullName(table)} FORMAT TSVRaw`, { signal })
  } catch (error) {
    if (error instanceof EngineError && error.kind === 'user') return ''
    throw error
  }
}

/** ClickHouse writes each column and constraint on its own line, and newlines in names and texts as `\n`. */
function constraintsIn(definition: string): Constraint[] {
  return definition.split('\n').flatMap((line) => {
    const [, name, expression] = /^ {4}CONSTRAINT (`(?:[^`\\]|\\.)*`|\w+) CHECK (.*[^,]),?$/.exec(line) ?? []
    return name !== undefined && expression !== undefined ? [{ name, expression }] : []
  })
}
