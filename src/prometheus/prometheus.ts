// What the API tells Prometheus of an organization: the same figures that a person sees, never a secret and no more series
// than a limit, whatever the organization holds.
import { seriesName } from '../lib/metrics.ts'
import { Type } from '../lib/schema.ts'
import type { PipeCount, PipeFigures, ServiceFigures } from './store.ts'

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** So many services of an organization, and pipes of a service, the newest. */
export const maxListed = 1000

export const Exposition = Type.String({ description: 'The text exposition format of Prometheus, version 0.0.4.' })

export interface Family {
  name: string
  help: string
  samples: { labels: Record<string, string>; value: number }[]
}

export function exposition(families: Family[]): string {
  const lines = families.flatMap(({ name, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...samples.map(({ labels, value }) => `${seriesName(name, labels)} ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

export function serviceFamilies(services: ServiceFigures[]): Family[] {
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

export function pipeStateFamily(pipes: PipeFigures[]): Family {
  return {
    name: 'penstock_pipe_state',
    help: `1 for the state that the pipe is in (the ${maxListed} newest pipes of the service).`,
    samples: pipes.map(({ id, name, kind, state }) => ({ labels: { pipe: id, name, kind, state }, value: 1 })),
  }
}
