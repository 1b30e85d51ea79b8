// Inserts by way of a table that holds the rows as they came, for engines that cannot make columns of the fields of a body, or
// cannot know a batch again. All rows are in the staging table before the first of them goes into the table itself, and are still
// there after the last: an engine that is started anew in between has the table without its rows.
import { randomBytes } from 'node:crypto'
import type { Capabilities } from './capabilities.ts'
import { placeOf } from './check.ts'
import type { EngineClient } from './client.ts'
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { listOf } from './insert-text.ts'
import { quoteName } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, parseRows, type SinkOwner, type StagingPurpose, stagingTable, type TableRef } from './side-tables.ts'
import { fillText, selectedOf, stagingText, witnessColumn, witnessText } from './staging-text.ts'
import { insertByView, type Way } from './view-insert.ts'

/** What the inserts of one sink have in common. */
export interface SinkParts {
  client: EngineClient
  capabilities: Capabilities
  table: TableRef
  place: SinkOwner
  /** Of the columns of the table, by their names. */
  types: ReadonlyMap<string, string>
  /** Empty: the table has no partitions. */
  partitionKey: string
  /** Whether the table keeps tokens, and may have one without the rows that it stands for. */
  areTokensFirst: boolean
  /** For rows that are only tried out; made when it is needed. */
  twin: TableRef
  /** Whether the engine does not show which statements are under way. */
  isBlind: boolean
  /** By which way the fields of a body have come to go, by the fields. */
  ways: Map<string, Way>
  /** One after the other. Nobody waits for it, other than whoever closes the sink. */
  drop(...places: TableRef[]): void
}

/** Of a row, which partition it goes into. As a text: keys of several columns, and NULL in them, are compared like any other. */
export function partitionText(partitionKey: string): string {
  return partitionKey === '' ? "''" : `toString(tuple(${partitionKey}))`
}

/** Where the rows of a statement come from. */
export interface StagedRows {
  from: TableRef
  /** For the columns of the insert, in their order. */
  selected: string
  where: string[]
}

interface StagingOptions {
  token: string
  purpose: StagingPurpose
  create: (name: string) => string
}

/** Whoever makes it drops it. */
export async function makeStagingTable(
  { client, table, place, drop }: SinkParts,
  { token, purpose, create }: StagingOptions,
  signal: AbortSignal,
): Promise<TableRef> {
  const attempt = randomBytes(6).toString('hex')
  const staging = stagingTable(table, place, { token, attempt, purpose })
  try {
    await client.query(create(fullName(staging)), { signal })
    return staging
  } catch (error) {
    drop(staging)
    throw error
  }
}

/** Calls `use` with a table that `create` makes, and that is gone soon after. */
export async function withStagingTable<Result>(
  parts: SinkParts,
  options: StagingOptions,
  signal: AbortSignal,
  use: (staging: TableRef) => Promise<Result>,
): Promise<Result> {
  const staging = await makeStagingTable(parts, options, signal)
  try {
    return await use(staging)
  } finally {
    parts.drop(staging)
  }
}

/** Calls `use` with all rows of the insert; what it makes of them is whole when this resolves. */
export async function withStaged(
  parts: SinkParts,
  insert: Insert,
  signal: AbortSignal,
  use: (staged: StagedRows) => Promise<void>,
): Promise<InsertOutcome> {
  const create = (name: string): string => stagingText(name, insert)
  return await withStagingTable(parts, { token: insert.token, purpose: 'rows', create }, signal, async (staging) => {
    await parts.client.query(witnessText(staging, insert), { signal })
    const { sentBytes } = await sendRows(parts, fillText(staging, insert), { insert }, signal)
    const where = [`${quoteName(witnessColumn(insert.fields))} = 0`]
    await use({ from: staging, selected: selectedOf(insert, parts.types), where })
    return { rows: await countStaged(parts, insert, staging, signal), sentBytes }
  })
}

/** The rows go into `target` as one block. */
export async function moveStaged(
  parts: SinkParts,
  insert: Insert,
  { staged, target }: { staged: StagedRows; target: TableRef },
  signal: AbortSignal,
): Promise<void> {
  const { from, selected, where } = staged
  const columns = listOf(insert.columns.map(({ column }) => column))
  const text =
    `INSERT INTO ${fullName(target)} (${columns}) ` +
    `SELECT ${selected} FROM ${fullName(from)} WHERE ${where.join(' AND ')}`
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
  return await insertByView(parts, insert, { isMarked: false, otherwise: insertUnmarked }, signal)
}

async function insertUnmarked(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  return await withStaged(parts, insert, signal, (staged) =>
    moveStaged(parts, insert, { staged, target: parts.table }, signal),
  )
}

async function countStaged(
  { client }: SinkParts,
  { fields }: Insert,
  staging: TableRef,
  signal: AbortSignal,
): Promise<number> {
  const witness = quoteName(witnessColumn(fields))
  const answer = await client.query(
    `SELECT count() AS staged, sum(${witness}) AS witnesses FROM ${fullName(staging)} FORMAT JSONEachRow`,
    { signal },
  )
  const [found] = parseRows<{ staged: string | number; witnesses: string | number }>(answer)
  if (Number(found?.witnesses) !== 1) throw forgotten(client)
  return Number(found?.staged) - 1
}

export function forgotten({ access }: EngineClient): EngineError {
  return new EngineError('passing', `the engine at ${placeOf(access)} was started anew in the middle of a batch`)
}
