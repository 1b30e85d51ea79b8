// First steps of a new organization, from an engine to rows of its own pipe.
import { Button, Group, List, Stack, Text, ThemeIcon } from '@mantine/core'
import { useInfiniteQuery, useQueries } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import type { Metrics } from '../api/metrics.ts'
import { activitiesQuery, invitationsQuery, keysQuery, pipeMetricsQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { CheckIcon } from '../components/icons.tsx'
import { itemsOf } from '../components/list-table.tsx'
import { PageButton } from '../components/page-link.tsx'
import { pipesLeft } from '../components/pipes-left.ts'
import { ReasonButton } from '../components/reason-button.tsx'
import { Section } from '../components/section.tsx'

/** `filled` for the next step. */
type ButtonVariant = 'filled' | 'default'

interface Step {
  title: string
  about: string
  isDone: boolean
  /** Link to the page of the step, or the earlier step that is missing. */
  action: ((variant: ButtonVariant) => ReactNode) | { missing: string }
}

/** Set once all steps are done or the list was hidden, so that it does not reappear after a deletion. */
const hiddenKey = (organizationId: string): string => `penstock-first-steps-hidden-${organizationId}`

const activitiesToRead = 100
/** Each is one request every two seconds. */
const pipesToAsk = 3

export function FirstSteps({ organizationId, metrics }: { organizationId: string; metrics: Metrics }) {
  const isAdmin = useIsAdmin(organizationId)
  const [isHidden, setHidden] = useState(() => localStorage.getItem(hiddenKey(organizationId)) !== null)
  // Developers cannot do the steps and see them only while there is nothing else.
  if (metrics.services.length > 0 && (isHidden || !isAdmin)) return null
  const hide = (): void => {
    localStorage.setItem(hiddenKey(organizationId), new Date().toISOString())
    setHidden(true)
  }
  return <StepList organizationId={organizationId} metrics={metrics} isAdmin={isAdmin} onHide={hide} />
}

function StepList({
  organizationId,
  metrics,
  isAdmin,
  onHide,
}: {
  organizationId: string
  metrics: Metrics
  isAdmin: boolean
  onHide: () => void
}) {
  const steps = useSteps(organizationId, metrics)
  const hasService = metrics.services.length > 0
  const areAllDone = steps?.every(({ isDone }) => isDone) ?? false
  useEffect(() => {
    if (areAllDone) localStorage.setItem(hiddenKey(organizationId), new Date().toISOString())
  }, [areAllDone, organizationId])
  if (!steps) return null
  const done = steps.filter(({ isDone }) => isDone).length
  return (
    <Section
      title={areAllDone ? 'First steps done' : 'First steps'}
      about={`Penstock moves data from your sources into your ClickHouse engines. ${done} of ${steps.length} steps done.`}
      actions={
        hasService && (
          <Button variant="subtle" size="compact-sm" onClick={onHide}>
            Hide
          </Button>
        )
      }
    >
      <List listStyleType="none" className="overview-list" type="ordered">
        {steps.map((step, index) => (
          <StepItem
            key={step.title}
            step={step}
            number={index + 1}
            isNext={index === steps.findIndex(({ isDone }) => !isDone)}
            isAdmin={isAdmin}
          />
        ))}
      </List>
    </Section>
  )
}

/** Undefined while loading. */
function useSteps(organizationId: string, metrics: Metrics): Step[] | undefined {
  const params = { organizationId }
  const keys = useInfiniteQuery(keysQuery(organizationId))
  const invitations = useInfiniteQuery(invitationsQuery(organizationId))
  const created = useInfiniteQuery(activitiesQuery(organizationId, { type: 'pipe_created' }, activitiesToRead))
  const deleted = useInfiniteQuery(activitiesQuery(organizationId, { type: 'pipe_deleted' }, activitiesToRead))
  const ownPipes = pipesLeft(itemsOf(created), itemsOf(deleted)).slice(0, pipesToAsk)
  const pipeMetrics = useQueries({
    queries: ownPipes.map(({ serviceId, pipeId }) => pipeMetricsQuery(organizationId, serviceId, pipeId)),
  })
  if (keys.isPending || invitations.isPending || created.isPending || deleted.isPending) return undefined
  const withRows = pipeMetrics.findIndex(({ data }) => (data?.result.rowsWritten ?? 0) > 0)
  const pipeToSee = ownPipes[Math.max(0, withRows)]

  const memberCount = (metrics.members.admin ?? 0) + (metrics.members.developer ?? 0)
  const answering = metrics.services.find(({ state }) => state === 'running' || state === 'degraded')
  const service = answering ?? metrics.services[0]
  return [
    {
      title: 'Connect an engine',
      about: 'A service is a ClickHouse server that is already running. Enter its address; it is checked at once.',
      isDone: answering !== undefined,
      action: (variant) =>
        service && !answering ? (
          <PageButton
            variant={variant}
            to="/o/$organizationId/services/$serviceId"
            params={{ ...params, serviceId: service.id }}
          >
            Open the service
          </PageButton>
        ) : (
          <PageButton variant={variant} to="/o/$organizationId/services/new" params={params}>
            Register a service
          </PageButton>
        ),
    },
    {
      title: 'Create an API key',
      about: 'With a key, your programs can do everything that you can do here.',
      isDone: itemsOf(keys).length > 0,
      action: (variant) => (
        <PageButton variant={variant} to="/o/$organizationId/keys/new" params={params}>
          Create a key
        </PageButton>
      ),
    },
    {
      title: 'Create a pipe of your own',
      about: 'From Kafka, Kinesis, object storage or PostgreSQL. The source is checked before anything is saved.',
      isDone: pipeToSee !== undefined,
      action: service
        ? (variant) => (
            <PageButton
              variant={variant}
              to="/o/$organizationId/pipes/new"
              params={params}
              search={{ service: service.id }}
            >
              Create a pipe
            </PageButton>
          )
        : { missing: 'A pipe needs an engine: register a service first' },
    },
    {
      title: 'See your rows',
      about: 'The Data tab of the pipe shows the newest rows of its tables, seconds after they arrive.',
      isDone: withRows >= 0,
      action: pipeToSee
        ? (variant) => (
            <PageButton
              variant={variant}
              to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
              params={{ ...params, ...pipeToSee }}
              search={{ tab: 'data' }}
            >
              Open the Data tab
            </PageButton>
          )
        : { missing: 'There are no rows of your own yet: create a pipe first' },
    },
    {
      title: 'Invite someone',
      about: 'A second admin can help when you are away. Developers are read-only.',
      isDone: memberCount > 1 || itemsOf(invitations).length > 0,
      action: (variant) => (
        <PageButton variant={variant} to="/o/$organizationId/members" params={params}>
          Invite someone
        </PageButton>
      ),
    },
  ]
}

function StepItem({
  step: { title, about, isDone, action },
  number,
  isNext,
  isAdmin,
}: {
  step: Step
  number: number
  isNext: boolean
  isAdmin: boolean
}) {
  const onlyAdmins = `Only admins can do this: ask one to ${title.toLowerCase()}`
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
        {typeof action === 'object' || !isAdmin ? (
          <ReasonButton variant="default" reason={isAdmin && typeof action === 'object' ? action.missing : onlyAdmins}>
            {title}
          </ReasonButton>
        ) : (
          action(isNext ? 'filled' : 'default')
        )}
      </Group>
    </List.Item>
  )
}
