// Report of the benchmark: medians and ratios, promises, and a description of the machine.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Measurement } from './load.ts'

/** One contender in one case, one measurement per round. */
export interface Series {
  contender: string
  measurements: Measurement[]
}

/** The first series is the baseline. */
export interface CaseResult {
  name: string
  title: string
  connections: number
  series: Series[]
}

export interface Promised {
  promise: string
  /** Undefined when it was not measured in this run. */
  value: number | undefined
  unit: string
  holds(value: number): boolean
}

const labels: Record<string, string> = {
  limit: 'the limit',
  sqlite: 'Penstock, SQLite',
  'sqlite-before': 'Penstock, SQLite, the other commit',
  postgres: 'Penstock, PostgreSQL',
  'sqlite-small': 'Penstock, SQLite, 1,000 members and 100 pipes',
  'sqlite-large': 'Penstock, SQLite, 1,000,000 members and 100,000 pipes, any of 100,000',
  'sqlite-large-hot': 'the same, always the same 1,000 members or 100 pipes',
  'sqlite-large-deep': 'the same, the thousandth page',
  prism: 'Prism',
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Median over rounds of the ratio within a round: other load on the machine affects both sides alike. */
export function ratio(result: CaseResult | undefined, contender: string): number | undefined {
  const series = result?.series.find((candidate) => candidate.contender === contender)
  if (!series) return undefined
  const baseline = result!.series[0]!.measurements
  return median(series.measurements.map(({ perSecond }, round) => perSecond / baseline[round]!.perSecond))
}

/** For both result files. */
export const ratioNote = `*Ratio* is the median over the rounds of the ratio within each round, so that a slow minute of the machine counts for both sides.
*Of medians* is the quotient of the medians in the rows. The two differ when the rounds differ; promises use the first.`

export function table(results: CaseResult[]): string {
  const rows = [
    '| operation | connections | contender | requests/s | ratio | of medians | p50 ms | p99 ms | CPU µs/request | RSS MB |',
    '|---|---:|---|---:|---:|---:|---:|---:|---:|---:|',
  ]
  for (const result of results) {
    const baseline = median(result.series[0]!.measurements.map((m) => m.perSecond))
    for (const [index, { contender, measurements }] of result.series.entries()) {
      const of = (pick: (measurement: Measurement) => number): number => median(measurements.map(pick))
      const cells = [
        index === 0 ? result.title : '',
        index === 0 ? String(result.connections) : '',
        labels[contender] ?? contender,
        Math.round(of((m) => m.perSecond)).toLocaleString('en'),
        index === 0 ? '1' : ratio(result, contender)!.toFixed(2),
        index === 0 ? '1' : (of((m) => m.perSecond) / baseline).toFixed(2),
        of((m) => m.p50Ms).toFixed(2),
        of((m) => m.p99Ms).toFixed(2),
        of((m) => m.cpuMicrosPerRequest).toFixed(0),
        of((m) => m.rssMegabytes).toFixed(0),
      ]
      rows.push(`| ${cells.join(' | ')} |`)
    }
  }
  return rows.join('\n')
}

export function promises(list: Promised[]): string {
  const rows = ['| promise | measured | |', '|---|---:|---|']
  for (const { promise, value, unit, holds } of list) {
    const verdict = value === undefined ? 'not measured' : holds(value) ? 'PASS' : 'FAIL'
    rows.push(`| ${promise} | ${value === undefined ? '' : value.toFixed(2) + unit} | ${verdict} |`)
  }
  return rows.join('\n')
}

export function machine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const model = cpus()[0]!.model.trim()
  return `${cpus().length} cores (${model}), ${gigabytes} GB, Linux ${release()}, Node ${process.versions.node}`
}

export function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: join(import.meta.dirname, '..'), encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'bench', 'migrations', 'package.json') !== ''
    return git('rev-parse', '--short', 'HEAD') + (changed ? ' with changes' : '')
  } catch {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'))
    return `version ${version}`
  }
}
