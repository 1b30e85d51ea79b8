// Checks that the database, table and column types of a destination exist.
import type { EngineClient } from './client.ts'
import { EngineError } from './engine.ts'
import { quoteText } from './names.ts'
import { parseRows } from './side-tables.ts'
import { typeFamilies } from './type-grammar.ts'

export interface RequestedDestination {
  database: string
  table?: string | undefined
  /** Types that the grammar accepts. */
  types: string[]
}

export interface FoundDestination {
  /** Databases that the ClickHouse user can see, in order. */
  databases: string[]
  hasDatabase: boolean
  hasTable: boolean
  /** For each type, the first type family in it that ClickHouse does not have. */
  unknownFamilies: (string | undefined)[]
}

const mostDatabases = 1_000
const unknownTable = 60

/** Rejects with an EngineError. */
export async function findDestination(
  client: EngineClient,
  { database, table, types }: RequestedDestination,
  signal: AbortSignal,
): Promise<FoundDestination> {
  const namesOf = (from: string): Promise<string[]> => listNames(client, from, signal)
  const [databases, sameDatabase, sameTable, families] = await Promise.all([
    namesOf(`databases ORDER BY name LIMIT ${mostDatabases}`),
    namesOf(`databases WHERE name = ${quoteText(database)}`),
    table === undefined ? [] : namesOf(`tables WHERE database = ${quoteText(database)} AND name = ${quoteText(table)}`),
    types.length === 0 ? undefined : loadTypeFamilies(client, signal),
  ])
  return {
    databases,
    hasDatabase: sameDatabase.length > 0,
    hasTable: sameTable.length > 0,
    unknownFamilies: types.map((type) => families && findUnknownFamily(type, families)),
  }
}

export function findUnknownFamily(type: string, families: ReadonlySet<string>): string | undefined {
  return typeFamilies(type).find((family) => !families.has(family))
}

async function listNames(client: EngineClient, from: string, signal: AbortSignal | undefined): Promise<string[]> {
  const answer = await client.query(`SELECT name FROM system.${from} FORMAT JSONEachRow`, { signal })
  return parseRows<{ name: string }>(answer).map(({ name }) => name)
}

/** Undefined when ClickHouse does not have `system.data_type_families`. */
export async function loadTypeFamilies(
  client: EngineClient,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set(await listNames(client, 'data_type_families', signal))
  } catch (error) {
    if (error instanceof EngineError && error.code === unknownTable) return undefined
    throw error
  }
}
