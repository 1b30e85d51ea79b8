// When a worker gives up, and how long it waits before it begins anew. What only the user can mend ends a worker that has never
// run at once; one that has run is given time, because keys are rotated and tables come back.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import type { PipeState } from '../pipes/pipe-state.ts'
import { makeBackOff } from './back-off.ts'
import { classifyFailure, StoreFailure } from './classify-failure.ts'
import type { WorkerTimes } from './session.ts'
import type { WorkerEnd } from './worker.ts'

export interface RetryPolicy {
  /** Rows have become durable, or the source answers and nothing is under way. */
  well(): void
  /** How the worker ends because of the error, or how long it waits. Throws what nobody expected, and logs it when it is stopping. */
  after(error: unknown, isStopping: boolean): WorkerEnd | { waitMs: number; reason: string }
}

/** Whoever is in one of them has reached its source and its engine before. */
const statesOfWork: PipeState[] = ['Running', 'Modifying', 'Degraded', 'Snapshot', 'Resync']

export function makeRetryPolicy(
  pipe: StoredPipe,
  times: Pick<WorkerTimes, 'backOff' | 'patienceMs'>,
  log: Log,
): RetryPolicy {
  const backOff = makeBackOff(times.backOff)
  // It may have been another process in which it ran.
  let hasRun = statesOfWork.includes(pipe.state)
  let helplessSinceMs: number | undefined

  const isOver = (): boolean => {
    helplessSinceMs ??= performance.now()
    return !hasRun || performance.now() - helplessSinceMs >= times.patienceMs
  }

  return {
    well() {
      hasRun = true
      helplessSinceMs = undefined
      backOff.reset()
    },
    after(error, isStopping) {
      const trouble = classifyFailure(error, pipe)
      if (trouble?.kind === 'lost') return { end: 'lost' }
      // What was not finished is recorded, and found by the next one.
      if (isStopping) {
        if (!trouble && !isAbort(error)) {
          const { id: pipeId, organizationId } = pipe
          const fields = { organizationId, pipeId, error: describeError(error) }
          log.error('a worker of a pipe ended with an unexpected error while it was being stopped', fields)
        }
        return { end: 'stopped' }
      }
      if (!trouble) throw error
      const { kind, reason } = trouble
      if (error instanceof StoreFailure) {
        log.warn('a worker of a pipe could not use the database', { error: describeError(error.cause) })
      }
      const isEnd = kind === 'hopeless' || (kind === 'user' && isOver())
      return isEnd ? { end: 'failed', reason } : { waitMs: backOff.nextMs(), reason }
    },
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
