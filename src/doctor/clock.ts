// Compares the system clock with PostgreSQL and recorded activities. Leases, sessions and the order of activities depend on it.
import { timeOfId } from '../lib/id.ts'
import { type Finding, type Issue, problem, toFinding, warning } from './finding.ts'

const differsMs = 1_000
/** Less than the 15 seconds of a worker lease. */
const differsMuchMs = 10_000
/** Tolerated drift between system clock and monotonic clock during a check. */
const jumpMs = 500

/** Starts watching; the returned function returns by how much the clock has been set since. */
export function watchClock(): () => number {
  const offsetMs = Date.now() - performance.now()
  return () => Date.now() - performance.now() - offsetMs
}

export interface ClockSigns {
  /** By how much the database's clock is ahead of ours; undefined with SQLite. */
  aheadMs: number | undefined
  newestActivityId: string | undefined
  setByMs: number
  nowMs: number
}

export function checkClock({ aheadMs, newestActivityId, setByMs, nowMs }: ClockSigns): Finding {
  const remedy = 'have the clocks set by NTP (chrony, systemd-timesyncd) on every machine'
  const issues: Issue[] = []
  if (aheadMs !== undefined && Math.abs(aheadMs) > differsMs) {
    const makeIssue = Math.abs(aheadMs) > differsMuchMs ? problem : warning
    const side = aheadMs > 0 ? 'behind' : 'ahead of'
    issues.push(makeIssue(`${inSeconds(aheadMs)} ${side} the clock of PostgreSQL`, remedy))
  }
  const newestMs = timeOfId(newestActivityId ?? '')
  if (newestMs - nowMs > differsMuchMs) {
    const found = `${inSeconds(newestMs - nowMs)} behind the newest activity, which was recorded at ${new Date(newestMs).toISOString()}`
    issues.push(problem(found, remedy))
  }
  if (Math.abs(setByMs) > jumpMs) {
    issues.push(warning(`was set ${setByMs > 0 ? 'forward' : 'back'} by ${inSeconds(setByMs)} just now`, remedy))
  }
  const compared = aheadMs === undefined ? 'not behind anything recorded' : 'agrees with that of PostgreSQL'
  return toFinding('clock', `${new Date(nowMs).toISOString()}, ${compared}`, issues)
}

function inSeconds(ms: number): string {
  return `${(Math.abs(ms) / 1_000).toFixed(1)} s`
}
