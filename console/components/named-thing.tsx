// Shows the name of a member, key, service or pipe that an activity identifies by id.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import {
  keyQuery,
  keysQuery,
  memberQuery,
  membersQuery,
  pipeQuery,
  pipesQuery,
  serviceQuery,
  servicesQuery,
} from '../api/queries.ts'
import { itemsOf } from './list-table.tsx'
import { RowLink } from './row-parts.tsx'

/** Names change rarely. Objects that are not found are shown by id instead of an error page. */
const forNames = { refetchInterval: false, staleTime: 60_000, throwOnError: false } as const

/** Bold text, for names in a sentence. */
export function strong(text: unknown): ReactNode {
  return <b className="row-strong">{String(text)}</b>
}

export type Kind = 'member' | 'key' | 'service' | 'pipe'

interface ThingProps {
  organizationId: string
  kind: Kind
  id: string
  serviceId: string | undefined
  recorded: string | undefined
}

/** Name of the changed object, with a link to its page while it exists. */
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

// Most names are on the first page of a list, which is read once for all. Objects that may be on later pages are read
// individually.

type NamedThing = { organizationId: string; id: string; recorded?: string | undefined }

function MemberThing({ organizationId, id, recorded }: NamedThing) {
  const read = useInfiniteQuery({ ...membersQuery(organizationId), ...forNames })
  const listed = itemsOf(read).find(({ userId }) => userId === id)
  const one = useQuery({ ...memberQuery(organizationId, id), ...forNames, enabled: !listed && read.hasNextPage })
  const member = listed ?? one.data?.result
  if (!member) return strong(recorded ?? shortId(id))
  return (
    <RowLink isStrong to={`/o/${organizationId}/members`}>
      {member.name}
    </RowLink>
  )
}

function KeyThing({ organizationId, id, recorded }: NamedThing) {
  const read = useInfiniteQuery({ ...keysQuery(organizationId), ...forNames })
  const listed = itemsOf(read).find((key) => key.id === id)
  const one = useQuery({ ...keyQuery(organizationId, id), ...forNames, enabled: !listed && read.hasNextPage })
  const key = listed ?? one.data?.result
  if (!key) return strong(recorded ?? shortId(id))
  return (
    <RowLink isStrong to={`/o/${organizationId}/keys/${id}`}>
      {key.name}
    </RowLink>
  )
}

export function ServiceThing({ organizationId, id, recorded }: NamedThing) {
  const read = useInfiniteQuery({ ...servicesQuery(organizationId), ...forNames })
  const listed = itemsOf(read).find((service) => service.id === id)
  const one = useQuery({ ...serviceQuery(organizationId, id), ...forNames, enabled: !listed && read.hasNextPage })
  const service = listed ?? one.data?.result
  if (!service) return strong(recorded ?? shortId(id))
  return (
    <RowLink isStrong to={`/o/${organizationId}/services/${id}`}>
      {service.name}
    </RowLink>
  )
}

function PipeThing({ organizationId, id, serviceId = '', recorded }: NamedThing & { serviceId: string | undefined }) {
  const servicesRead = useInfiniteQuery({ ...servicesQuery(organizationId), ...forNames })
  // The pipes of a deleted service no longer exist: reading them would fail.
  const enabled = servicesRead.hasNextPage || itemsOf(servicesRead).some((service) => service.id === serviceId)
  const read = useInfiniteQuery({ ...pipesQuery(organizationId, serviceId), ...forNames, enabled })
  const listed = itemsOf(read).find((pipe) => pipe.id === id)
  const one = useQuery({
    ...pipeQuery(organizationId, serviceId, id),
    ...forNames,
    enabled: !listed && read.hasNextPage,
  })
  const pipe = listed ?? one.data?.result
  if (!pipe) return strong(recorded ?? shortId(id))
  return (
    <RowLink isStrong to={`/o/${organizationId}/services/${serviceId}/pipes/${id}`}>
      {pipe.name}
    </RowLink>
  )
}

/** Short form of an id. */
export function shortId(id: string): string {
  return id.slice(0, 8)
}
