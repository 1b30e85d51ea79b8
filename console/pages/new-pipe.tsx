import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useRef } from 'react'
import type { Service } from '../../src/client/shapes.ts'
import { allServicesQuery } from '../api/queries.ts'
import { LoadingPage } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { NewPipeForm } from './new-pipe-form.tsx'
import { NoService } from './pipes-empty.tsx'

export function NewPipePage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/pipes/new' })
  return <NewPipe key={organizationId} organizationId={organizationId} />
}

function NewPipe({ organizationId }: { organizationId: string }) {
  const { data, error } = useQuery(allServicesQuery(organizationId))
  const known = useRef<Service[]>(undefined)
  // Once services were loaded, the form stays open with its input, even if they are deleted.
  if (data && (data.length > 0 || !known.current)) known.current = data
  const services = known.current
  return (
    <Page
      title="New pipe"
      about="A pipe moves data from a source into tables of a service. Nothing is created before the last step, where you see exactly what will be sent."
      crumbs={[{ label: 'Pipes', to: `/o/${organizationId}/pipes` }]}
    >
      {services ? (
        services.length > 0 ? (
          <NewPipeForm organizationId={organizationId} services={services} />
        ) : (
          <NoService organizationId={organizationId} />
        )
      ) : error ? (
        <ReadProblem error={error} title="The services cannot be read" />
      ) : (
        <LoadingPage />
      )}
    </Page>
  )
}
