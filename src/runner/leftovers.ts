// Removes what deleted pipes have left at their sources. A source may be away for long: it is tried again, ever more rarely, and
// given up after some days, with a word to whoever reads the log. Of several who would try, the one does who claims it.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { type Leftover, listDueLeftovers } from '../progress/leftovers/store.ts'
import { eachOf, makePeriodicTask, type PeriodicTask } from './periodic-task.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface LeftoverTimes {
  lookEveryMs: number
  /** For one try. */
  timeoutMs: number
  /** Longer than a try: when it is over, whoever had claimed it has ended. */
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
  /** Gives why it was in vain; undefined when nothing is left. Rejects with a defect. */
  remove(leftover: Leftover, signal: AbortSignal): Promise<string | undefined>
  /** What somebody has to do who removes it by hand, as the end of a sentence. */
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
      const due = await listDueLeftovers(database.reader, { now: momentIn(0), limit: listedAtOnce })
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
  const leasedUntil = momentIn(times.leaseMs)
  const claim = { pipeId, organizationId, nextTryAt, leasedUntil }
  if (!(await database.write('claimLeftover', claim, organizationId))) return
  const key = { pipeId, organizationId, nextTryAt: leasedUntil }
  const reason = await reasonLeft(parts, found, closing)
  if (reason === undefined) {
    await database.write('forgetLeftover', key, organizationId)
    log.info('what a deleted pipe had left at its source was removed', { pipeId, organizationId })
  } else if (closing.aborted || Date.now() - Date.parse(since) < times.giveUpMs) {
    const waitMs = closing.aborted ? 0 : waitAfter(tries, times)
    await database.write('postponeLeftover', { ...key, laterAt: momentIn(waitMs), reason }, organizationId)
  } else {
    const remedy = await parts.remedyFor(found)
    // First: when it is forgotten, nobody else knows what is left.
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

function momentIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString()
}
