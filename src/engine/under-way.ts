// Which statements of earlier attempts at a batch are still at work. Dropping what a statement reads does not tell: an engine may
// take the table from its list at once, and let the statement read on. Its list of statements does, since one is in it before it
// looks for its tables, and until its last row is written.
import { setTimeout as wait } from 'node:timers/promises'
import { placeOf } from './check.ts'
import { EngineError } from './engine.ts'
import { quoteName, quoteText } from './names.ts'
import { batchMark, parseRows } from './side-tables.ts'
import type { SinkParts } from './staged-insert.ts'

/** Longer than an engine takes to write a batch. */
export const attemptTimeoutMs = 300_000

type Asking = Pick<SinkParts, 'client' | 'place'>

const [firstWaitMs, longestWaitMs] = [50, 1_000]

/** Stands near the beginning of a statement, of which an engine shows only so much. */
export function commentOf({ place }: Asking, token: string): string {
  return `/* batch ${batchMark(place, token)} */`
}

export async function waitForAttempts(parts: Asking, token: string, signal: AbortSignal): Promise<void> {
  const since = performance.now()
  for (let waitMs = firstWaitMs; await isUnderWay(parts, token, signal); waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    if (performance.now() - since > attemptTimeoutMs) throw stillUnderWay(parts)
    // Whoever gives up is told by the next question.
    await wait(waitMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Undefined, or why the user of the engine cannot see what is under way. */
export async function findBlindness(parts: Asking, signal: AbortSignal): Promise<string | undefined> {
  try {
    await isUnderWay(parts, '', signal)
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

async function isUnderWay({ client, place }: Asking, token: string, signal: AbortSignal): Promise<boolean> {
  // In two pieces, so that this statement does not find itself.
  const comment = `concat('batch ', ${quoteText(batchMark(place, token))})`
  const answer = await client.query(
    `SELECT count() AS found FROM system.processes WHERE position(query, ${comment}) > 0 FORMAT JSONEachRow`,
    { signal },
  )
  return parseRows<{ found: string | number }>(answer).some(({ found }) => Number(found) > 0)
}

function stillUnderWay({ client }: Asking): EngineError {
  const place = placeOf(client.access)
  return new EngineError('passing', `the engine at ${place} is still writing this batch for an earlier attempt`)
}
