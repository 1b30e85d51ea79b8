// Measures how much WAL sources retain for postgres pipes that do not run. They have no worker that would report it, and a
// replication slot that nobody reads fills the disk of its server.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { type IdleSlot, listIdleSlots } from '../progress/retained/store.ts'
import type { RetainedLog } from '../sources/postgres/postgres-maintenance.ts'
import { eachOf, makePeriodicTask, type PeriodicTask } from './periodic-task.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface RetainedLogTimes {
  lookEveryMs: number
  /** For one source. */
  timeoutMs: number
}

const usualTimes: RetainedLogTimes = { lookEveryMs: 300_000, timeoutMs: 15_000 }

const askedAtOnce = 4
const listedAtOnce = 100

export interface RetainedLogParts {
  database: RunnerDatabase
  /** Undefined when the source did not answer. Rejects with a defect. */
  ask(slot: IdleSlot, signal: AbortSignal): Promise<RetainedLog | undefined>
  /** Logs a warning above this; 0 for never. */
  warningBytes: number
  log: Log
  times?: Partial<RetainedLogTimes>
}

export function makeRetainedLogTask(parts: RetainedLogParts): PeriodicTask {
  const { database, warningBytes, log } = parts
  const times = { ...usualTimes, ...parts.times }
  /** Pipes with a logged warning. */
  let warned = new Set<string>()

  /** Returns whether the retained log exceeds `warningBytes`. */
  const look = async (slot: IdleSlot, signal: AbortSignal): Promise<boolean> => {
    const { pipeId, organizationId } = slot
    const found = await askSafely(parts, slot, AbortSignal.any([signal, AbortSignal.timeout(times.timeoutMs)]))
    // Unknown: keep the previous state.
    if (!found || signal.aborted) return warned.has(pipeId)
    const { retainedBytes } = found
    const isMuch = warningBytes > 0 && retainedBytes > warningBytes
    const isKept = await database.write('keepRetained', { pipeId, organizationId, retainedBytes }, organizationId)
    if (isKept && isMuch && !warned.has(pipeId)) warn(log, slot, found)
    return isKept && isMuch
  }

  return makePeriodicTask({
    everyMs: times.lookEveryMs,
    failure: 'how much log sources keep for pipes at rest could not be looked up',
    log,
    async work(signal) {
      const much = new Set<string>()
      for (let after = ''; !signal.aborted; ) {
        const page = await listIdleSlots(database.reader, { after, limit: listedAtOnce })
        const last = page.at(-1)
        if (!last) break
        after = last.pipeId
        // A pipe that only loads its tables has no replication slot.
        const followed = page.filter(({ source }) => source.settings.replicationMode !== 'snapshot')
        await eachOf(followed, askedAtOnce, async (slot) => {
          if (!signal.aborted && (await look(slot, signal))) much.add(slot.pipeId)
        })
      }
      warned = much
    },
  })
}

async function askSafely(
  { ask, log }: RetainedLogParts,
  slot: IdleSlot,
  signal: AbortSignal,
): Promise<RetainedLog | undefined> {
  try {
    return await ask(slot, signal)
  } catch (error) {
    const { pipeId, organizationId } = slot
    log.error('asking a source how much log it keeps ended with an unexpected error', {
      pipeId,
      organizationId,
      error: describeError(error),
    })
    return undefined
  }
}

function warn(log: Log, { pipeId, organizationId, state }: IdleSlot, { retainedBytes, safeBytes }: RetainedLog): void {
  const more = safeBytes === undefined ? '' : `; after ${safeBytes} bytes more it gives the slot up`
  log.warn('a source keeps much log for a pipe that does not run', {
    pipeId,
    organizationId,
    reason: `the pipe is ${state}, and the source keeps ${retainedBytes} bytes for it${more}`,
  })
}
