// Which batches were taken over by whom: whoever repeats a batch keeps out all who tried it before, and waits for what of theirs is
// still at work. Entries are never taken back.
import { EngineError } from './engine.ts'
import { quoteText } from './names.ts'
import { dropTable, fenceTable, fullName, listStaged, parseRows } from './side-tables.ts'
import type { SinkParts } from './staged-insert.ts'
import { attemptTimeoutMs, waitForAttempts } from './under-way.ts'

/** It must outlive a restart of the engine. */
export async function makeFence({ client, table }: SinkParts, signal: AbortSignal): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${fullName(fenceTable(table))} (token String, epoch UInt64, at DateTime) ` +
      'ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY token',
    { signal },
  )
}

/**
 * From here on nobody with an earlier epoch can insert this batch, and nothing of an earlier attempt is under way: a statement that
 * begins later finds no staging table, or finds this entry, and those that have begun are waited for.
 */
export async function fence(parts: SinkParts, token: string, signal: AbortSignal): Promise<void> {
  const { client, capabilities, table, place } = parts
  const values = `${quoteText(token)}, ${place.epoch}, now()`
  await client.query(`INSERT INTO ${fullName(fenceTable(table))} (token, epoch, at) SELECT ${values}`, { signal })
  // Whoever came later has tables of the same batch, and needs them.
  await mustBeOurs(parts, token, signal)
  for (const staged of await listStaged(client, table, { pipeId: place.pipeId, token }, signal)) {
    await dropTable(client, capabilities, staged, { signal, timeoutMs: attemptTimeoutMs })
  }
  if (!parts.isBlind) await waitForAttempts(parts, token, signal)
}

/** As a condition of the statement that inserts; it is looked at when that runs. */
export function mayInsert(parts: SinkParts, token: string): string {
  return `(SELECT count() FROM ${laterFences(parts, token)}) = 0`
}

function laterFences({ table, place }: SinkParts, token: string): string {
  return `${fullName(fenceTable(table))} WHERE token = ${quoteText(token)} AND epoch > ${place.epoch}`
}

/** Throws when the batch was taken over: then nothing of it may have been inserted. */
export async function mustBeOurs(parts: SinkParts, token: string, signal: AbortSignal): Promise<void> {
  const text = `SELECT count() AS fences FROM ${laterFences(parts, token)} FORMAT JSONEachRow`
  const found = parseRows<{ fences: string | number }>(await parts.client.query(text, { signal }))
  if (found.some(({ fences }) => Number(fences) > 0)) {
    throw new EngineError('passing', 'another worker has taken over this batch')
  }
}
