// Tests whether ClickHouse accepts rows: sends them into a table with the same columns and the engine Null.
import type { EngineClient } from './client.ts'
import { EngineError, type Insert } from './engine.ts'
import { insertText } from './insert-text.ts'
import { quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { dropTable, fullName, type TableRef } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'
import { moveStaged, withStaged } from './staged-insert.ts'

/** Undefined, or ClickHouse's error text. */
export async function tryOut(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<string | undefined> {
  const tryOutTable = await prepareTryOutTable(parts, signal)
  try {
    if (parts.capabilities.canInput) await sendRows(parts, insertText(tryOutTable, insert), { insert }, signal)
    else {
      await withStaged(parts, insert, signal, (staged) =>
        moveStaged(parts, insert, { staged, target: tryOutTable }, signal),
      )
    }
    return undefined
  } catch (error) {
    if (error instanceof EngineError && error.kind === 'data') return error.detail === '' ? error.message : error.detail
    throw error
  }
}

/** Recreates the Null table when the columns of the table have changed. */
async function prepareTryOutTable(parts: SinkParts, signal: AbortSignal): Promise<TableRef> {
  const { client, capabilities, table, tryOutTable } = parts
  const [current, found] = [await columnsOf(client, table, signal), await columnsOf(client, tryOutTable, signal)]
  if (found === current) return tryOutTable
  if (found !== '') await dropTable(client, capabilities, tryOutTable, { signal })
  await client.query(`CREATE TABLE IF NOT EXISTS ${fullName(tryOutTable)} AS ${fullName(table)} ENGINE = Null`, {
    signal,
  })
  return tryOutTable
}

async function columnsOf(client: EngineClient, { database, table }: TableRef, signal: AbortSignal): Promise<string> {
  return await client.query(
    'SELECT name, type, default_kind, default_expression FROM system.columns ' +
      `WHERE database = ${quoteText(database)} AND table = ${quoteText(table)} FORMAT JSONEachRow`,
    { signal },
  )
}
