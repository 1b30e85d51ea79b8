// The services and pipes that do not work as they should.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Pipe, Service } from '../../src/client/shapes.ts'
import { countByState, type Metrics } from '../api/metrics.ts'
import { pipeMetricsQuery, pipesQuery, serviceQuery } from '../api/queries.ts'
import { itemsOf } from '../components/list-table.tsx'
import { PageLink } from '../components/page-link.tsx'
import { stateMeanings } from '../components/pipe-fields.ts'
import { sentence } from '../components/sentence.ts'
import { StateBadge } from '../components/state-badge.tsx'
import { Item, moreOf, mostShown } from './overview-attention-item.tsx'

const brokenServiceStates: Service['state'][] = ['failed', 'degraded', 'stopped']
const brokenPipeStates: Pipe['state'][] = ['Failed', 'InternalError', 'Degraded']

export function brokenServicesOf({ services }: Metrics): Metrics['services'] {
  return services.filter(({ state }) => brokenServiceStates.includes(state))
}

export function brokenPipesOf({ pipes }: Metrics): Metrics['pipes'] {
  return pipes.filter(({ state }) => brokenPipeStates.includes(state))
}

export function BrokenServices({
  organizationId,
  services,
}: {
  organizationId: string
  services: Metrics['services']
}) {
  return (
    <>
      {services.slice(0, mostShown).map((service) => (
        <BrokenService key={service.id} organizationId={organizationId} {...service} />
      ))}
      {countByState(services.slice(mostShown)).map(([state, count]) => (
        <Item key={state} badge={<StateBadge state={state} />}>
          <PageLink
            inherit
            underline="always"
            to="/o/$organizationId/services"
            params={{ organizationId }}
            search={{ state }}
          >
            {moreOf(count, 'service')}
          </PageLink>
        </Item>
      ))}
    </>
  )
}

function BrokenService({ organizationId, id, name, state }: { organizationId: string } & Metrics['services'][number]) {
  const { data } = useQuery({ ...serviceQuery(organizationId, id), throwOnError: false })
  return (
    <Item badge={<StateBadge state={state} />} about={data?.result.stateReason}>
      The service{' '}
      <PageLink inherit fw={600} to="/o/$organizationId/services/$serviceId" params={{ organizationId, serviceId: id }}>
        {name}
      </PageLink>{' '}
      {state === 'stopped' ? 'has stopped' : state === 'degraded' ? 'does not answer every check' : 'cannot be used'}
    </Item>
  )
}

export function BrokenPipes({
  organizationId,
  services,
  counts,
}: {
  organizationId: string
  services: Metrics['services']
  counts: Metrics['pipes']
}) {
  const serviceIds = [...new Set(counts.map(({ serviceId }) => serviceId))]
  const shownIds = serviceIds.slice(0, mostShown)
  return (
    <>
      {shownIds.map((serviceId) => (
        <BrokenPipesOfService
          key={serviceId}
          organizationId={organizationId}
          serviceId={serviceId}
          serviceName={services.find(({ id }) => id === serviceId)?.name ?? serviceId}
          counts={counts.filter((one) => one.serviceId === serviceId)}
        />
      ))}
      {countByState(counts.filter(({ serviceId }) => !shownIds.includes(serviceId))).map(([state, count]) => (
        <Item key={state} badge={<StateBadge state={state} />}>
          <PageLink
            inherit
            underline="always"
            to="/o/$organizationId/pipes"
            params={{ organizationId }}
            search={{ state }}
          >
            {moreOf(count, 'pipe')} of other services
          </PageLink>
        </Item>
      ))}
    </>
  )
}

function BrokenPipesOfService({
  organizationId,
  serviceId,
  serviceName,
  counts,
}: {
  organizationId: string
  serviceId: string
  serviceName: string
  counts: Metrics['pipes']
}) {
  const query = useInfiniteQuery({ ...pipesQuery(organizationId, serviceId), throwOnError: false })
  if (query.isPending) return null
  const pipes = itemsOf(query)
    .filter(({ state }) => brokenPipeStates.includes(state))
    .slice(0, mostShown)
  return (
    <>
      {pipes.map((pipe) => (
        <BrokenPipe key={pipe.id} organizationId={organizationId} pipe={pipe} serviceName={serviceName} />
      ))}
      {counts.map(({ state, count }) => {
        const shownCount = pipes.filter((pipe) => pipe.state === state).length
        if (count <= shownCount) return null
        return (
          <Item key={state} badge={<StateBadge state={state} />}>
            <PageLink
              inherit
              underline="always"
              to="/o/$organizationId/pipes"
              params={{ organizationId }}
              search={{ service: serviceId, state }}
            >
              {shownCount > 0 ? moreOf(count - shownCount, 'pipe') : count === 1 ? '1 pipe' : `${count} pipes`} of the
              service {serviceName}
            </PageLink>
          </Item>
        )
      })}
    </>
  )
}

function BrokenPipe({
  organizationId,
  pipe: { id, serviceId, name, state },
  serviceName,
}: {
  organizationId: string
  pipe: Pipe
  serviceName: string
}) {
  // As often as the other figures of this page.
  const query = { ...pipeMetricsQuery(organizationId, serviceId, id), refetchInterval: 10_000 }
  const reason = useQuery(query).data?.result.stateReason
  return (
    <Item badge={<StateBadge state={state} />} about={reason ? sentence(reason) : stateMeanings[state]}>
      The pipe{' '}
      <PageLink
        inherit
        fw={600}
        to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
        params={{ organizationId, serviceId, pipeId: id }}
      >
        {name}
      </PageLink>{' '}
      of the service {serviceName} {state === 'Degraded' ? 'meets errors' : 'has failed'}
    </Item>
  )
}
