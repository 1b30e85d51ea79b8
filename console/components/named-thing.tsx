// A member, key, service or pipe that an activity names by its id only.
import { Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { keysQuery, membersQuery, pipesQuery, servicesQuery } from '../api/queries.ts'
import { itemsOf } from './list-table.tsx'
import { PageLink } from './page-link.tsx'

/** Names change seldom, and none of them is worth an error page: what is not found is shown by its id. */
const forNames = { refetchInterval: false, staleTime: 60_000, throwOnError: false } as const

/** In bold, as names stand in a sentence. */
export function strong(text: unknown): ReactNode {
  return (
    <Text span inherit fw={600} style={{ overflowWrap: 'anywhere' }}>
      {String(text)}
    </Text>
  )
}

export type Kind = 'member' | 'key' | 'service' | 'pipe'

interface ThingProps {
  organizationId: string
  kind: Kind
  id: string
  serviceId: string | undefined
  recorded: string | undefined
}

/** What was changed, by name, leading to its page as long as it is there. */
export function Thing({ kind, ...props }: ThingProps) {
  switch (kind) {
    case 'member':
      return <MemberThing {...props} />
    case 'key':
      return <KeyThing {...props} />
    case 'service':
      return <ServiceThing {...props} />
    case 'pipe':
      return <PipeThing {...props} />
  }
}

type NamedThing = { organizationId: string; id: string; recorded?: string | undefined }

function MemberThing({ organizationId, id, recorded }: NamedThing) {
  const members = itemsOf(useInfiniteQuery({ ...membersQuery(organizationId), ...forNames }))
  const member = members.find(({ userId }) => userId === id)
  if (!member) return strong(recorded ?? shortId(id))
  return (
    <PageLink inherit fw={600} to="/o/$organizationId/members" params={{ organizationId }}>
      {member.name}
    </PageLink>
  )
}

function KeyThing({ organizationId, id, recorded }: NamedThing) {
  const keys = itemsOf(useInfiniteQuery({ ...keysQuery(organizationId), ...forNames }))
  const key = keys.find((one) => one.id === id)
  if (!key) return strong(recorded ?? shortId(id))
  return (
    <PageLink inherit fw={600} to="/o/$organizationId/keys/$keyId" params={{ organizationId, keyId: id }}>
      {key.name}
    </PageLink>
  )
}

export function ServiceThing({ organizationId, id, recorded }: NamedThing) {
  const services = itemsOf(useInfiniteQuery({ ...servicesQuery(organizationId), ...forNames }))
  const service = services.find((one) => one.id === id)
  if (!service) return strong(recorded ?? shortId(id))
  return (
    <PageLink inherit fw={600} to="/o/$organizationId/services/$serviceId" params={{ organizationId, serviceId: id }}>
      {service.name}
    </PageLink>
  )
}

function PipeThing({ organizationId, id, serviceId = '', recorded }: NamedThing & { serviceId: string | undefined }) {
  const servicesRead = useInfiniteQuery({ ...servicesQuery(organizationId), ...forNames })
  // The pipes of a service that is gone are gone with it: asking for them would be an error.
  const enabled = servicesRead.hasNextPage || itemsOf(servicesRead).some((service) => service.id === serviceId)
  const pipes = itemsOf(useInfiniteQuery({ ...pipesQuery(organizationId, serviceId), ...forNames, enabled }))
  const pipe = pipes.find((one) => one.id === id)
  if (!pipe) return strong(recorded ?? shortId(id))
  return (
    <PageLink
      inherit
      fw={600}
      to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
      params={{ organizationId, serviceId, pipeId: id }}
    >
      {pipe.name}
    </PageLink>
  )
}

/** Enough of an id to tell two apart. */
export function shortId(id: string): string {
  return id.slice(0, 8)
}
