// When a worker gives up, and how long it waits before the next attempt. An error that only the user can fix ends a worker that has
// never run at once. A worker that has run retries for some time, because keys are rotated and tables come back.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import type { PipeState } from '../progress/pipe-state.ts'
import { makeBackOff } from './back-off.ts'
import { classifyFailure, StoreFailure } from './classify-failure.ts'
import type { WorkerTimes } from './session.ts'
import type { WorkerEnd } from './worker.ts'

export interface RetryPolicy {
  /** Call when rows have become durable, or when the source answers and no insert is running. */
  well(): void
  /** The end of the worker, or the delay before the next attempt. Rethrows unexpected errors; logs them when stopping. */
  after(error: unknown, isStopping: boolean): WorkerEnd | { waitMs: number; reason: string }
}

/** A pipe in one of these states has reached its source and its engine before. */
const statesOfWork: PipeState[] = ['Running', 'Modifying', 'Degraded', 'Snapshot', 'Resync']

export function makeRetryPolicy(
  pipe: StoredPipe,
  times: Pick<WorkerTimes, 'backOff' | 'userErrorRetryMs'>,
  log: Log,
): RetryPolicy {
  const backOff = makeBackOff(times.backOff)
  // It may have run in another process.
  let hasRun = statesOfWork.includes(pipe.state)
  let userErrorSinceMs: number | undefined

  const isOver = (): boolean => {
    userErrorSinceMs ??= performance.now()
    return !hasRun || performance.now() - userErrorSinceMs >= times.userErrorRetryMs
  }

  return {
    well() {
      hasRun = true
      userErrorSinceMs = undefined
      backOff.reset()
    },
    after(error, isStopping) {
      const failure = classifyFailure(error, pipe)
      if (failure?.kind === 'lost') return { end: 'lost' }
      // Unfinished deliveries are recorded; the next worker recovers them.
      if (isStopping) {
        if (!failure && !isAbort(error)) {
          const { id: pipeId, organizationId } = pipe
          const fields = { organizationId, pipeId, error: describeError(error) }
          log.error('a worker of a pipe ended with an unexpected error while it was being stopped', fields)
        }
        return { end: 'stopped' }
      }
      if (!failure) throw error
      const { kind, reason } = failure
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
