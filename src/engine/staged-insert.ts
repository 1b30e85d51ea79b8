// Inserts by way of a table that holds the rows as they came, for engines that cannot make columns of the fields of a body, or
// cannot know a batch again. All rows are in the staging table before the first of them goes into the table itself.
import { randomBytes } from 'node:crypto'
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import type { Insert, InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { listOf } from './insert-text.ts'
import { sendRows } from './send-rows.ts'
import { dropTable, fullName, parseRows, type SinkPlace, stagingTable, type TablePlace } from './side-tables.ts'
import { fillText, selectedOf, stagingText } from './staging-text.ts'

/** What the inserts of one sink have in common. */
export interface SinkParts {
  client: EngineClient
  capabilities: Capabilities
  table: TablePlace
  place: SinkPlace
  /** Of the columns of the table, by their names. */
  types: ReadonlyMap<string, string>
  /** Empty: the table has no partitions. */
  partitionKey: string
  /** For rows that are only tried out; made when it is needed. */
  twin: TablePlace
  /** Nobody waits for it, other than whoever closes the sink. */
  cleanUp(work: Promise<void>): void
}

/** What is dropped behind a batch: an engine that does not answer is left with it, and the next sink of the place drops it. */
export const cleanUpTimeoutMs = 5_000

/** Calls `use` with a table that `create` makes, and that is gone soon after. */
export async function withStagingTable<Result>(
  parts: SinkParts,
  { token, purpose, create }: { token: string; purpose: 'rows' | 'typed'; create: (name: string) => string },
  signal: AbortSignal,
  use: (staging: TablePlace) => Promise<Result>,
): Promise<Result> {
  const { client, capabilities, table, place } = parts
  const attempt = randomBytes(6).toString('hex')
  const staging = stagingTable(table, place, { token, attempt, purpose })
  try {
    await client.query(create(fullName(staging)), { signal })
    return await use(staging)
  } finally {
    parts.cleanUp(dropTable(client, capabilities, staging, { timeoutMs: cleanUpTimeoutMs }))
  }
}

/** Calls `use` with a table that holds the rows of the insert. */
export async function withStaged<Result>(
  parts: SinkParts,
  insert: Insert,
  signal: AbortSignal,
  use: (staged: TablePlace, sentBytes: number) => Promise<Result>,
): Promise<Result> {
  const create = (name: string): string => stagingText(name, insert)
  return await withStagingTable(parts, { token: insert.token, purpose: 'rows', create }, signal, async (staged) => {
    const { sentBytes } = await sendRows(parts, fillText(staged, insert), { insert }, signal)
    return await use(staged, sentBytes)
  })
}

/** The rows go into `target` as one block. */
export async function moveStaged(
  parts: SinkParts,
  insert: Insert,
  { staged, target }: { staged: TablePlace; target: TablePlace },
  signal: AbortSignal,
): Promise<void> {
  const columns = listOf(insert.columns.map(({ column }) => column))
  const selected = selectedOf(insert, parts.types)
  const text = `INSERT INTO ${fullName(target)} (${columns}) SELECT ${selected} FROM ${fullName(staged)}`
  await move(parts, text, insert, signal)
}

/** Sent as rows are: what the engine refuses is in the rows, or passes. */
export async function move(
  { client, capabilities }: SinkParts,
  text: string,
  { settings }: Insert,
  signal: AbortSignal,
): Promise<void> {
  await client.send(text, [], { settings: moveSettings(capabilities, settings), signal })
}

export async function insertStaged(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  return await withStaged(parts, insert, signal, async (staged, sentBytes) => {
    const rows = await countRows(parts.client, staged, signal)
    await moveStaged(parts, insert, { staged, target: parts.table }, signal)
    return { rows, sentBytes }
  })
}

export async function countRows(client: EngineClient, place: TablePlace, signal: AbortSignal): Promise<number> {
  const answer = await client.query(`SELECT count() AS rows FROM ${fullName(place)} FORMAT JSONEachRow`, { signal })
  return parseRows<{ rows: string | number }>(answer).reduce((sum, { rows }) => sum + Number(rows), 0)
}
