import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Page } from '../components/page.tsx'
import { FirstCheck } from './new-service-check.tsx'
import { RegisterForm } from './new-service-form.tsx'

const from = '/signed-in/o/$organizationId/services/new'

export function NewServicePage() {
  const { organizationId } = useParams({ from })
  const { service: serviceId } = useSearch({ from })
  const navigate = useNavigate({ from: '/o/$organizationId/services/new' })
  return (
    <Page
      title={serviceId ? 'First check of the service' : 'Register a service'}
      about={
        serviceId
          ? 'The service is registered. Penstock now signs in at the engine itself, so that you know whether the connection works before pipes need it.'
          : 'For a ClickHouse engine that is already running. When it is registered, Penstock signs in and asks for its version, and you see here whether that worked.'
      }
      crumbs={[{ label: 'Services', to: `/o/${organizationId}/services` }]}
    >
      {serviceId ? (
        <FirstCheck organizationId={organizationId} serviceId={serviceId} />
      ) : (
        <RegisterForm
          organizationId={organizationId}
          onDone={({ result }) => navigate({ search: { service: result.id }, replace: true, ignoreBlocker: true })}
        />
      )}
    </Page>
  )
}
