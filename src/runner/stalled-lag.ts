// Measures the lag at the source while a worker reads nothing, because it retries, backs off, or is blocked in an insert.
import type { Status } from './status.ts'

/** Result of a measurement; undefined means unknown. */
export interface Measured {
  lag?: number | undefined
  retainedBytes?: number | undefined
}

export interface StalledLagParts {
  status: Status
  /** Rejects when the source does not answer; after several failures the lag is reported as unknown. */
  measure(signal: AbortSignal): Promise<Measured>
  /** Measures after this long without a report of the data path, and again after each measurement. */
  everyMs: number
  timeoutMs: number
}

export interface StalledLag {
  /** For reports of the data path. They take precedence over a running measurement and postpone the next one. */
  status: Status
  start(): void
  stop(): void
}

/** Consecutive failures. */
const failuresUntilUnknown = 3

export function measureWhileStalled({ status, measure, everyMs, timeoutMs }: StalledLagParts): StalledLag {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let reports = 0
  let failures = 0

  const noteReport = (): void => {
    reports++
    failures = 0
    timer?.refresh()
  }

  const measureOnce = async (): Promise<void> => {
    const before = reports
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)])
    const measured = await measure(signal).catch(() => undefined)
    if (stopping.signal.aborted) return
    timer?.refresh()
    if (reports !== before) return
    if (!measured) {
      if (++failures >= failuresUntilUnknown) status.lag(undefined)
      return
    }
    failures = 0
    if ('lag' in measured) status.lag(measured.lag)
    if ('retainedBytes' in measured) status.retained(measured.retainedBytes)
  }

  return {
    status: {
      ...status,
      lag(lag) {
        noteReport()
        status.lag(lag)
      },
      retained(retainedBytes) {
        noteReport()
        status.retained(retainedBytes)
      },
    },
    start() {
      timer = setTimeout(() => void measureOnce(), everyMs).unref()
    },
    stop() {
      stopping.abort()
      clearTimeout(timer)
      timer = undefined
    },
  }
}
