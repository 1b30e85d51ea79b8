// Inserts through a staging table, for ClickHouse without `input` or without insert tokens. All rows are in the staging table before the
// first is moved, and still there after the last: a restart in between empties the staging table.

import { randomBytes } from 'node:crypto'
import { addressText } from './check.ts'
import type { EngineClient } from './client.ts'
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { moveSettings } from './insert-settings.ts'
import { listOf } from './insert-text.ts'
import { quoteName } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, parseRows, type StagingPurpose, stagingTable, type TableRef } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { fillText, selectedOf, stagingText, witnessColumn, witnessText } from './staging-text.ts'
import { insertByView } from './view-insert.ts'

/** The partition of a row as text, so that keys of several columns and NULL can be compared. */
export function partitionText(partitionKey: string): string {
  return partitionKey === '' ? "''" : `toString(tuple(${partitionKey}))`
}

/** Source of the rows of a statement. */
export interface StagedRows {
  from: TableRef
  /** Expressions for the columns of the insert, in order. */
  selected: string
  where: string[]
}

interface StagingOptions {
  token: string
  purpose: StagingPurpose
  create: (name: string) => string
}

/** The caller drops the table. */
export async function makeStagingTable(
  { client, table, owner, drop }: SinkParts,
  { token, purpose, create }: StagingOptions,
  signal: AbortSignal,
): Promise<TableRef> {
  const attempt = randomBytes(6).toString('hex')
  const staging = stagingTable(table, owner, { token, attempt, purpose })
  try {
    await client.query(create(fullName(staging)), { signal })
    return staging
  } catch (error) {
    drop(staging)
    throw error
  }
}

/** Calls `use` with a table that `create` defines, and drops it afterwards. */
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

/** Calls `use` with all rows of the insert. When it resolves, no staged row was lost in between. */
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

/** Moves the rows into `target` as one block. */
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

/** Sent as an insert with rows, so that errors are classified as errors of the rows. */
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
  if (Number(found?.witnesses) !== 1) throw stagedRowsLost(client)
  return Number(found?.staged) - 1
}

export function stagedRowsLost({ access }: EngineClient): EngineError {
  return new EngineError('passing', `the engine at ${addressText(access)} was restarted in the middle of a batch`)
}
