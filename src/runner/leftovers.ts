// Removes what deleted pipes have left at their sources, such as replication slots. Failures are retried with back-off; after 7 days
// it gives up and logs what has to be removed by hand. A claim in the database ensures that only one process tries.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { type Leftover, listDueLeftovers } from '../progress/leftovers/store.ts'
import { eachOf, makePeriodicTask, type PeriodicTask } from './periodic-task.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface LeftoverTimes {
  lookEveryMs: number
  /** For one attempt. */
  timeoutMs: number
  /** Longer than an attempt: when it expires, the attempt has ended. */
  leaseMs: number
  firstWaitMs: number
  longestWaitMs: number
  giveUpMs: number
}

const usualTimes: LeftoverTimes = {
  lookEveryMs: 5_000,
  timeoutMs: 30_000,
  leaseMs: 120_000,
  firstWaitMs: 60_000,
  longestWaitMs: 3_600_000,
  giveUpMs: 7 * 86_400_000,
}

const triedAtOnce = 4
const listedAtOnce = 32

export interface LeftoversParts {
  database: RunnerDatabase
  /** Returns the reason of a failure; undefined when nothing is left. Rejects on a defect. */
  remove(leftover: Leftover, signal: AbortSignal): Promise<string | undefined>
  /** How to remove it by hand, as the end of a sentence. */
  remedyFor(leftover: Leftover): Promise<string>
  log: Log
  times?: Partial<LeftoverTimes>
}

export function makeLeftoverTask(parts: LeftoversParts): PeriodicTask {
  const { database, log } = parts
  const times = { ...usualTimes, ...parts.times }
  return makePeriodicTask({
    everyMs: times.lookEveryMs,
    failure: 'what deleted pipes have left at their sources could not be looked after',
    log,
    async work(signal) {
      const horizon = timestampIn(2 * Math.max(times.longestWaitMs, times.leaseMs))
      const due = await listDueLeftovers(database.reader, { now: timestampIn(0), horizon, limit: listedAtOnce })
      await eachOf(due, triedAtOnce, async (leftover) => {
        if (!signal.aborted) await tryOnce({ ...parts, times }, leftover, signal)
      })
    },
  })
}

type TryParts = LeftoversParts & { times: LeftoverTimes }

async function tryOnce(parts: TryParts, found: Leftover, closing: AbortSignal): Promise<void> {
  const { database, log, times } = parts
  const { pipeId, organizationId, nextTryAt, since, tries } = found
  const leasedUntil = timestampIn(times.leaseMs)
  const claim = { pipeId, organizationId, nextTryAt, leasedUntil }
  if (!(await database.write('claimLeftover', claim, organizationId))) return
  const key = { pipeId, organizationId, nextTryAt: leasedUntil }
  const reason = await reasonLeft(parts, found, closing)
  if (reason === undefined) {
    await database.write('forgetLeftover', key, organizationId)
    log.info('what a deleted pipe had left at its source was removed', { pipeId, organizationId })
  } else if (closing.aborted || Date.now() - Date.parse(since) < times.giveUpMs) {
    const waitMs = closing.aborted ? 0 : waitAfter(tries, times)
    await database.write('postponeLeftover', { ...key, laterAt: timestampIn(waitMs), reason }, organizationId)
  } else {
    const remedy = await parts.remedyFor(found)
    // Log first: after the record is deleted, nothing else has this information.
    log.warn('what a deleted pipe has left at its source could not be removed, and is not tried again', {
      pipeId,
      organizationId,
      reason: `${reason}; ${remedy}`,
    })
    await database.write('forgetLeftover', key, organizationId)
  }
}

async function reasonLeft(
  { remove, log, times }: TryParts,
  leftover: Leftover,
  closing: AbortSignal,
): Promise<string | undefined> {
  try {
    return await remove(leftover, AbortSignal.any([closing, AbortSignal.timeout(times.timeoutMs)]))
  } catch (error) {
    const { pipeId, organizationId } = leftover
    log.error('removing what a deleted pipe has left ended with an unexpected error', {
      pipeId,
      organizationId,
      error: describeError(error),
    })
    return 'a defect of Penstock'
  }
}

function waitAfter(tries: number, { firstWaitMs, longestWaitMs }: LeftoverTimes): number {
  return Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(tries, 20))
}

function timestampIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString()
}
