// Exactly once on engines that do not know tokens: a column says of every row which batch it came with. The rows of one block that
// go into one partition are there together or not at all, so a repeated batch fills the partitions that have nothing of it.
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { dropTable, fenceTable, fullName, listStaged, parseRows } from './side-tables.ts'
import { move, moveStaged, type SinkParts, type StagedRows, withStaged, withStagingTable } from './staged-insert.ts'
import { markerColumn } from './table-delivery.ts'
import { attemptTimeoutMs, commentOf, waitForAttempts } from './under-way.ts'

/** Remembers which batches were taken over by whom; it must outlive a restart of the engine. */
export async function makeFence({ client, table }: SinkParts, signal: AbortSignal): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${fullName(fenceTable(table))} (token String, epoch UInt64, at DateTime) ` +
      'ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY token',
    { signal },
  )
}

export async function insertMarked(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  if (insert.isRepeat) await fence(parts, insert.token, signal)
  return await withStaged(parts, insert, signal, async (staged) => {
    if (insert.isRepeat) await moveMissing(parts, insert, staged, signal)
    else await moveMarked(parts, insert, staged, signal)
    if (await isTakenOver(parts, insert.token, signal)) throw takenOver()
  })
}

/**
 * From here on nobody with an earlier epoch can insert this batch, and nothing of an earlier attempt is under way: a statement that
 * begins later finds no staging table, or finds this entry, and those that have begun are waited for.
 */
async function fence(parts: SinkParts, token: string, signal: AbortSignal): Promise<void> {
  const { client, capabilities, table, place } = parts
  const values = `${quoteText(token)}, ${place.epoch}, now()`
  await client.query(`INSERT INTO ${fullName(fenceTable(table))} (token, epoch, at) SELECT ${values}`, { signal })
  for (const staged of await listStaged(client, table, { pipeId: place.pipeId, token }, signal)) {
    await dropTable(client, capabilities, staged, { signal, timeoutMs: attemptTimeoutMs })
  }
  if (!parts.isBlind) await waitForAttempts(parts, token, signal)
}

function laterFences({ table, place }: SinkParts, token: string): string {
  return `${fullName(fenceTable(table))} WHERE token = ${quoteText(token)} AND epoch > ${place.epoch}`
}

async function moveMarked(
  parts: SinkParts,
  insert: Insert,
  { from, selected, where }: StagedRows,
  signal: AbortSignal,
): Promise<void> {
  const columns = listOf([...insert.columns.map(({ column }) => column), markerColumn])
  const mayInsert = `(SELECT count() FROM ${laterFences(parts, insert.token)}) = 0`
  const text =
    `INSERT INTO ${fullName(parts.table)} ${commentOf(parts, insert.token)} (${columns}) ` +
    `SELECT ${selected}, ${quoteText(insert.token)} FROM ${fullName(from)} WHERE ${[mayInsert, ...where].join(' AND ')}`
  await move(parts, text, insert, signal)
}

/**
 * Only what the table does not have of the batch. A row's partition can hang on columns that have defaults, so the rows go through
 * a table with the same columns first.
 */
async function moveMissing(parts: SinkParts, insert: Insert, staged: StagedRows, signal: AbortSignal): Promise<void> {
  const { table, partitionKey } = parts
  const there = `${fullName(table)} WHERE ${quoteName(markerColumn)} = ${quoteText(insert.token)}`
  if (partitionKey === '') {
    const where = [...staged.where, `(SELECT count() FROM ${there}) = 0`]
    await moveMarked(parts, insert, { ...staged, where }, signal)
    return
  }
  const create = (name: string): string => `CREATE TABLE ${name} AS ${fullName(table)} ENGINE = Memory`
  await withStagingTable(parts, { token: insert.token, purpose: 'typed', create }, signal, async (typed) => {
    await moveStaged(parts, insert, { staged, target: typed }, signal)
    // As a text: keys of several columns, and NULL in them, are compared like any other.
    const partition = `toString(tuple(${partitionKey}))`
    const where = [`${partition} NOT IN (SELECT DISTINCT ${partition} FROM ${there})`]
    const selected = listOf(insert.columns.map(({ column }) => column))
    await moveMarked(parts, insert, { from: typed, selected, where }, signal)
  })
}

async function isTakenOver(parts: SinkParts, token: string, signal: AbortSignal): Promise<boolean> {
  const text = `SELECT count() AS fences FROM ${laterFences(parts, token)} FORMAT JSONEachRow`
  const found = parseRows<{ fences: string | number }>(await parts.client.query(text, { signal }))
  return found.some(({ fences }) => Number(fences) > 0)
}

function takenOver(): EngineError {
  return new EngineError('passing', 'another worker has taken over this batch')
}
