// Status reports of a worker: immediately when its state changes, otherwise at most once a second.

import type { WorkerPhase } from '../progress/settled-state.ts'
import type { WorkerStatus } from './worker.ts'

export interface Status {
  /** Sets the activity; the state does not change. */
  doing(doing: string): void
  /** Sets the lag; undefined: unknown. */
  lag(lag: number | undefined): void
  /** Sets the phase, such as the initial load; stays until it is set again. */
  phase(phase: WorkerPhase | undefined): void
  /** Sets the bytes of log that the source retains for the pipe; undefined: unknown. */
  retained(retainedBytes: number | undefined): void
  /** Unix time in ms up to which the source is delivered. Never goes back, nor beyond the present time. */
  delivered(untilMs: number): void
  /** Sets the state to `running`. */
  well(): void
  degrade(reason: string): void
  /** Stops reporting. */
  close(): void
}

const reportEveryMs = 1_000

export function makeStatus(report: (status: WorkerStatus) => void): Status {
  let status: WorkerStatus = { state: 'starting', doing: 'Connecting' }
  let reportedAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const reportNow = (): void => {
    clearTimeout(timer)
    timer = undefined
    reportedAtMs = performance.now()
    report(status)
  }

  const change = (changed: WorkerStatus): void => {
    if (isClosed) return
    const isOther = (['state', 'reason', 'phase'] as const).some((name) => changed[name] !== status[name])
    status = changed
    const waitMs = reportedAtMs + reportEveryMs - performance.now()
    if (isOther || waitMs <= 0) reportNow()
    else timer ??= setTimeout(reportNow, waitMs).unref()
  }

  return {
    doing(doing) {
      change({ ...status, doing: shownText(doing) })
    },
    lag(lag) {
      change({ ...status, lag })
    },
    phase(phase) {
      if (phase !== status.phase) change({ ...status, phase })
    },
    retained(retainedBytes) {
      change({ ...status, retainedBytes })
    },
    delivered(untilMs) {
      const deliveredUntilMs = Math.min(untilMs, Date.now())
      if (deliveredUntilMs > (status.deliveredUntilMs ?? 0)) change({ ...status, deliveredUntilMs })
    },
    well() {
      const { reason: _, ...current } = status
      if (status.state !== 'running') change({ ...current, state: 'running' })
    },
    degrade(reason) {
      change({ ...status, state: 'degraded', reason: shownText(reason) })
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

const longestShown = 1_000

/** Makes text safe to store and show: names from outside, such as object keys, may contain any characters and be very long. */
export function shownText(text: string): string {
  const clean = text.toWellFormed().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
  if (clean.length <= longestShown) return clean
  // Removes half of a surrogate pair at the cut.
  return `${clean.slice(0, longestShown - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** `under a second`, `8 s`. */
export function timeOf(ms: number): string {
  return ms < 1_000 ? 'under a second' : `${Math.round(ms / 1_000)} s`
}
