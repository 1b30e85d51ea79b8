import { Group, Tabs, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { Pipe, PipeScalingPatch, PipeSettingsPatch } from '../../src/client/shapes.ts'
import { pipeMetricsQuery, pipeQuery, serviceQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { FieldEditor, type FieldVersion } from '../components/field-editor.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { PageLink } from '../components/page-link.tsx'
import { kindLabel, scalingFields, settingFields } from '../components/pipe-fields.ts'
import { ReadProblem } from '../components/problem-notice.tsx'
import { PipeStateBadge } from '../components/state-badge.tsx'
import type { PipeTab } from '../route-search.ts'
import { PipeActions } from './pipe-actions.tsx'
import { PipeData } from './pipe-data.tsx'
import { PipeDestination } from './pipe-destination.tsx'
import { PipeErrors } from './pipe-errors.tsx'
import { PipeOverview } from './pipe-overview.tsx'
import { PipeSource } from './pipe-source.tsx'

const address = '/signed-in/o/$organizationId/services/$serviceId/pipes/$pipeId'

const tabs: Record<PipeTab, string> = {
  overview: 'Overview',
  data: 'Data',
  errors: 'Rejected rows',
  source: 'Source',
  destination: 'Destination',
  settings: 'Settings',
  scaling: 'Scaling',
}

export function PipePage() {
  const { organizationId, serviceId, pipeId } = useParams({ from: address })
  const { tab = 'overview' } = useSearch({ from: address })
  const pipeRead = useQuery(pipeQuery(organizationId, serviceId, pipeId))
  const metricsRead = useQuery(pipeMetricsQuery(organizationId, serviceId, pipeId))
  const serviceRead = useQuery(serviceQuery(organizationId, serviceId))
  const navigate = useNavigate()
  if (!pipeRead.data || !serviceRead.data) return <LoadingPage />
  const { result: stored, etag } = pipeRead.data
  // The most recently read state.
  const isNewer = metricsRead.dataUpdatedAt > pipeRead.dataUpdatedAt
  const pipe = { ...stored, state: (isNewer && metricsRead.data?.result.state) || stored.state }
  const service = serviceRead.data.result
  return (
    <Page
      title={
        <Group gap="sm" component="span" display="inline-flex">
          {pipe.name}
          <PipeStateBadge state={pipe.state} service={service} size="lg" />
        </Group>
      }
      documentTitle={pipe.name}
      crumbs={[
        { label: 'Pipes', to: `/o/${organizationId}/pipes` },
        { label: service.name, to: `/o/${organizationId}/services/${serviceId}` },
      ]}
      about={`${kindLabel(pipe)} pipe of the service ${service.name}.`}
    >
      <PipeActions organizationId={organizationId} pipe={pipe} />
      {pipeRead.error && <ReadProblem error={pipeRead.error} title="This may be out of date" />}
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(chosen) =>
          void navigate({
            to: '/o/$organizationId/services/$serviceId/pipes/$pipeId',
            params: { organizationId, serviceId, pipeId },
            search: { tab: chosen === 'overview' ? undefined : (chosen as PipeTab) },
            resetScroll: false,
          })
        }
      >
        <Tabs.List className="pipe-tabs" mb="lg" aria-label="Parts of the pipe">
          {Object.entries(tabs).map(([value, label]) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <PipeOverview organizationId={organizationId} pipe={pipe} service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="data">
          <PipeData organizationId={organizationId} pipe={pipe} />
        </Tabs.Panel>
        <Tabs.Panel value="errors">
          <PipeErrors organizationId={organizationId} pipe={pipe} />
        </Tabs.Panel>
        <Tabs.Panel value="source">
          <PipeSource pipe={pipe} />
        </Tabs.Panel>
        <Tabs.Panel value="destination">
          <PipeDestination organizationId={organizationId} pipe={pipe} service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <PipeNumbers part="settings" organizationId={organizationId} pipe={pipe} etag={etag} />
        </Tabs.Panel>
        <Tabs.Panel value="scaling">
          <PipeNumbers part="scaling" organizationId={organizationId} pipe={pipe} etag={etag} />
        </Tabs.Panel>
      </Tabs>
      <Text size="sm" c="dimmed">
        Who changed what, and when, is in the{' '}
        <PageLink to="/o/$organizationId/activity" params={{ organizationId }} size="sm" underline="always">
          activity of the organization
        </PageLink>
        .
      </Text>
    </Page>
  )
}

/** Settings or scaling, in the same table. */
function PipeNumbers({
  part,
  organizationId,
  pipe,
  etag,
}: {
  part: 'settings' | 'scaling'
  organizationId: string
  pipe: Pipe
  etag: string | undefined
}) {
  const queries = useQueryClient()
  const isAdmin = useIsAdmin(organizationId)
  const params = { organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }
  const readAgain = async (): Promise<FieldVersion> => {
    const query = pipeQuery(organizationId, pipe.serviceId, pipe.id)
    const { result, etag } = await queries.fetchQuery({ ...query, staleTime: 0 })
    return { values: result[part], etag }
  }
  const common = { organizationId, readAgain, present: { values: pipe[part], etag } }
  if (part === 'settings') {
    return (
      <FieldEditor
        {...common}
        title="Settings"
        about="How the pipe reads and inserts. All kinds of pipes have the same settings; those for object storage or streaming matter to such pipes only. A running pipe applies them without a pause."
        fields={settingFields}
        reason={isAdmin ? undefined : 'Only admins can change the settings of a pipe.'}
        label="Save settings"
        callOf={(patch, ifMatch) => (api) => api.updatePipeSettings(params, patch as PipeSettingsPatch, { ifMatch })}
      />
    )
  }
  const { replicas, replicaCpuMillicores, replicaMemoryGb } = pipe.scaling
  return (
    <FieldEditor
      {...common}
      title="Scaling"
      about="How many workers share the pipe, and how much each may use."
      fields={scalingFields}
      reason={isAdmin ? undefined : 'Only admins can change the scaling of a pipe.'}
      label="Save scaling"
      callOf={(patch, ifMatch) => (api) => api.updatePipeScaling(params, patch as PipeScalingPatch, { ifMatch })}
    >
      <Text size="sm" c="dimmed">
        All replicas together: {(replicas * replicaCpuMillicores).toLocaleString('en')} millicores and{' '}
        {(replicas * replicaMemoryGb).toLocaleString('en')} GB of memory.
      </Text>
    </FieldEditor>
  )
}
