// Counters, gauges and histograms in the Prometheus text format. Own code: the usual library adds cluster support, push gateways and
// summaries, and uses more memory than the rest of the server.

type Labels = Record<string, string | number>

interface Metric {
  lines(): string[]
}

function seriesKey(labels: Labels): string {
  let key = ''
  for (const label in labels) key += `${labels[label]}\u0000`
  return key
}

/** A series with its labels, escaped for the format. */
export function seriesName(name: string, labels: Labels, extra?: string): string {
  const parts = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabel(String(value))}"`)
  if (extra) parts.push(extra)
  return parts.length > 0 ? `${name}{${parts.join(',')}}` : name
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

export class Counter implements Metric {
  readonly #name: string
  readonly #help: string
  readonly #series = new Map<string, { labels: Labels; value: number }>()

  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  increment(labels: Labels, by = 1): void {
    const key = seriesKey(labels)
    const series = this.#series.get(key)
    if (series) series.value += by
    else this.#series.set(key, { labels, value: by })
  }

  lines(): string[] {
    const lines = [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} counter`]
    for (const { labels, value } of this.#series.values()) lines.push(`${seriesName(this.#name, labels)} ${value}`)
    return lines
  }
}

export class Gauge implements Metric {
  readonly #name: string
  readonly #help: string
  readonly #read: () => number

  constructor(name: string, help: string, read: () => number) {
    this.#name = name
    this.#help = help
    this.#read = read
  }

  lines(): string[] {
    return [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} gauge`, `${this.#name} ${this.#read()}`]
  }
}

interface Buckets {
  labels: Labels
  counts: number[]
  sum: number
  count: number
}

export class Histogram implements Metric {
  readonly #name: string
  readonly #help: string
  readonly #bounds: number[]
  readonly #series = new Map<string, Buckets>()

  constructor(name: string, help: string, bounds: number[]) {
    this.#name = name
    this.#help = help
    this.#bounds = bounds
  }

  observe(labels: Labels, value: number): void {
    const key = seriesKey(labels)
    let buckets = this.#series.get(key)
    if (!buckets) {
      buckets = { labels, counts: this.#bounds.map(() => 0), sum: 0, count: 0 }
      this.#series.set(key, buckets)
    }
    const index = this.#bounds.findIndex((bound) => value <= bound)
    if (index >= 0) buckets.counts[index]!++
    buckets.sum += value
    buckets.count++
  }

  lines(): string[] {
    const lines = [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} histogram`]
    for (const { labels, counts, sum, count } of this.#series.values()) {
      let upTo = 0
      for (const [index, bound] of this.#bounds.entries()) {
        upTo += counts[index]!
        lines.push(`${seriesName(`${this.#name}_bucket`, labels, `le="${bound}"`)} ${upTo}`)
      }
      lines.push(`${seriesName(`${this.#name}_bucket`, labels, 'le="+Inf"')} ${count}`)
      lines.push(`${seriesName(`${this.#name}_sum`, labels)} ${sum}`)
      lines.push(`${seriesName(`${this.#name}_count`, labels)} ${count}`)
    }
    return lines
  }
}

export function exposition(metrics: Metric[]): string {
  return `${metrics.flatMap((metric) => metric.lines()).join('\n')}\n`
}
