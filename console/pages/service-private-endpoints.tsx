import { Alert, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import type { PrivateEndpoint, Service } from '../../src/client/shapes.ts'
import { privateEndpointsQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { providerNames } from '../components/cloud-provider.ts'
import { Confirm } from '../components/confirm.tsx'
import { CopyIconButton } from '../components/copy.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { NotSet } from '../components/facts.tsx'
import { PlusIcon } from '../components/icons.tsx'
import { type Column, itemsOf, ListTable } from '../components/list-table.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { RowButton } from '../components/row-parts.tsx'
import { Section } from '../components/section.tsx'
import { AddPrivateEndpoint } from './service-add-private-endpoint.tsx'
import { HowToConnect } from './service-how-to-connect.tsx'

export function PrivateEndpoints({ organizationId, service }: { organizationId: string; service: Service }) {
  const isAdmin = useIsAdmin(organizationId)
  const query = useInfiniteQuery({
    ...privateEndpointsQuery(organizationId, service.id),
    // The other parts of the page stay visible.
    throwOnError: false,
  })
  const endpoints = itemsOf(query)
  const [isAdding, { open, close }] = useDisclosure(false)
  const [added, setAdded] = useState<Answer<PrivateEndpoint>>()
  const [leaving, setLeaving] = useState<PrivateEndpoint>()
  const [isDetaching, setDetaching] = useState(false)

  const reason = isAdmin ? undefined : 'Only admins can add a private endpoint'
  const addButton = (
    <ReasonButton reason={reason} leftSection={<PlusIcon size={16} />} onClick={open}>
      Add private endpoint
    </ReasonButton>
  )
  const columns = useMemo(
    () =>
      columnsFor(isAdmin, (endpoint) => {
        setLeaving(endpoint)
        setDetaching(true)
      }),
    [isAdmin],
  )
  return (
    <Stack gap="lg">
      {added && <Added answer={added} onClose={() => setAdded(undefined)} />}
      <Section
        title="Attached private endpoints"
        about="Endpoints of your own networks that lead to this service. Penstock keeps their ids, so that it is known who may come in."
        actions={endpoints.length > 0 && addButton}
      >
        <ListTable
          caption={`Private endpoints of the service ${service.name}`}
          items={endpoints}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          empty={
            query.error ? (
              <ReadProblem error={query.error} title="The private endpoints could not be read" />
            ) : (
              <EmptyState title="No private endpoints yet" action={addButton}>
                A private endpoint lets one of your networks reach the engine without going over the internet. Make one
                at {providerNames[service.provider]}, then add here the id that it was given. The steps are below.
              </EmptyState>
            )
          }
        />
      </Section>
      <HowToConnect organizationId={organizationId} service={service} />
      <Modal opened={isAdding} onClose={close} title={`Add a private endpoint to ${service.name}`} centered size="lg">
        <AddPrivateEndpoint
          organizationId={organizationId}
          service={service}
          onCancel={close}
          onDone={(answer) => {
            setAdded(answer)
            close()
          }}
        />
      </Modal>
      {leaving && (
        <Confirm
          organizationId={organizationId}
          title={`Detach ${leaving.description || leaving.id}?`}
          label="Detach private endpoint"
          doneText={`Private endpoint ${leaving.description || leaving.id} detached`}
          call={(api) =>
            api.deletePrivateEndpoint({ organizationId, serviceId: service.id, privateEndpointId: leaving.id })
          }
          opened={isDetaching}
          onClose={() => setDetaching(false)}
          onDone={() => {
            if (added?.result.id === leaving.id) setAdded(undefined)
          }}
        >
          <Code className="wrapping-code">{leaving.id}</Code> no longer belongs to the service {service.name}. Other
          services that use it keep it; when none does, it leaves the organization. The endpoint itself stays at{' '}
          {providerNames[leaving.cloudProvider]} until you delete it there.
        </Confirm>
      )}
    </Stack>
  )
}

function columnsFor(isAdmin: boolean, detach: (endpoint: PrivateEndpoint) => void): Column<PrivateEndpoint>[] {
  return [
    { label: 'Endpoint id', cell: ({ id }) => <EndpointId id={id} /> },
    {
      label: 'Description',
      cell: ({ description }) => (
        <span style={{ overflowWrap: 'anywhere' }}>{description || <NotSet>None</NotSet>}</span>
      ),
    },
    {
      label: 'Provider and region',
      cell: ({ cloudProvider, region }) => `${providerNames[cloudProvider]} ${region}`,
    },
    {
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (endpoint) => (
        <RowButton
          label={`Detach ${endpoint.id}`}
          reason={isAdmin ? undefined : 'Only admins can detach a private endpoint'}
          isDanger
          onClick={() => detach(endpoint)}
        >
          Detach
        </RowButton>
      ),
    },
  ]
}

/** Azure ids are long and differ at the end, so they are not shortened. */
function EndpointId({ id }: { id: string }) {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Code className="wrapping-code">{id}</Code>
      <CopyIconButton text={id} label="endpoint id" />
    </Group>
  )
}

function Added({ answer: { result, warning }, onClose }: { answer: Answer<PrivateEndpoint>; onClose: () => void }) {
  return (
    <Alert
      color={warning ? 'orange' : 'green'}
      variant="light"
      title={warning ? 'The private endpoint was added, with a warning' : 'The private endpoint was added'}
      role="status"
      withCloseButton
      closeButtonLabel="Close this message"
      onClose={onClose}
    >
      <Stack gap={4}>
        {warning ? (
          <>
            <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
              {warning}
            </Text>
            <Text size="sm">If that is a mistake, detach it and add the right one.</Text>
          </>
        ) : (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {result.id} is attached to this service.
          </Text>
        )}
      </Stack>
    </Alert>
  )
}
