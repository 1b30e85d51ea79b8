// Placeholder of an empty list of pipes, and the button to create one.
import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useIsAdmin } from '../api/session.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { PlusIcon } from '../components/icons.tsx'
import { PageButton } from '../components/page-link.tsx'
import { ReasonButton } from '../components/reason-button.tsx'

export function NewPipeButton({ organizationId, service }: { organizationId: string; service?: string | undefined }) {
  const isAdmin = useIsAdmin(organizationId)
  const icon = <PlusIcon size={16} />
  if (!isAdmin) {
    return (
      <ReasonButton reason="Only admins can create pipes." leftSection={icon}>
        New pipe
      </ReasonButton>
    )
  }
  return (
    <PageButton to="/o/$organizationId/pipes/new" params={{ organizationId }} search={{ service }} leftSection={icon}>
      New pipe
    </PageButton>
  )
}

export function NoService({ organizationId }: { organizationId: string }) {
  const isAdmin = useIsAdmin(organizationId)
  return (
    <EmptyState
      title="No service yet"
      action={
        isAdmin ? (
          <PageButton to="/o/$organizationId/services/new" params={{ organizationId }}>
            Register a service
          </PageButton>
        ) : (
          <ReasonButton reason="Only admins can register services.">Register a service</ReasonButton>
        )
      }
    >
      A pipe writes to a service: a ClickHouse engine that is registered here. Register one first, then create a pipe
      that fills its tables.
    </EmptyState>
  )
}

export function NoPipe({ organizationId }: { organizationId: string }) {
  return (
    <EmptyState title="No pipe yet" action={<NewPipeButton organizationId={organizationId} />}>
      A pipe moves data from Kafka, Kinesis, object storage or PostgreSQL into tables of a service. Create one: choose
      where the data comes from, which table it fills, and start it when you are ready.
    </EmptyState>
  )
}

export function NothingFits({ organizationId }: { organizationId: string }) {
  const navigate = useNavigate()
  return (
    <EmptyState
      title="No pipe matches"
      action={
        <Button
          variant="default"
          onClick={() => void navigate({ to: '/o/$organizationId/pipes', params: { organizationId }, search: {} })}
        >
          Show all pipes
        </Button>
      }
    >
      There are no pipes with this text, state, kind and service.
    </EmptyState>
  )
}
