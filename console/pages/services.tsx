import { Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Service } from '../../src/client/shapes.ts'
import { allServicesQuery, servicesQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { providerNames } from '../components/cloud-provider.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { PlusIcon } from '../components/icons.tsx'
import { type Column, itemsOf, ListTable } from '../components/list-table.tsx'
import { Page } from '../components/page.tsx'
import { PageButton, PageLink } from '../components/page-link.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { RowLink } from '../components/row-parts.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import { stateLabel } from '../components/state-label.ts'
import { Time } from '../components/time.tsx'

const rowsAtOnce = 100

/** Services by page, or by state: the API has no filter by state, so all are read. */
function useServices(organizationId: string, chosenState: string | undefined) {
  const isFiltered = chosenState !== undefined
  const paged = useInfiniteQuery({ ...servicesQuery(organizationId), enabled: !isFiltered })
  const all = useQuery({ ...allServicesQuery(organizationId), enabled: isFiltered })
  const [shownRows, setShownRows] = useState(rowsAtOnce)
  if (!isFiltered) return { services: itemsOf(paged), query: paged, hasAny: itemsOf(paged).length > 0 }
  const found = (all.data ?? []).filter(({ state }) => state === chosenState)
  return {
    services: found.slice(0, shownRows),
    query: {
      isPending: all.isPending,
      isFetchingNextPage: false,
      hasNextPage: found.length > shownRows,
      fetchNextPage: () => setShownRows(shownRows + rowsAtOnce),
    },
    hasAny: (all.data ?? []).length > 0,
  }
}

export function ServicesPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/services' })
  const { state: chosenState } = useSearch({ from: '/signed-in/o/$organizationId/services' })
  const { services, query, hasAny } = useServices(organizationId, chosenState)
  const columns = useMemo(() => columnsFor(organizationId), [organizationId])
  return (
    <Page
      title="Services"
      about="The ClickHouse engines that pipes write to. Penstock checks each of them every 30 seconds."
      actions={hasAny && <RegisterButton organizationId={organizationId} />}
    >
      {chosenState !== undefined && (
        <Text size="sm">
          Only services in the state {stateLabel(chosenState as Service['state'])}.{' '}
          <PageLink size="sm" underline="always" to="/o/$organizationId/services" params={{ organizationId }}>
            Show all services
          </PageLink>
        </Text>
      )}
      <ListTable
        caption="Services of the organization"
        items={services}
        columns={columns}
        keyOf={({ id }) => id}
        query={query}
        minWidth={760}
        empty={
          chosenState !== undefined ? (
            <EmptyState title="No service is in this state now">States change as the engines are checked.</EmptyState>
          ) : (
            <EmptyState title="No services yet" action={<RegisterButton organizationId={organizationId} />}>
              A service is a ClickHouse engine that is already running: where it is, and a user that Penstock signs in
              as. Register one first; pipes and private endpoints belong to it.
            </EmptyState>
          )
        }
      />
    </Page>
  )
}

function RegisterButton({ organizationId }: { organizationId: string }) {
  const isAdmin = useIsAdmin(organizationId)
  if (!isAdmin) {
    return (
      <ReasonButton reason="Only admins can register a service" leftSection={<PlusIcon size={16} />}>
        Register a service
      </ReasonButton>
    )
  }
  return (
    <PageButton to="/o/$organizationId/services/new" params={{ organizationId }} leftSection={<PlusIcon size={16} />}>
      Register a service
    </PageButton>
  )
}

function columnsFor(organizationId: string): Column<Service>[] {
  return [
    {
      label: 'Name',
      cell: ({ id, name }) => (
        <RowLink isStrong to={`/o/${organizationId}/services/${id}`}>
          {name}
        </RowLink>
      ),
    },
    {
      label: 'State',
      cell: ({ state, stateReason }) => (
        <>
          <StateBadge state={state} />
          {stateReason && <div className="row-reason">{stateReason}</div>}
        </>
      ),
    },
    {
      label: 'Engine version',
      cell: ({ engineVersion }) => engineVersion ?? <span className="dimmed">not known yet</span>,
    },
    {
      label: 'Provider and region',
      cell: ({ provider, region }) => (
        <>
          {providerNames[provider]} <span className="no-wrap">{region}</span>
        </>
      ),
    },
    { label: 'Registered', cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
}
