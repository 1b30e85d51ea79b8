// Exactly once without insert tokens: a marker column stores the batch of every row. The rows of one block and partition are written
// together or not at all, so a repeated batch fills the partitions without any row of it.
import type { Insert, InsertOutcome } from './engine.ts'
import { assertNotTakenOver, fence, mayInsert } from './fence.ts'
import { listOf } from './insert-text.ts'
import { quoteName, quoteText } from './names.ts'
import { commentOf } from './running-queries.ts'
import { fullName } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { move, moveStaged, partitionText, type StagedRows, withStaged, withStagingTable } from './staged-insert.ts'
import { markerColumn, markerOf } from './table-delivery.ts'
import { insertByView } from './view-insert.ts'

export async function insertMarked(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  return await insertByView(parts, insert, { isMarked: true, otherwise: insertMarkedStaged }, signal)
}

async function insertMarkedStaged(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome> {
  if (insert.isRepeat) await fence(parts, insert.token, signal)
  return await withStaged(parts, insert, signal, async (staged) => {
    if (insert.isRepeat) await moveMissing(parts, insert, staged, signal)
    else await moveMarked(parts, insert, staged, signal)
    await assertNotTakenOver(parts, insert.token, signal)
  })
}

async function moveMarked(
  parts: SinkParts,
  insert: Insert,
  { from, selected, where }: StagedRows,
  signal: AbortSignal,
): Promise<void> {
  const columns = listOf([...insert.columns.map(({ column }) => column), markerColumn])
  const conditions = [mayInsert(parts, insert.token), ...where]
  const text =
    `INSERT INTO ${fullName(parts.table)} ${commentOf(parts, insert.token)} (${columns}) ` +
    `SELECT ${selected}, ${quoteText(markerOf(insert.token))} FROM ${fullName(from)} WHERE ${conditions.join(' AND ')}`
  await move(parts, text, insert, signal)
}

/**
 * Inserts only the partitions missing in the table. A partition key can use columns with defaults, so the rows first go through a
 * table with the same columns.
 */
async function moveMissing(parts: SinkParts, insert: Insert, staged: StagedRows, signal: AbortSignal): Promise<void> {
  const { table, partitionKey } = parts
  const there = `${fullName(table)} WHERE ${quoteName(markerColumn)} = ${quoteText(markerOf(insert.token))}`
  if (partitionKey === '') {
    const where = [...staged.where, `(SELECT count() FROM ${there}) = 0`]
    await moveMarked(parts, insert, { ...staged, where }, signal)
    return
  }
  const create = (name: string): string => `CREATE TABLE ${name} AS ${fullName(table)} ENGINE = Memory`
  await withStagingTable(parts, { token: insert.token, purpose: 'typed', create }, signal, async (typed) => {
    await moveStaged(parts, insert, { staged, target: typed }, signal)
    const partition = partitionText(partitionKey)
    const where = [`${partition} NOT IN (SELECT DISTINCT ${partition} FROM ${there})`]
    const selected = listOf(insert.columns.map(({ column }) => column))
    await moveMarked(parts, insert, { from: typed, selected, where }, signal)
  })
}
