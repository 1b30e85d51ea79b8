// The clock of this machine against the others that are in reach. Leases, sessions and the order of activities hang on it.
import { timeOfId } from '../lib/id.ts'
import { type Complaint, type Finding, judge, problem, warning } from './finding.ts'

const differsMs = 1_000
/** Leases of workers last 15 seconds. */
const differsMuchMs = 10_000
/** So much the two clocks of a process may drift apart in the time of an examination. */
const jumpMs = 500

/** Begins to watch; what it gives tells by how much the clock was set since. */
export function watchClock(): () => number {
  const offsetMs = Date.now() - performance.now()
  return () => Date.now() - performance.now() - offsetMs
}

export interface ClockSigns {
  /** Of the database, ahead of ours; undefined with SQLite, which uses ours. */
  aheadMs: number | undefined
  newestActivityId: string | undefined
  setByMs: number
  nowMs: number
}

export function checkClock({ aheadMs, newestActivityId, setByMs, nowMs }: ClockSigns): Finding {
  const remedy = 'have the clocks set by NTP (chrony, systemd-timesyncd) on every machine'
  const complaints: Complaint[] = []
  if (aheadMs !== undefined && Math.abs(aheadMs) > differsMs) {
    const complain = Math.abs(aheadMs) > differsMuchMs ? problem : warning
    const side = aheadMs > 0 ? 'behind' : 'ahead of'
    complaints.push(complain(`${inSeconds(aheadMs)} ${side} the clock of PostgreSQL`, remedy))
  }
  const newestMs = timeOfId(newestActivityId ?? '')
  if (newestMs - nowMs > differsMuchMs) {
    const found = `${inSeconds(newestMs - nowMs)} behind the newest activity, which was recorded at ${new Date(newestMs).toISOString()}`
    complaints.push(problem(found, remedy))
  }
  if (Math.abs(setByMs) > jumpMs) {
    complaints.push(warning(`was set ${setByMs > 0 ? 'forward' : 'back'} by ${inSeconds(setByMs)} just now`, remedy))
  }
  const compared = aheadMs === undefined ? 'not behind anything recorded' : 'agrees with that of PostgreSQL'
  return judge('clock', `${new Date(nowMs).toISOString()}, ${compared}`, complaints)
}

function inSeconds(ms: number): string {
  return `${(Math.abs(ms) / 1_000).toFixed(1)} s`
}
