// Waits for running statements of earlier attempts at a batch, found in `system.processes`. Dropping the tables that a statement reads
// is not enough: ClickHouse may remove the table at once and let the statement continue. `system.processes` lists a statement from
// before it resolves its tables until its last row is written.
import { setTimeout as wait } from 'node:timers/promises'
import { addressText } from './check.ts'
import { EngineError } from './engine.ts'
import { quoteName, quoteText } from './names.ts'
import { batchMark, parseRows } from './side-tables.ts'
import type { SinkParts } from './sink-parts.ts'

/** Longer than ClickHouse takes to write a batch. */
export const attemptTimeoutMs = 300_000

type QueryLookup = Pick<SinkParts, 'client' | 'owner'>

const [firstWaitMs, longestWaitMs] = [50, 1_000]

/** Comment near the beginning of a statement, because ClickHouse shows only so much of it. */
export function commentOf({ owner }: QueryLookup, token: string): string {
  return `/* batch ${batchMark(owner, token)} */`
}

export async function waitForAttempts(parts: QueryLookup, token: string, signal: AbortSignal): Promise<void> {
  const since = performance.now()
  for (let waitMs = firstWaitMs; await isRunning(parts, token, signal); waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    if (performance.now() - since > attemptTimeoutMs) throw stillRunning(parts)
    // When the signal is aborted, the next query rejects.
    await wait(waitMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Undefined, or why the ClickHouse user cannot list running queries. */
export async function findMissingGrant(parts: QueryLookup, signal: AbortSignal): Promise<string | undefined> {
  try {
    await isRunning(parts, '', signal)
    return undefined
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'user') throw error
  }
  const { username } = parts.client.access
  return (
    'the user of the engine may not see whether an earlier insert is still under way; ' +
    `run GRANT SELECT ON system.processes TO ${quoteName(username)} and start the pipe again`
  )
}

async function isRunning({ client, owner }: QueryLookup, token: string, signal: AbortSignal): Promise<boolean> {
  // Two pieces, so that this statement does not match itself.
  const comment = `concat('batch ', ${quoteText(batchMark(owner, token))})`
  const answer = await client.query(
    `SELECT count() AS found FROM system.processes WHERE position(query, ${comment}) > 0 FORMAT JSONEachRow`,
    { signal },
  )
  return parseRows<{ found: string | number }>(answer).some(({ found }) => Number(found) > 0)
}

function stillRunning({ client }: QueryLookup): EngineError {
  const address = addressText(client.access)
  return new EngineError('passing', `the engine at ${address} is still writing this batch for an earlier attempt`)
}
