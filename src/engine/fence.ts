// Fences off earlier workers from a batch: the worker that repeats it prevents their later inserts, and waits for their running queries.
// Entries are never removed.
import { EngineError } from './engine.ts'
import { quoteText } from './names.ts'
import { attemptTimeoutMs, waitForAttempts } from './running-queries.ts'
import { dropTable, fenceTable, fullName, listStaged, parseRows } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'

/** The table must survive a restart of ClickHouse. */
export async function makeFence({ client, table }: SinkParts, signal: AbortSignal): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${fullName(fenceTable(table))} (token String, epoch UInt64, at DateTime) ` +
      'ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY token',
    { signal },
  )
}

/**
 * After it resolves, no worker with an earlier epoch can insert this batch, and no earlier attempt is running: a later statement finds
 * no staging table, or finds this entry, and running statements have ended.
 */
export async function fence(parts: SinkParts, token: string, signal: AbortSignal): Promise<void> {
  const { client, capabilities, table, owner } = parts
  const values = `${quoteText(token)}, ${owner.epoch}, now()`
  await client.query(`INSERT INTO ${fullName(fenceTable(table))} (token, epoch, at) SELECT ${values}`, { signal })
  // A worker with a later epoch needs its staging tables of the same batch.
  await assertNotTakenOver(parts, token, signal)
  for (const staged of await listStaged(client, table, { pipeId: owner.pipeId, token }, signal)) {
    await dropTable(client, capabilities, staged, { signal, timeoutMs: attemptTimeoutMs })
  }
  if (!parts.cannotListQueries) await waitForAttempts(parts, token, signal)
}

/** Condition for the insert statement; evaluated when that runs. */
export function mayInsert(parts: SinkParts, token: string): string {
  return `(SELECT count() FROM ${laterFences(parts, token)}) = 0`
}

function laterFences({ table, owner }: SinkParts, token: string): string {
  return `${fullName(fenceTable(table))} WHERE token = ${quoteText(token)} AND epoch > ${owner.epoch}`
}

/** Rejects when another worker has taken over the batch: it may not be inserted then. */
export async function assertNotTakenOver(parts: SinkParts, token: string, signal: AbortSignal): Promise<void> {
  const text = `SELECT count() AS fences FROM ${laterFences(parts, token)} FORMAT JSONEachRow`
  const found = parseRows<{ fences: string | number }>(await parts.client.query(text, { signal }))
  if (found.some(({ fences }) => Number(fences) > 0)) {
    throw new EngineError('passing', 'another worker has taken over this batch')
  }
}
