// Parameters shared by all inserts of a sink.
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import type { SinkOwner, TableRef } from './side-tables.ts'

/** Insert paths from the cheapest on: fields read with the types of their columns, fields read as Nullable, or a staging table. */
export type InsertPath = 'plain' | 'nullable' | 'staged'

/** Parameters shared by all inserts of a sink. */
export interface SinkParts {
  client: EngineClient
  capabilities: Capabilities
  table: TableRef
  owner: SinkOwner
  /** Column types of the table, by column name. */
  types: ReadonlyMap<string, string>
  /** Empty when the table has no partition key. */
  partitionKey: string
  /** Whether the table stores tokens before their rows, so that it may have a token without them. */
  areTokensFirst: boolean
  /** Table with the engine Null for `tryOut`; created when needed. */
  tryOutTable: TableRef
  /** Whether the user may not read `system.processes`. */
  cannotListQueries: boolean
  /** The insert path that worked last, by the fields of the body. */
  insertPaths: Map<string, InsertPath>
  /** Drops the tables in the background, in this order. Closing the sink waits for it. */
  drop(...tables: TableRef[]): void
}
