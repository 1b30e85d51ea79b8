// Workers report whether their engine answers. A success sets the service to running; a failure triggers a check now.
import type { Sql } from '../database/sql.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { type EngineReport, findEngineState } from './store.ts'

/** Never rejects, so it need not be awaited. */
export type ReportEngine = (report: EngineReport) => Promise<void>

export interface EngineReportsParts {
  reader: Sql
  write(report: EngineReport & { now: string }): Promise<unknown>
  log: Log
}

/** The state of a service is read at most once a second, and written only when it differs. */
const lookEveryMs = 1_000

export function makeEngineReports({ reader, write, log }: EngineReportsParts): ReportEngine {
  const lookedAtMs = new Map<string, number>()
  const store = async (report: EngineReport): Promise<void> => {
    const state = await findEngineState(reader, report)
    const isKnown = state === undefined || (state === 'running') === (report.outcome === 'answered')
    if (!isKnown) await write({ ...report, now: new Date().toISOString() })
  }
  return async (report) => {
    const key = `${report.serviceId} ${report.outcome}`
    const nowMs = performance.now()
    if (nowMs - (lookedAtMs.get(key) ?? -Infinity) < lookEveryMs) return
    lookedAtMs.set(key, nowMs)
    await store(report).catch((error: unknown) =>
      log.warn('the reported state of an engine could not be stored', { error: describeError(error) }),
    )
  }
}
