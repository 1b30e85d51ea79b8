// Failed and degraded services and pipes.
import { useQueries, useQuery } from '@tanstack/react-query'
import type { Pipe, Service } from '../../src/client/shapes.ts'
import { countByState, type Metrics } from '../api/metrics.ts'
import { pipeMetricsQuery, pipesInStateQuery, serviceQuery } from '../api/queries.ts'
import { countOf } from '../components/amounts.ts'
import { PageLink } from '../components/page-link.tsx'
import { stateMeanings } from '../components/pipe-fields.ts'
import { serviceTrouble } from '../components/pipe-state.ts'
import { sentence } from '../components/sentence.ts'
import { StateBadge, WordBadge } from '../components/state-badge.tsx'
import { Item, moreOf, mostShown } from './overview-attention-item.tsx'

const brokenServiceStates: Service['state'][] = ['failed', 'degraded', 'stopped']
const brokenPipeStates: Pipe['state'][] = ['Failed', 'InternalError', 'Degraded']

export function brokenServicesOf({ services }: Metrics): Metrics['services'] {
  const rankOf = ({ state }: Metrics['services'][number]) => brokenServiceStates.indexOf(state)
  return services.filter((service) => rankOf(service) >= 0).toSorted((one, other) => rankOf(one) - rankOf(other))
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
  const reason = data?.result.stateReason
  return (
    <Item badge={<StateBadge state={state} />} about={reason ? sentence(reason) : undefined}>
      Service{' '}
      <PageLink inherit fw={600} to="/o/$organizationId/services/$serviceId" params={{ organizationId, serviceId: id }}>
        {name}
      </PageLink>{' '}
      {serviceTrouble({ state })}
    </Item>
  )
}

/** Worst state first; of each state the newest pipes, and the number of further ones. */
export function BrokenPipes({
  organizationId,
  services,
  counts,
}: {
  organizationId: string
  services: Metrics['services']
  counts: Metrics['pipes']
}) {
  return brokenPipeStates.map((state) => {
    const inState = counts.filter((one) => one.state === state)
    if (inState.length === 0) return null
    return (
      <PipesInState key={state} organizationId={organizationId} services={services} state={state} counts={inState} />
    )
  })
}

function PipesInState({
  organizationId,
  services,
  state,
  counts,
}: {
  organizationId: string
  services: Metrics['services']
  state: Pipe['state']
  counts: Metrics['pipes']
}) {
  const total = counts.reduce((sum, { count }) => sum + count, 0)
  // Each service has at least one pipe in the state, so no more are needed to fill the list.
  const asked = counts.slice(0, mostShown)
  const reads = useQueries({
    queries: asked.map(({ serviceId }) => pipesInStateQuery(organizationId, serviceId, state, mostShown)),
  })
  if (reads.some(({ isPending }) => isPending)) return null
  const pipes = reads.flatMap(({ data }) => data?.result ?? []).slice(0, mostShown)
  const more = total - pipes.length
  return (
    <>
      {pipes.map((pipe) => (
        <BrokenPipe
          key={pipe.id}
          organizationId={organizationId}
          pipe={pipe}
          serviceName={services.find(({ id }) => id === pipe.serviceId)?.name ?? pipe.serviceId}
        />
      ))}
      {more > 0 && (
        <Item badge={<StateBadge state={state} />}>
          <PageLink
            inherit
            underline="always"
            to="/o/$organizationId/pipes"
            params={{ organizationId }}
            search={{ state }}
          >
            {pipes.length > 0 ? `and ${moreOf(more, 'pipe')}` : countOf(more, 'pipe')}
          </PageLink>
        </Item>
      )}
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
  // Same interval as the other metrics of this page.
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
      of the service {serviceName} {state === 'Degraded' ? 'has errors and retries' : 'has failed'}
    </Item>
  )
}

export function RejectedRows({
  organizationId,
  services,
  rejected,
}: {
  organizationId: string
  services: Metrics['services']
  rejected: Metrics['rejected']
}) {
  const badge = <WordBadge color="orange">Rejected rows</WordBadge>
  const more = rejected.length - mostShown
  return (
    <>
      {rejected.slice(0, mostShown).map(({ serviceId, pipeId, name, rows }) => (
        <Item key={pipeId} badge={badge} about="See why, fix the table or the columns, and retry them.">
          The pipe {name} of the service {services.find(({ id }) => id === serviceId)?.name ?? serviceId} has{' '}
          <PageLink
            inherit
            underline="always"
            to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
            params={{ organizationId, serviceId, pipeId }}
            search={{ tab: 'errors' }}
          >
            {countOf(rows, 'rejected row')}
          </PageLink>
        </Item>
      ))}
      {more > 0 && (
        <Item badge={badge}>
          <PageLink inherit underline="always" to="/o/$organizationId/pipes" params={{ organizationId }}>
            and {moreOf(more, 'pipe')} with rejected rows
          </PageLink>
        </Item>
      )}
    </>
  )
}
