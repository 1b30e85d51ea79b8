import { Group, List, Skeleton, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { activitiesQuery } from '../api/queries.ts'
import { ActivitySentence, Actor } from '../components/activity-sentence.tsx'
import { itemsOf } from '../components/list-table.tsx'
import { useLasting } from '../components/loading.tsx'
import { PageLink } from '../components/page-link.tsx'
import { Section } from '../components/section.tsx'
import { Time } from '../components/time.tsx'

const shown = 8

export function RecentActivity({ organizationId }: { organizationId: string }) {
  const query = useInfiniteQuery({ ...activitiesQuery(organizationId, {}, shown), refetchInterval: 30_000 })
  const lasts = useLasting(query.isPending)
  const activities = itemsOf(query)
  return (
    <Section
      title="Recent activity"
      actions={
        <PageLink size="sm" to="/o/$organizationId/activity" params={{ organizationId }}>
          All activity
        </PageLink>
      }
    >
      {query.isPending ? (
        <Stack mih={160} role="status" aria-label="Loading recent activity">
          {lasts && <Skeleton height={24} />}
        </Stack>
      ) : activities.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nothing has been changed yet. Every change, made here or through the API, is recorded with who made it.
        </Text>
      ) : (
        <List listStyleType="none" className="overview-list" size="sm">
          {activities.map((activity) => (
            <List.Item key={activity.id}>
              <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
                <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                  <Actor organizationId={organizationId} activity={activity} />{' '}
                  <ActivitySentence organizationId={organizationId} activity={activity} />
                </Text>
                <PageLink
                  size="sm"
                  c="dimmed"
                  to="/o/$organizationId/activity/$activityId"
                  params={{ organizationId, activityId: activity.id }}
                >
                  <Time at={activity.createdAt} />
                </PageLink>
              </Group>
            </List.Item>
          ))}
        </List>
      )}
    </Section>
  )
}
