// Evaluation of power cuts on either database.
import { medianMs } from './bare-start.ts'
import type { SystemResult } from './drill.ts'
import type { Findings } from './drill-writers.ts'

export interface PowerCut {
  findings: Findings
  /** Acknowledged since the previous cut. */
  writes: number
  /** Time until everything served again. */
  readyMs: number
}

export function tellPowerCuts(cuts: PowerCut[], { mustLose }: { mustLose: boolean }): SystemResult {
  const count = (of: (findings: Findings) => string[]): number =>
    cuts.reduce((sum, { findings }) => sum + of(findings).length, 0)
  const measurements = {
    cuts: cuts.length,
    writes: cuts.reduce((sum, { writes }) => sum + writes, 0),
    lost: count(({ lost }) => lost),
    cutsThatLost: cuts.filter(({ findings }) => findings.lost.length > 0).length,
    corrupt: count(({ damage, halfDone, unexplained }) => [...damage, ...halfDone, ...unexplained]),
    readyMs: medianMs(cuts.map((cut) => cut.readyMs)),
  }
  if (mustLose) return { isKept: measurements.lost > 0, measurements }
  const sentences = cuts.flatMap(({ findings }, number) =>
    Object.entries(findings).flatMap(([kind, found]: [string, string[]]) =>
      found.slice(0, 3).map((sentence) => `cut ${number + 1}: ${kind}: ${sentence}`),
    ),
  )
  return {
    isKept: measurements.lost === 0 && measurements.corrupt === 0,
    measurements,
    ...(sentences.length === 0 ? {} : { toLookAt: sentences.join('; ') }),
  }
}
