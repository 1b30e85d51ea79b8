// Measures what waits in the source while a worker reads nothing: it retries the engine, backs off, or is blocked in an insert.
import type { Status } from './status.ts'

/** What a measurement reports; a part that is undefined is unknown. */
export interface Measured {
  lag?: number | undefined
  retainedBytes?: number | undefined
}

export interface StalledLagParts {
  status: Status
  /** Rejects when the source does not answer: after a few times nobody knows the lag any more. */
  measure(signal: AbortSignal): Promise<Measured>
  /** Without a report of the data path for this long, and again after each measurement. */
  everyMs: number
  timeoutMs: number
}

export interface StalledLag {
  /** The data path reports here. What it reports counts more than a measurement under way, and puts off the next one. */
  status: Status
  start(): void
  stop(): void
}

/** In a row. */
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
