import { Group, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { followedServiceQuery } from '../api/queries.ts'
import { LoadingPage } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import type { ServiceTab } from '../route-search.ts'
import { ServiceOverview } from './service-overview.tsx'
import { PrivateEndpoints } from './service-private-endpoints.tsx'
import { ServiceSettings } from './service-settings.tsx'
import { ServiceTables } from './service-tables.tsx'

const from = '/signed-in/o/$organizationId/services/$serviceId'

const tabNames: Record<ServiceTab, string> = {
  overview: 'Overview',
  tables: 'Tables',
  'private-endpoints': 'Private endpoints',
  settings: 'Settings',
}

export function ServicePage() {
  const { organizationId, serviceId } = useParams({ from })
  const { tab = 'overview' } = useSearch({ from })
  const navigate = useNavigate({ from: '/o/$organizationId/services/$serviceId' })
  const { data: live } = useQuery(followedServiceQuery(organizationId, serviceId))
  if (!live) return <LoadingPage />
  const service = live.result
  return (
    <Page
      title={
        <Group component="span" gap="sm" display="inline-flex">
          {service.name} <StateBadge state={service.state} size="lg" />
        </Group>
      }
      documentTitle={service.name}
      crumbs={[{ label: 'Services', to: `/o/${organizationId}/services` }]}
    >
      <Tabs
        value={tab}
        onChange={(chosen) =>
          void navigate({ search: chosen === 'overview' ? {} : { tab: chosen as ServiceTab }, resetScroll: false })
        }
        keepMounted={false}
      >
        <Tabs.List mb="lg" aria-label={`Parts of the service ${service.name}`}>
          {Object.entries(tabNames).map(([name, label]) => (
            <Tabs.Tab key={name} value={name}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <ServiceOverview organizationId={organizationId} service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="tables">
          <ServiceTables organizationId={organizationId} service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="private-endpoints">
          <PrivateEndpoints organizationId={organizationId} service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <ServiceSettings organizationId={organizationId} live={live} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
