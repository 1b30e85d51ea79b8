// What workers learn of the engines that they write to, told to the services at once: a pipe that writes never has a service that has
// failed, and one that cannot write has its engine checked now.
import type { Sql } from '../database/sql.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { type EngineReport, findEngineState } from './store.ts'

/** Never rejects. Nobody need wait for it. */
export type ReportEngine = (report: EngineReport) => Promise<void>

export interface EngineReportsParts {
  reader: Sql
  write(report: EngineReport & { now: string }): Promise<unknown>
  log: Log
}

/** A service is looked at once a second at most, and written only when it says something else. */
const lookEveryMs = 1_000

export function makeEngineReports({ reader, write, log }: EngineReportsParts): ReportEngine {
  const lookedAtMs = new Map<string, number>()
  const tell = async (report: EngineReport): Promise<void> => {
    const state = await findEngineState(reader, report)
    const isKnown = state === undefined || (state === 'running') === (report.outcome === 'answered')
    if (!isKnown) await write({ ...report, now: new Date().toISOString() })
  }
  return async (report) => {
    const key = `${report.serviceId} ${report.outcome}`
    const nowMs = performance.now()
    if (nowMs - (lookedAtMs.get(key) ?? -Infinity) < lookEveryMs) return
    lookedAtMs.set(key, nowMs)
    await tell(report).catch((error: unknown) =>
      log.warn('what was learned of an engine could not be kept', { error: describeError(error) }),
    )
  }
}
