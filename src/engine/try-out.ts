// Whether the engine would take rows: they are sent as they would be, into a table with the same columns that keeps nothing.
import type { EngineClient } from './client.ts'
import { EngineError, type Insert } from './engine.ts'
import { insertText } from './insert-text.ts'
import { quoteText } from './names.ts'
import { sendRows } from './send-rows.ts'
import { dropTable, fullName, type TableRef } from './side-tables.ts'
import { moveStaged, type SinkParts, withStaged } from './staged-insert.ts'

/** Undefined, or the engine's own words for what is wrong with them. */
export async function tryOut(parts: SinkParts, insert: Insert, signal: AbortSignal): Promise<string | undefined> {
  const twin = await makeTwin(parts, signal)
  try {
    if (parts.capabilities.canInput) await sendRows(parts, insertText(twin, insert), { insert }, signal)
    else {
      await withStaged(parts, insert, signal, (staged) => moveStaged(parts, insert, { staged, target: twin }, signal))
    }
    return undefined
  } catch (error) {
    if (error instanceof EngineError && error.kind === 'data') return error.detail === '' ? error.message : error.detail
    throw error
  }
}

/** Made anew when the table has changed since. */
async function makeTwin(parts: SinkParts, signal: AbortSignal): Promise<TableRef> {
  const { client, capabilities, table, twin } = parts
  const [wanted, found] = [await columnsOf(client, table, signal), await columnsOf(client, twin, signal)]
  if (found === wanted) return twin
  if (found !== '') await dropTable(client, capabilities, twin, { signal })
  await client.query(`CREATE TABLE IF NOT EXISTS ${fullName(twin)} AS ${fullName(table)} ENGINE = Null`, { signal })
  return twin
}

async function columnsOf(client: EngineClient, { database, table }: TableRef, signal: AbortSignal): Promise<string> {
  return await client.query(
    'SELECT name, type, default_kind, default_expression FROM system.columns ' +
      `WHERE database = ${quoteText(database)} AND table = ${quoteText(table)} FORMAT JSONEachRow`,
    { signal },
  )
}
