// Metrics of an organization in the Prometheus text format. They have no secrets, and the number of series is limited.
import { seriesName } from '../lib/metrics.ts'
import { Type } from '../lib/schema.ts'
import { freshnessOf } from '../pipes/pipe-metrics.ts'
import type { PipeCounters } from '../progress/pipe-counters.ts'
import type { Provider, ServiceState } from '../services/service.ts'

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** Maximum number of services and of pipes, the newest first. */
export const maxListed = 1000

export const Exposition = Type.String({ description: 'The text exposition format of Prometheus, version 0.0.4.' })

export interface Family {
  name: string
  help: string
  /** Default: gauge. */
  type?: 'counter'
  samples: { labels: Record<string, string>; value: number }[]
}

export function exposition(families: Family[]): string {
  // Families share label objects; each is formatted once.
  const written = new Map<object, string>()
  const textOf = (labels: Record<string, string>): string => {
    const text = written.get(labels) ?? seriesName('', labels)
    written.set(labels, text)
    return text
  }
  const lines = families.flatMap(({ name, help, type = 'gauge', samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels, value }) => `${name}${textOf(labels)} ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

export interface ServiceMetrics {
  id: string
  name: string
  provider: Provider
  region: string
  state: ServiceState
}

export interface PipeCount {
  serviceId: string
  state: string
  pipes: number
}

/** Counters and lag of a pipe. */
export interface PipeProgressMetrics extends PipeCounters {
  id: string
  name: string
  kind: string
  state: string
  serviceId: string
  /** Null when no worker reports it. */
  lag: number | null
  /** Currently kept, and can be replayed. */
  rejectedRows: number
  /** Log that the source retains for the pipe; null when unknown, and for kinds without such a log. */
  retainedBytes: number | null
  /** Null before the first insert. */
  lastInsertAt: string | null
  /** The source is known to be delivered up to this time. */
  deliveredUntil: string | null
}

export function serviceFamilies(services: ServiceMetrics[]): Family[] {
  return [
    {
      name: 'penstock_service_up',
      help: `Whether the engine of the service answered its last check (the ${maxListed} newest services).`,
      samples: services.map(({ id, name, provider, region, state }) => ({
        labels: { service: id, name, provider, region },
        value: state === 'running' ? 1 : 0,
      })),
    },
    {
      name: 'penstock_service_state',
      help: `1 for the state that the service is in (the ${maxListed} newest services).`,
      samples: services.map(({ id, name, state }) => ({ labels: { service: id, name, state }, value: 1 })),
    },
  ]
}

export function pipeCountFamily(counts: PipeCount[]): Family {
  return {
    name: 'penstock_pipes',
    help: `Pipes by service and state (the ${maxListed} newest services).`,
    samples: counts.map(({ serviceId, state, pipes }) => ({ labels: { service: serviceId, state }, value: pipes })),
  }
}

const counters = [
  ['rows_read', 'rowsRead', 'Records and rows of files that the pipe has read'],
  ['bytes_read', 'bytesRead', 'Bytes that the pipe has read, as they lie in the source'],
  ['rows_written', 'rowsWritten', 'Rows of the pipe that the engine has taken'],
  ['bytes_written', 'bytesWritten', 'Bytes that the pipe has sent to the engine'],
  ['rows_refused', 'rowsRefused', 'Rows of the pipe that the engine has not taken'],
  ['inserts', 'inserts', 'Batches of the pipe that the engine has taken'],
  ['retries', 'retries', 'Attempts of the pipe that failed and were repeated'],
] as const

export function pipeProgressFamilies(organizationId: string, pipes: PipeProgressMetrics[], now: string): Family[] {
  const newest = `(the ${maxListed} newest pipes)`
  const labelled = pipes.map((pipe) => {
    const { id, name, serviceId } = pipe
    return { pipe, labels: { organization: organizationId, service: serviceId, pipe: id, name } }
  })
  return [
    {
      name: 'penstock_pipe_state',
      help: `1 for the state that the pipe is in ${newest}.`,
      samples: labelled.map(({ pipe: { kind, state }, labels }) => ({ labels: { ...labels, kind, state }, value: 1 })),
    },
    ...counters.map(([name, field, help]) => ({
      name: `penstock_pipe_${name}_total`,
      help: `${help} ${newest}.`,
      type: 'counter' as const,
      samples: labelled.map(({ pipe, labels }) => ({ labels, value: pipe[field] })),
    })),
    {
      name: 'penstock_pipe_rejected_rows',
      help: `Rejected rows of the pipe that are kept and can be replayed ${newest}.`,
      samples: labelled.map(({ pipe: { rejectedRows }, labels }) => ({ labels, value: rejectedRows })),
    },
    {
      name: 'penstock_pipe_lag',
      help: `Records or files that wait in the source, of pipes that know it ${newest}.`,
      samples: labelled.flatMap(({ pipe: { lag }, labels }) => (lag === null ? [] : [{ labels, value: lag }])),
    },
    {
      name: 'penstock_pipe_retained_bytes',
      help: `Bytes of its log that the source keeps until the pipe has taken them, of pipes that know it ${newest}.`,
      samples: labelled.flatMap(({ pipe: { retainedBytes }, labels }) =>
        retainedBytes === null ? [] : [{ labels, value: retainedBytes }],
      ),
    },
    {
      name: 'penstock_pipe_freshness_seconds',
      help: `Seconds since the time up to which the source is known to be delivered, of pipes that know it ${newest}.`,
      samples: labelled.flatMap(({ pipe, labels }) => {
        const value = freshnessOf(pipe, now)
        return value === null ? [] : [{ labels, value }]
      }),
    },
    {
      name: 'penstock_pipe_last_insert_timestamp_seconds',
      help: `When the engine last took a batch of the pipe, in seconds since 1970, of pipes that have inserted ${newest}.`,
      samples: labelled.flatMap(({ pipe: { lastInsertAt }, labels }) =>
        lastInsertAt === null ? [] : [{ labels, value: Math.floor(Date.parse(lastInsertAt) / 1_000) }],
      ),
    },
  ]
}

export function leftoversFamily(organizationId: string, leftovers: number): Family {
  return {
    name: 'penstock_source_leftovers',
    help: 'Deleted pipes whose replication slot, publication or stream consumer is still to be removed from the source.',
    samples: [{ labels: { organization: organizationId }, value: leftovers }],
  }
}
