// Inserts by way of a table that keeps nothing, and a view that hands each block on to the table itself: engines that cannot make
// columns of the fields of a body have nothing to keep twice. What must stay true: what is sent while the view is not there is
// gone, and is never taken for inserted.
import { randomBytes } from 'node:crypto'
import { placeOf } from './check.ts'
import type { EngineClient } from './client.ts'
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { mayInsert, mustBeOurs } from './fence.ts'
import { quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { fullName, parseRows, queryTables, stagingTable, type TableRef } from './side-tables.ts'
import type { SinkParts } from './staged-insert.ts'
import { fillText } from './staging-text.ts'
import { markerOf } from './table-delivery.ts'
import { commentOf } from './under-way.ts'
import { findPassage, type Passage, passageText, type TableColumn, viewText } from './view-text.ts'

/** From the cheapest on: fields are read as their columns are, or as what can be NULL, or do not go through a view. */
export type Way = 'plain' | 'nullable' | 'staged'

interface ViewOptions {
  /** Whether the rows say which batch they came with. */
  isMarked: boolean
  /** The way for all that cannot go through a view, or is refused there; its word counts. */
  otherwise(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome>
}

export async function insertByView(
  parts: SinkParts,
  insert: Insert,
  options: ViewOptions,
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const shape = JSON.stringify([insert.format, insert.fields])
  const way = parts.capabilities.canInput || insert.isRepeat ? 'staged' : (parts.ways.get(shape) ?? 'plain')
  if (way === 'staged') return await options.otherwise(parts, insert, signal)
  const { isMarked } = options
  const passage = await loadPassage(parts, insert, { way, isMarked }, signal).catch((error: unknown) => {
    // What is wrong, if anything is, the other way tells.
    if (error instanceof EngineError && error.kind === 'user') return undefined
    throw error
  })
  if (!passage) return await options.otherwise(parts, insert, signal)
  let refusal: EngineError
  try {
    return await insertThrough(parts, insert, { passage, isMarked }, signal)
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind === 'passing') throw error
    refusal = error
  }
  // Some partitions may have their rows.
  const outcome = await options.otherwise(parts, { ...insert, isRepeat: true }, signal)
  parts.ways.set(shape, way === 'plain' && refusal.kind === 'data' ? 'nullable' : 'staged')
  return outcome
}

/** Undefined: a view would not do for this table all that an insert does. */
async function loadPassage(
  parts: SinkParts,
  insert: Insert,
  { way, isMarked }: { way: Way; isMarked: boolean },
  signal: AbortSignal,
): Promise<Passage | undefined> {
  const { client, table } = parts
  const [database, name] = [quoteText(table.database), quoteText(table.table)]
  // What comes through a view does not come to the views of the table.
  const isPlain =
    `(SELECT count() FROM system.tables WHERE database = ${database} AND name = ${name} ` +
    "AND engine LIKE '%MergeTree' AND length(dependencies_table) = 0)"
  // Each time: views and columns come and go while a sink is open.
  const answer = await queryTables(
    client,
    `SELECT name, type, default_kind, ${isPlain} AS plain FROM system.columns ` +
      `WHERE database = ${database} AND table = ${name} FORMAT JSONEachRow`,
    signal,
  )
  const columns = parseRows<TableColumn & { plain: string | number }>(answer)
  if (columns.length === 0 || columns.some(({ plain }) => Number(plain) === 0)) return undefined
  const marker = isMarked ? markerOf(insert.token) : undefined
  const passage = findPassage(insert, columns, { marker, mayHaveNulls: way === 'nullable' })
  if (!passage || !isMarked) return passage
  return { ...passage, where: [mayInsert(parts, insert.token), ...passage.where] }
}

async function insertThrough(
  parts: SinkParts,
  insert: Insert,
  { passage, isMarked }: { passage: Passage; isMarked: boolean },
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const { client, table, place } = parts
  const comment = commentOf(parts, insert.token)
  const attempt = randomBytes(6).toString('hex')
  const from = stagingTable(table, place, { token: insert.token, attempt, purpose: 'rows' })
  const view = stagingTable(table, place, { token: insert.token, attempt, purpose: 'view' })
  try {
    await client.query(passageText(fullName(from), passage), { signal })
    await client.query(viewText(fullName(view), { from, to: table, passage }), { signal })
    const check = async (): Promise<void> => {
      if (isMarked) await mustBeOurs(parts, insert.token, signal)
      await mustBeThere(client, view, signal)
    }
    const { sentBytes } = await sendRows(parts, fillText(from, insert, comment), { insert }, signal).catch(
      async (error: unknown) => {
        // It may be refused only because somebody has taken the tables away.
        if (error instanceof EngineError && error.kind !== 'passing') await check()
        throw error
      },
    )
    await check()
    return { rows: undefined, sentBytes }
  } finally {
    parts.drop(from, view)
  }
}

/** A view that is there afterwards was there all the time: none is ever made again. */
async function mustBeThere(client: EngineClient, view: TableRef, signal: AbortSignal): Promise<void> {
  const answer = await client.query(`EXISTS TABLE ${fullName(view)} FORMAT TabSeparated`, { signal })
  if (answer.trim() === '1') return
  const place = placeOf(client.access)
  throw new EngineError('passing', `what a batch went through was removed from the engine at ${place}`)
}
