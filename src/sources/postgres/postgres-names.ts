// Names of tables for texts and for SQL statements.

interface TableName {
  sourceSchemaName: string
  sourceTable: string
}

const mostNames = 5

/** As an SQL identifier. */
export function escapeIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** As an SQL literal, whatever standard_conforming_strings is. */
export function escapeLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? ` E${quoted}` : quoted
}

/** `a, b and 7 more` */
export function listed(names: string[]): string {
  const more = names.length - mostNames
  const shown = names.slice(0, mostNames).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}

export const tableName = ({ sourceSchemaName, sourceTable }: TableName): string =>
  `${plainName(sourceSchemaName)}.${plainName(sourceTable)}`

/** Quoted when it has characters other than letters, digits, `_` and `$`. */
export function plainName(name: string): string {
  return /^[\p{L}\p{N}_$]+$/u.test(name) ? name : JSON.stringify(name)
}

export const quotedTable = ({ sourceSchemaName, sourceTable }: TableName): string =>
  `${escapeIdentifier(sourceSchemaName)}.${escapeIdentifier(sourceTable)}`

/** For the user to run. The name has only lowercase letters, digits and `_`. */
export const createSlotStatement = (slot: string): string =>
  `SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput')`
