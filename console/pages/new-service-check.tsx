import { Button, Group, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import type { Answer } from '../../src/client/caller.ts'
import type { Service } from '../../src/client/shapes.ts'
import { followedServiceQuery } from '../api/queries.ts'
import { providerNames } from '../components/cloud-provider.ts'
import { EngineCheck } from '../components/engine-check.tsx'
import { Facts } from '../components/facts.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { PageButton } from '../components/page-link.tsx'
import { Section } from '../components/section.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import { ConnectionForm } from './service-connection-form.tsx'
import { useServiceEdit } from './service-edit.tsx'

/** Shows the checks of a newly registered engine until one succeeds. */
export function FirstCheck({ organizationId, serviceId }: { organizationId: string; serviceId: string }) {
  const { data: live } = useQuery(followedServiceQuery(organizationId, serviceId))
  if (!live) return <LoadingPage />
  return <Checked organizationId={organizationId} live={live} />
}

function Checked({ organizationId, live }: { organizationId: string; live: Answer<Service> }) {
  const edit = useServiceEdit(organizationId, live)
  const [isChanging, { open, close }] = useDisclosure(false)
  const service = live.result
  const { id: serviceId, state } = service
  const isRunning = state === 'running'
  return (
    <Stack gap="lg" maw={860}>
      <Section title={service.name}>
        <Facts
          facts={[
            { label: 'State', value: <StateBadge state={state} /> },
            { label: 'Provider and region', value: `${providerNames[service.provider]} ${service.region}` },
          ]}
        />
        <EngineCheck service={service} />
        <Group gap="sm">
          <PageButton
            to="/o/$organizationId/services/$serviceId"
            params={{ organizationId, serviceId }}
            variant={isRunning ? 'filled' : 'default'}
          >
            Open the service
          </PageButton>
          {isRunning && (
            <PageButton
              to="/o/$organizationId/pipes/new"
              params={{ organizationId }}
              search={{ service: serviceId }}
              variant="default"
            >
              Create a pipe
            </PageButton>
          )}
          {!isRunning && state !== 'provisioning' && !isChanging && (
            <Button onClick={open}>Change the connection</Button>
          )}
        </Group>
      </Section>
      {isChanging && <ConnectionForm edit={edit} onDone={close} autoFocus />}
    </Stack>
  )
}
