// A sink that reports whether its engine answers.
import { isEngineUnusable, type Sink } from '../engine/engine.ts'
import type { ReportEngine } from '../services/engine-reports.ts'
import type { Configuration } from './configuration.ts'

/** Reports how work on the engine of the pipe's service went. */
export type ReportWork = <Result>(work: Promise<Result>) => Promise<Result>

export function makeReportWork({ pipe, endpoint }: Configuration, report: ReportEngine): ReportWork {
  const { organizationId, serviceId } = pipe
  const engine = { organizationId, serviceId, url: endpoint.url }
  return async (work) => {
    try {
      const result = await work
      void report({ ...engine, outcome: 'answered' })
      return result
    } catch (error) {
      if (isEngineUnusable(error)) void report({ ...engine, outcome: 'failed' })
      throw error
    }
  }
}

export function reportingSink<Given extends Sink>(sink: Given, reportWork: ReportWork): Given {
  return { ...sink, insert: (insert, signal) => reportWork(sink.insert(insert, signal)) }
}
