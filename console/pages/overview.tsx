import { Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { metricsQuery } from '../api/queries.ts'
import { useSignedIn } from '../api/session.ts'
import { useLasting } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { RecentActivity } from './overview-activity.tsx'
import { Attention } from './overview-attention.tsx'
import { StateCounts } from './overview-counts.tsx'
import { FirstSteps } from './overview-first-steps.tsx'

export function OverviewPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/' })
  const { organizations } = useSignedIn()
  const { data: metrics, isPending } = useQuery(metricsQuery(organizationId))
  const lasts = useLasting(isPending)
  const name = organizations.find(({ id }) => id === organizationId)?.name ?? 'Overview'
  return (
    <Page title="Overview" documentTitle={`Overview of ${name}`}>
      {metrics ? (
        <>
          {metrics.services.length > 0 && <StateCounts organizationId={organizationId} metrics={metrics} />}
          <Attention organizationId={organizationId} metrics={metrics} />
          <FirstSteps key={organizationId} organizationId={organizationId} metrics={metrics} />
        </>
      ) : (
        <Stack mih={220} role="status" aria-label="Loading the counts">
          {lasts && <Skeleton height={120} />}
        </Stack>
      )}
      <RecentActivity organizationId={organizationId} />
    </Page>
  )
}
