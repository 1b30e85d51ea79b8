// Metrics of an organization, parsed from Prometheus text: counts without reading complete lists.
import type { Member, Pipe, Service } from '../../src/client/shapes.ts'
import { type ShownPipeState, shownPipeState } from '../components/pipe-state.ts'

export interface Metrics {
  services: { id: string; name: string; state: Service['state'] }[]
  /** Number of pipes of a service by state. */
  pipes: { serviceId: string; state: Pipe['state']; count: number }[]
  members: Partial<Record<Member['role'], number>>
  /** Pipes with kept rejected rows, most rows first. */
  rejected: { serviceId: string; pipeId: string; name: string; rows: number }[]
}

interface Sample {
  metric: string
  labels: Record<string, string>
  value: number
}

export function readMetrics(text: string): Metrics {
  const metrics: Metrics = { services: [], pipes: [], members: {}, rejected: [] }
  for (const { metric, labels, value } of samplesOf(text)) {
    const state = labels.state ?? ''
    if (metric === 'penstock_service_state' && value === 1) {
      metrics.services.push({ id: labels.service ?? '', name: labels.name ?? '', state: state as Service['state'] })
    }
    if (metric === 'penstock_pipes' && value > 0) {
      metrics.pipes.push({ serviceId: labels.service ?? '', state: state as Pipe['state'], count: value })
    }
    if (metric === rejectedMetric) {
      const { service = '', pipe = '', name = '' } = labels
      metrics.rejected.push({ serviceId: service, pipeId: pipe, name, rows: value })
    }
    if (metric === 'penstock_members') metrics.members[labels.role as Member['role']] = value
  }
  metrics.rejected.sort((one, other) => other.rows - one.rows)
  return metrics
}

const rejectedMetric = 'penstock_pipe_rejected_rows'

const samplePattern = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/
const labelPattern = /([a-z_]+)="((?:[^"\\]|\\.)*)",?/gy

function samplesOf(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    // Skips most lines: eight or nine per pipe. Most pipes have no rejected rows.
    if (line.startsWith('penstock_pipe_') && !(line.startsWith(rejectedMetric) && !line.endsWith(' 0'))) return []
    const [, metric, labels = '', value] = samplePattern.exec(line) ?? []
    if (!metric) return []
    const named = [...labels.matchAll(labelPattern)].map(([, name, quoted]) => [name!, unescaped(quoted!)])
    return [{ metric, labels: Object.fromEntries(named), value: Number(value) }]
  })
}

function unescaped(quoted: string): string {
  return quoted.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
}

/** Counts like the list of pipes: no pipe of a service that is down is Running. */
export function shownPipeCounts({ services, pipes }: Metrics): { state: ShownPipeState; count: number }[] {
  const serviceOf = new Map(services.map((service) => [service.id, service]))
  return pipes.map(({ serviceId, state, count }) => {
    const service = serviceOf.get(serviceId)
    return { state: service ? shownPipeState(state, service) : state, count }
  })
}

/** Number by state, failed states first. */
export function countByState<State extends string>(items: { state: State; count?: number }[]): [State, number][] {
  const counts = new Map<State, number>()
  for (const { state, count = 1 } of items) counts.set(state, (counts.get(state) ?? 0) + count)
  return [...counts].sort(([a], [b]) => rankOf(a) - rankOf(b))
}

const order = ['failed', 'internalerror', 'degraded', 'waiting', 'stopped', 'paused', 'completed', 'running']

function rankOf(state: string): number {
  const rank = order.indexOf(state.toLowerCase())
  return rank < 0 ? order.length : rank
}
