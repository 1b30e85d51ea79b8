// What a worker tells of itself: at once when its state changes, otherwise once a second at most.
import type { WorkerPhase, WorkerStatus } from './worker.ts'

export interface Status {
  /** What it is doing now; its state stays as it is. */
  doing(doing: string): void
  /** How much waits in the source, as far as anybody knows. */
  lag(lag: number | undefined): void
  /** What it does before it merely follows its source, or beside that; stays until it is told anew. */
  phase(phase: WorkerPhase | undefined): void
  /** Log that the source keeps for the pipe, as far as anybody knows. */
  retained(retainedBytes: number | undefined): void
  /** Up to this moment, in milliseconds since 1970, the source is delivered. Never goes back, nor beyond now. */
  delivered(untilMs: number): void
  /** Everything goes well. */
  well(): void
  degrade(reason: string): void
  /** Nothing more is told. */
  close(): void
}

const tellEveryMs = 1_000

export function makeStatus(tell: (status: WorkerStatus) => void): Status {
  let status: WorkerStatus = { state: 'starting', doing: 'Connecting' }
  let toldAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const tellNow = (): void => {
    clearTimeout(timer)
    timer = undefined
    toldAtMs = performance.now()
    tell(status)
  }

  const change = (changed: WorkerStatus): void => {
    if (isClosed) return
    const isOther = (['state', 'reason', 'phase'] as const).some((name) => changed[name] !== status[name])
    status = changed
    const waitMs = toldAtMs + tellEveryMs - performance.now()
    if (isOther || waitMs <= 0) tellNow()
    else timer ??= setTimeout(tellNow, waitMs).unref()
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
      const { reason: _, ...told } = status
      if (status.state !== 'running') change({ ...told, state: 'running' })
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

/** A sentence as it can be stored and shown anywhere: names that others gave, such as keys, may hold any characters, and many. */
export function shownText(text: string): string {
  const clean = text.toWellFormed().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
  if (clean.length <= longestShown) return clean
  // Half of a character that takes two places is not shown.
  return `${clean.slice(0, longestShown - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** `under a second`, `8 s`. */
export function timeOf(ms: number): string {
  return ms < 1_000 ? 'under a second' : `${Math.round(ms / 1_000)} s`
}
