// Report of the pipe benchmark: medians and ratios, memory growth, and promises.
import { median, type Promised } from '../report.ts'
import type { Measurement, MemorySample } from './measure.ts'

export interface Series {
  name: string
  title: string
  /** One per round. */
  measurements: Measurement[]
}

export interface CaseResult {
  name: string
  title: string
  rows: number
  bytes: number | undefined
  series: Series[]
  /** The slower one of these is the limit. */
  limits: string[]
  promised: { ofLimit?: number; timesPeer?: number }
}

/** Median over rounds of the ratio within a round: other load on the machine affects both sides alike. */
function speedAgainst(result: CaseResult, name: string, other: string): number | undefined {
  const of = (wanted: string): Measurement[] | undefined =>
    result.series.find((series) => series.name === wanted)?.measurements
  const [one, against] = [of(name), of(other)]
  if (!one || !against || one.length === 0) return undefined
  return median(one.map((measured, round) => rateOf(result, measured) / rateOf(result, against[round]!)))
}

/** Ratio to the slower limit of each round. */
function speedOfLimit(result: CaseResult, name: string): number | undefined {
  const measurements = result.series.find((series) => series.name === name)?.measurements ?? []
  const limits = result.series.filter((series) => result.limits.includes(series.name))
  if (measurements.length === 0) return undefined
  const limitOf = (round: number): number =>
    Math.min(...limits.map(({ measurements: ofLimit }) => rateOf(result, ofLimit[round]!)))
  return median(measurements.map((measured, round) => rateOf(result, measured) / limitOf(round)))
}

/** The peer with the highest median. */
function bestPeer(result: CaseResult): string | undefined {
  const peers = result.series.filter(({ name }) => name.startsWith('peer'))
  return peers.toSorted((one, other) => medianRate(result, other) - medianRate(result, one))[0]?.name
}

/** Rows per second. */
function rateOf({ rows }: CaseResult, measured: Measurement): number {
  return (measured.rows ?? rows) / measured.seconds
}

function medianRate(result: CaseResult, { measurements }: Series): number {
  return median(measurements.map((measured) => rateOf(result, measured)))
}

export function promisedOf(result: CaseResult): Promised[] {
  const { name, promised, limits } = result
  const list: Promised[] = []
  const { ofLimit, timesPeer } = promised
  if (ofLimit !== undefined) {
    list.push({
      promise: `${name}: at least ${ofLimit} of the ${limits.length > 1 ? 'slower limit' : 'limit'}`,
      value: speedOfLimit(result, 'penstock'),
      unit: '',
      holds: (value) => value >= ofLimit,
    })
  }
  if (timesPeer !== undefined) {
    list.push({
      promise: `${name}: at least ${timesPeer} × the peer at its best`,
      value: speedAgainst(result, 'penstock', bestPeer(result) ?? ''),
      unit: ' ×',
      holds: (value) => value >= timesPeer,
    })
  }
  return list
}

export function table(results: CaseResult[]): string {
  const lines = [
    '| from, into | contender | rows/s | MB/s | of the limit | of medians | CPU s per million rows | peak RSS MB |',
    '|---|---|---:|---:|---:|---:|---:|---:|',
  ]
  for (const result of results) {
    const limits = result.series.filter(
      ({ name, measurements }) => result.limits.includes(name) && measurements.length > 0,
    )
    const slowestLimit = Math.min(...limits.map((limit) => medianRate(result, limit)))
    for (const [index, series] of result.series.entries()) {
      const { name, title, measurements } = series
      const perSecond = medianRate(result, series)
      const cpus = measurements.flatMap(({ cpuSeconds, rows = result.rows }) => (cpuSeconds ? cpuSeconds / rows : []))
      const peaks = measurements.flatMap((measured) => measured.peakMegabytes ?? [])
      const cells = [
        index === 0 ? result.title : '',
        title,
        Math.round(perSecond).toLocaleString('en'),
        result.bytes === undefined ? '' : ((perSecond * result.bytes) / result.rows / 1_000_000).toFixed(0),
        shortly(speedOfLimit(result, name)),
        shortly(perSecond / slowestLimit),
        cpus.length > 0 ? (median(cpus) * 1_000_000).toFixed(2) : '',
        peaks.length > 0 ? Math.max(...peaks).toFixed(0) : '',
      ]
      lines.push(`| ${cells.join(' | ')} |`)
    }
  }
  return lines.join('\n')
}

function shortly(ratio = Number.NaN): string {
  return ratio === 1 ? '1' : ratio.toFixed(2)
}

export interface Growth {
  rows: number
  seconds: number
  idleMegabytes: number
  peakMegabytes: number
  /** Growth in the second half, after the fixed needs of a worker are allocated. */
  perMillionRows: number
}

export function growthOf(samples: MemorySample[], rows: number, idleMegabytes: number): Growth {
  const half = samples.filter((sample) => sample.rows >= rows / 2)
  return {
    rows,
    seconds: samples.at(-1)!.seconds,
    idleMegabytes,
    peakMegabytes: Math.max(...samples.map(({ megabytes }) => megabytes)),
    perMillionRows: slopeOf(half.map((sample) => [sample.rows / 1_000_000, sample.megabytes])),
  }
}

/** Slope of the linear regression. */
function slopeOf(points: [number, number][]): number {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / (spread || 1)
}

export function growthText({ rows, seconds, idleMegabytes, peakMegabytes, perMillionRows }: Growth): string {
  const million = (rows / 1_000_000).toLocaleString('en')
  return (
    `${million} million rows through one worker in ${seconds.toFixed(0)} s: RSS ${idleMegabytes.toFixed(0)} MB before, ` +
    `${peakMegabytes.toFixed(0)} MB at most; in the second half it changed by ${perMillionRows.toFixed(1)} MB per million rows.`
  )
}
