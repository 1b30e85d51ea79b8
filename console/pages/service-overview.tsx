import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Pipe, Service } from '../../src/client/shapes.ts'
import { pipesQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { endpointUrl, providerNames } from '../components/cloud-provider.ts'
import { CopyText } from '../components/copy.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { EngineCheck } from '../components/engine-check.tsx'
import { Facts, NotSet } from '../components/facts.tsx'
import { PlusIcon } from '../components/icons.tsx'
import { type Column, itemsOf, ListTable } from '../components/list-table.tsx'
import { PageButton, PageLink } from '../components/page-link.tsx'
import { kindLabel } from '../components/pipe-fields.ts'
import { PipeTables } from '../components/pipe-tables.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { RowLink } from '../components/row-parts.tsx'
import { ScrollTable } from '../components/scroll-table.tsx'
import { Section } from '../components/section.tsx'
import { PipeStateBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'

export function ServiceOverview({ organizationId, service }: { organizationId: string; service: Service }) {
  const { id: serviceId, engineVersion, provider, region, endpoints, privateEndpointIds, createdAt } = service
  const params = { organizationId, serviceId }
  return (
    <Stack gap="lg">
      {service.state !== 'running' && (
        <EngineCheck service={service}>
          <ChangeConnection organizationId={organizationId} service={service} />
        </EngineCheck>
      )}
      <Section title="Engine">
        <Facts
          facts={[
            { label: 'Version', value: engineVersion ?? <NotSet>Not known until the engine has answered</NotSet> },
            {
              label: 'Endpoint',
              value: endpoints[0] ? (
                <CopyText text={endpointUrl(endpoints[0])} label="endpoint" />
              ) : (
                <NotSet>No connection is registered</NotSet>
              ),
            },
            ...(endpoints[0]
              ? [{ label: 'Signs in as', value: <CopyText text={endpoints[0].username} label="user name" /> }]
              : []),
            { label: 'Provider and region', value: `${providerNames[provider]} ${region}` },
            {
              label: 'Private endpoints',
              value: (
                <PageLink
                  to="/o/$organizationId/services/$serviceId"
                  params={params}
                  search={{ tab: 'private-endpoints' }}
                  size="sm"
                >
                  {attachedText(privateEndpointIds.length)}
                </PageLink>
              ),
            },
            { label: 'Service id', value: <CopyText text={serviceId} label="service id" /> },
            { label: 'Registered', value: <Time at={createdAt} /> },
          ]}
        />
      </Section>
      <IpAccess organizationId={organizationId} service={service} />
      <Pipes organizationId={organizationId} service={service} />
    </Stack>
  )
}

function ChangeConnection({ organizationId, service }: { organizationId: string; service: Service }) {
  const isAdmin = useIsAdmin(organizationId)
  if (!isAdmin || (service.state === 'provisioning' && service.endpoints.length > 0)) return null
  return (
    <Group mt={4}>
      <PageButton
        to="/o/$organizationId/services/$serviceId"
        params={{ organizationId, serviceId: service.id }}
        search={{ tab: 'settings' }}
        variant="default"
        size="xs"
      >
        Change the connection
      </PageButton>
    </Group>
  )
}

/** A service lists at most 1000. */
function attachedText(count: number): string {
  if (count === 0) return 'None attached'
  return count === 1000 ? '1000 or more attached' : `${count} attached`
}

function IpAccess({ organizationId, service }: { organizationId: string; service: Service }) {
  const { id: serviceId, ipAccessList } = service
  return (
    <Section
      title="IP access list"
      actions={
        <PageLink
          to="/o/$organizationId/services/$serviceId"
          params={{ organizationId, serviceId }}
          search={{ tab: 'settings' }}
          size="sm"
        >
          Change the list
        </PageLink>
      }
    >
      {ipAccessList.length === 0 ? (
        <Text size="sm">The list is empty: the engine may be used from everywhere.</Text>
      ) : (
        <ScrollTable
          caption="Addresses that may use the engine"
          items={ipAccessList}
          keyOf={({ source }) => source}
          columns={[
            {
              label: 'Address or range',
              cell: ({ source }) => (
                <Text size="sm" ff="monospace">
                  {source}
                </Text>
              ),
            },
            {
              label: 'Description',
              cell: ({ description }) => (
                <span style={{ overflowWrap: 'anywhere' }}>{description || <NotSet>None</NotSet>}</span>
              ),
            },
          ]}
        />
      )}
    </Section>
  )
}

const pipeColumns = (organizationId: string, serviceState: Service['state']): Column<Pipe>[] => [
  {
    label: 'Name',
    cell: ({ id, serviceId, name }) => (
      <RowLink isStrong to={`/o/${organizationId}/services/${serviceId}/pipes/${id}`}>
        {name}
      </RowLink>
    ),
  },
  { label: 'State', cell: ({ state }) => <PipeStateBadge state={state} service={{ state: serviceState }} /> },
  { label: 'Source', cell: (pipe) => kindLabel(pipe) },
  {
    label: 'Writes to',
    cell: (pipe) => <PipeTables pipe={pipe} />,
  },
  { label: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]

function Pipes({ organizationId, service }: { organizationId: string; service: Service }) {
  const isAdmin = useIsAdmin(organizationId)
  const query = useInfiniteQuery(pipesQuery(organizationId, service.id))
  const pipes = itemsOf(query)
  const columns = useMemo(() => pipeColumns(organizationId, service.state), [organizationId, service.state])
  const looks = { variant: 'default', size: 'xs', leftSection: <PlusIcon size={14} /> }
  const create = isAdmin ? (
    <PageButton
      to="/o/$organizationId/pipes/new"
      params={{ organizationId }}
      search={{ service: service.id }}
      {...looks}
    >
      Create a pipe
    </PageButton>
  ) : (
    <ReasonButton reason="Only admins can create a pipe" {...looks}>
      Create a pipe
    </ReasonButton>
  )
  return (
    <Section title="Pipes" actions={pipes.length > 0 && create}>
      <ListTable
        caption={`Pipes of the service ${service.name}`}
        items={pipes}
        columns={columns}
        keyOf={({ id }) => id}
        query={query}
        empty={
          <EmptyState title="No pipes yet" action={create}>
            A pipe reads a source, such as Kafka or PostgreSQL, and writes its rows into tables of this service.
          </EmptyState>
        }
      />
    </Section>
  )
}
