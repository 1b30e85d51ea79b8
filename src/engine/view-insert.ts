// Inserts through a Null table and a materialized view, for ClickHouse without `input`: nothing is stored twice. Invariant: rows sent
// while the view does not exist are lost, and are never taken for inserted.

import { randomBytes } from 'node:crypto'
import { addressText } from './check.ts'
import type { EngineClient } from './client.ts'
import { EngineError, type Insert, type InsertOutcome } from './engine.ts'
import { assertNotTakenOver, mayInsert } from './fence.ts'
import { quoteText } from './names.ts'
import { commentOf } from './running-queries.ts'
import { sendRows } from './send-rows.ts'
import { fullName, parseRows, queryTables, stagingTable, type TableRef } from './side-tables.ts'
import type { InsertPath, SinkParts } from './sink-parts.ts'
import { fillText } from './staging-text.ts'
import { markerOf } from './table-delivery.ts'
import { nullTableText, planView, type TableColumn, type ViewPlan, viewText } from './view-text.ts'

interface ViewOptions {
  /** Whether the marker column gets the batch. */
  isMarked: boolean
  /** Insert for rows that cannot go through a view, or are rejected there; its result counts. */
  otherwise(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<InsertOutcome>
}

export async function insertByView(
  parts: SinkParts,
  insert: Insert,
  options: ViewOptions,
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const shape = JSON.stringify([insert.format, insert.fields])
  const path = parts.capabilities.canInput || insert.isRepeat ? 'staged' : (parts.insertPaths.get(shape) ?? 'plain')
  if (path === 'staged') return await options.otherwise(parts, insert, signal)
  const { isMarked } = options
  const plan = await loadViewPlan(parts, insert, { path, isMarked }, signal).catch((error: unknown) => {
    // The other insert path reports the error, if there is one.
    if (error instanceof EngineError && error.kind === 'user') return undefined
    throw error
  })
  if (!plan) return await options.otherwise(parts, insert, signal)
  let refusal: EngineError
  try {
    return await insertThrough(parts, insert, { plan, isMarked }, signal)
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind === 'passing') throw error
    refusal = error
  }
  // Some partitions may already have their rows.
  const outcome = await options.otherwise(parts, { ...insert, isRepeat: true }, signal)
  parts.insertPaths.set(shape, path === 'plain' && refusal.kind === 'data' ? 'nullable' : 'staged')
  return outcome
}

/** Undefined when a view cannot replace a direct insert into this table. */
async function loadViewPlan(
  parts: SinkParts,
  insert: Insert,
  { path, isMarked }: { path: InsertPath; isMarked: boolean },
  signal: AbortSignal,
): Promise<ViewPlan | undefined> {
  const { client, table } = parts
  const [database, name] = [quoteText(table.database), quoteText(table.table)]
  // Rows inserted by a view do not reach the views of the destination table.
  const isPlain =
    `(SELECT count() FROM system.tables WHERE database = ${database} AND name = ${name} ` +
    "AND engine LIKE '%MergeTree' AND length(dependencies_table) = 0)"
  // Loaded for each insert: views and columns change while a sink is open.
  const answer = await queryTables(
    client,
    `SELECT name, type, default_kind, ${isPlain} AS plain FROM system.columns ` +
      `WHERE database = ${database} AND table = ${name} FORMAT JSONEachRow`,
    signal,
  )
  const columns = parseRows<TableColumn & { plain: string | number }>(answer)
  if (columns.length === 0 || columns.some(({ plain }) => Number(plain) === 0)) return undefined
  const marker = isMarked ? markerOf(insert.token) : undefined
  const plan = planView(insert, columns, { marker, mayHaveNulls: path === 'nullable' })
  if (!plan || !isMarked) return plan
  return { ...plan, where: [mayInsert(parts, insert.token), ...plan.where] }
}

async function insertThrough(
  parts: SinkParts,
  insert: Insert,
  { plan, isMarked }: { plan: ViewPlan; isMarked: boolean },
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const { client, table, owner } = parts
  const comment = commentOf(parts, insert.token)
  const attempt = randomBytes(6).toString('hex')
  const from = stagingTable(table, owner, { token: insert.token, attempt, purpose: 'rows' })
  const view = stagingTable(table, owner, { token: insert.token, attempt, purpose: 'view' })
  try {
    await client.query(nullTableText(fullName(from), plan), { signal })
    await client.query(viewText(fullName(view), { from, to: table, plan }), { signal })
    const check = async (): Promise<void> => {
      if (isMarked) await assertNotTakenOver(parts, insert.token, signal)
      await assertViewExists(client, view, signal)
    }
    const { sentBytes } = await sendRows(parts, fillText(from, insert, comment), { insert }, signal).catch(
      async (error: unknown) => {
        // The rejection may be caused by another worker that dropped the tables.
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

/** A view that exists afterwards existed all the time: a dropped view is never recreated. */
async function assertViewExists(client: EngineClient, view: TableRef, signal: AbortSignal): Promise<void> {
  const answer = await client.query(`EXISTS TABLE ${fullName(view)} FORMAT TabSeparated`, { signal })
  if (answer.trim() === '1') return
  const address = addressText(client.access)
  throw new EngineError('passing', `the view of a batch was removed from the engine at ${address}`)
}
