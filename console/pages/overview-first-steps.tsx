// What to do first in an organization that has no service yet.
import { Group, List, Stack, Text, ThemeIcon } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Metrics } from '../api/metrics.ts'
import { invitationsQuery, keysQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { CheckIcon } from '../components/icons.tsx'
import { itemsOf } from '../components/list-table.tsx'
import { PageButton } from '../components/page-link.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { Section } from '../components/section.tsx'

export function FirstSteps({ organizationId, metrics }: { organizationId: string; metrics: Metrics }) {
  const params = { organizationId }
  const keys = itemsOf(useInfiniteQuery(keysQuery(organizationId)))
  const invitations = itemsOf(useInfiniteQuery(invitationsQuery(organizationId)))
  const memberCount = (metrics.members.admin ?? 0) + (metrics.members.developer ?? 0)
  return (
    <Section
      title="First steps"
      about="Penstock moves data from your sources into your ClickHouse engines. Three steps, and it has something to work with."
    >
      <List listStyleType="none" className="overview-list" type="ordered">
        <Step
          number={1}
          title="Register a service"
          about="A service is a ClickHouse engine that is already running. Tell Penstock where it is; it is checked at once."
          isDone={false}
          organizationId={organizationId}
          button={
            <PageButton to="/o/$organizationId/services/new" params={params}>
              Register a service
            </PageButton>
          }
        />
        <Step
          number={2}
          title="Create an API key"
          about="Programs use it to do through the API what you do here."
          isDone={keys.length > 0}
          organizationId={organizationId}
          button={
            <PageButton variant="default" to="/o/$organizationId/keys/new" params={params}>
              Create a key
            </PageButton>
          }
        />
        <Step
          number={3}
          title="Invite somebody"
          about="A second admin can help when you are away; developers are read-only."
          isDone={memberCount > 1 || invitations.length > 0}
          organizationId={organizationId}
          button={
            <PageButton variant="default" to="/o/$organizationId/members" params={params}>
              Invite somebody
            </PageButton>
          }
        />
      </List>
    </Section>
  )
}

function Step({
  number,
  title,
  about,
  isDone,
  organizationId,
  button,
}: {
  number: number
  title: string
  about: string
  isDone: boolean
  organizationId: string
  button: ReactNode
}) {
  const isAdmin = useIsAdmin(organizationId)
  return (
    <List.Item>
      <Group justify="space-between" gap="sm">
        <Group gap="md" wrap="nowrap" align="flex-start" flex="1 1 320px">
          <ThemeIcon variant={isDone ? 'filled' : 'light'} radius="xl" size={28}>
            {isDone ? <CheckIcon size={16} /> : number}
          </ThemeIcon>
          <Stack gap={2}>
            <Text fw={600}>
              {title}
              {isDone && (
                <Text span c="dimmed" size="sm" fw={400}>
                  {' '}
                  (done)
                </Text>
              )}
            </Text>
            <Text size="sm" c="dimmed">
              {about}
            </Text>
          </Stack>
        </Group>
        {isAdmin ? (
          button
        ) : (
          <ReasonButton variant="default" reason={`Only admins can do this: ask one to ${title.toLowerCase()}`}>
            {title}
          </ReasonButton>
        )}
      </Group>
    </List.Item>
  )
}
