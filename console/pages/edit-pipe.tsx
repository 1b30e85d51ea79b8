import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { pipeQuery, serviceQuery } from '../api/queries.ts'
import { LoadingPage } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { kindLabel } from '../components/pipe-fields.ts'
import { EditPipeForm } from './edit-pipe-form.tsx'

const address = '/signed-in/o/$organizationId/services/$serviceId/pipes/$pipeId/edit'

export function EditPipePage() {
  const { organizationId, serviceId, pipeId } = useParams({ from: address })
  const pipeRead = useQuery(pipeQuery(organizationId, serviceId, pipeId))
  const serviceRead = useQuery(serviceQuery(organizationId, serviceId))
  if (!pipeRead.data || !serviceRead.data) return <LoadingPage />
  const pipe = pipeRead.data.result
  const service = serviceRead.data.result
  const servicePage = `/o/${organizationId}/services/${serviceId}`
  return (
    <Page
      title={`Edit ${pipe.name}`}
      crumbs={[
        { label: 'Pipes', to: `/o/${organizationId}/pipes` },
        { label: service.name, to: servicePage },
        { label: pipe.name, to: `${servicePage}/pipes/${pipeId}` },
      ]}
      about={`${kindLabel(pipe)} pipe of the service ${service.name}. Only what you change is sent. A running pipe stays running.`}
    >
      <EditPipeForm key={pipeId} organizationId={organizationId} live={pipeRead.data} />
    </Page>
  )
}
