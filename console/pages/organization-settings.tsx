import { Code, Group, Stack, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import type { Organization, PrivateEndpoint } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { organizationQuery } from '../api/queries.ts'
import { sessionQuery, useIsAdmin } from '../api/session.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { providerNames } from '../components/cloud-provider.ts'
import { CopyIconButton, CopyText } from '../components/copy.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { exactTime } from '../components/exact-time.ts'
import { Facts, NotSet } from '../components/facts.tsx'
import { type Column, ListTable } from '../components/list-table.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { Outdated } from '../components/outdated.tsx'
import { Page } from '../components/page.tsx'
import { PageButton } from '../components/page-link.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'

export function OrganizationSettingsPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/settings' })
  const { data } = useQuery(organizationQuery(organizationId))
  return (
    <Page title="Organization" about="What everything here belongs to: members, API keys, services and pipes.">
      {data ? (
        <>
          <Section title="Name and id">
            <NameForm key={data.result.id} read={data} />
            <Facts
              facts={[
                {
                  label: 'Organization id',
                  about: 'Part of every address of the API.',
                  value: <CopyText text={data.result.id} label="organization id" />,
                },
                { label: 'Created', value: exactTime(data.result.createdAt) },
              ]}
            />
          </Section>
          <PrivateEndpoints endpoints={data.result.privateEndpoints} organizationId={organizationId} />
        </>
      ) : (
        <LoadingPage />
      )}
    </Page>
  )
}

function NameForm({ read }: { read: Answer<Organization> }) {
  const { id: organizationId } = read.result
  const isAdmin = useIsAdmin(organizationId)
  const queries = useQueryClient()
  // The version that the name is based on. Follows refetches while nothing is typed, then stays, so that a concurrent change by
  // another person is not overwritten.
  const [begun, setBegun] = useState(read)
  const [name, setName] = useState(read.result.name)
  const begin = (answer: Answer<Organization>) => {
    setBegun(answer)
    setName(answer.result.name)
  }
  const change = useChange<Organization>({
    organizationId,
    doneText: 'Name saved',
    onDone: async (answer) => {
      queries.setQueryData(organizationQuery(organizationId).queryKey, answer)
      begin(answer)
      // Every page shows the name in its header.
      await queries.invalidateQueries(sessionQuery)
    },
  })
  if (begun !== read && name === begun.result.name && !change.isSending) begin(read)
  const call: ApiCall<Organization> = (api) =>
    api.updateOrganization({ organizationId }, { name: name.trim() }, { ifMatch: begun.etag })
  const error = change.errorOf(call)
  const isOutdated = error?.code === 'version_mismatch'
  const loadAgain = async () => {
    setBegun(await queries.fetchQuery({ ...organizationQuery(organizationId), staleTime: 0 }))
    change.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void change.send(call)
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name"
          maw={420}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          disabled={!isAdmin}
          styles={isAdmin ? undefined : { input: { opacity: 1, color: 'var(--mantine-color-text)' } }}
          error={fieldError(error, 'name')}
        />
        {isOutdated ? (
          <Outdated thing="organization" onLoadAgain={loadAgain} />
        ) : (
          <ProblemNotice error={error} shownFields={['name']} />
        )}
        <Group>
          <ChangeBar
            call={call}
            label="Save name"
            isSending={change.isSending}
            isSubmit
            disabled={!isAdmin || name.trim() === '' || name.trim() === begun.result.name}
            disabledReason={isAdmin ? undefined : 'Only admins can change the name.'}
          />
        </Group>
      </Stack>
    </form>
  )
}

const endpointColumns: Column<PrivateEndpoint>[] = [
  {
    label: 'Endpoint id',
    width: '42%',
    cell: ({ id }) => (
      <Group gap={4} wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere' }}>{id}</Code>
        <CopyIconButton text={id} label="endpoint id" />
      </Group>
    ),
  },
  {
    label: 'Description',
    cell: ({ description }) =>
      description === '' ? <NotSet>None</NotSet> : <span style={{ overflowWrap: 'anywhere' }}>{description}</span>,
  },
  { label: 'Provider', width: 140, cell: ({ cloudProvider }) => providerNames[cloudProvider] },
  { label: 'Region', width: 140, cell: ({ region }) => region },
]

function PrivateEndpoints({ endpoints, organizationId }: { endpoints: PrivateEndpoint[]; organizationId: string }) {
  return (
    <Section
      title="Private endpoints"
      about="Ways into the services that do not cross the internet, of all services together. Each is added and detached at its service."
    >
      <ListTable
        caption="Private endpoints of the organization"
        items={endpoints}
        query={{
          isPending: false,
          hasNextPage: false,
          isFetchingNextPage: false,
          fetchNextPage: () => Promise.reject(new Error('all endpoints are in one answer')),
        }}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            title="No private endpoints"
            action={
              <PageButton to="/o/$organizationId/services" params={{ organizationId }} variant="default">
                To the services
              </PageButton>
            }
          >
            A private endpoint records which endpoint of your own cloud network belongs to a service. Open a service and
            its tab "Private endpoints" to add the first one.
          </EmptyState>
        }
        columns={endpointColumns}
      />
    </Section>
  )
}
