import { Autocomplete, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import type { PrivateEndpoint, Service } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { organizationQuery } from '../api/queries.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'

const idTexts: Record<Service['provider'], { label: string; description: string; placeholder: string }> = {
  aws: {
    label: 'VPC endpoint id',
    description: 'As AWS shows it: vpce- and 8 or 17 hex digits.',
    placeholder: 'vpce-0a1b2c3d4e5f67890',
  },
  gcp: {
    label: 'PSC connection id',
    description: 'As Google Cloud shows it: decimal digits.',
    placeholder: '102600141743718403',
  },
  azure: {
    label: 'Private endpoint resource id',
    description: 'As Azure shows it: a resource id, or a uuid.',
    placeholder: '/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/privateEndpoints/…',
  },
}

export function AddPrivateEndpoint({
  organizationId,
  service,
  onCancel,
  onDone,
}: {
  organizationId: string
  service: Service
  onCancel: () => void
  onDone: (answer: Answer<PrivateEndpoint>) => void
}) {
  const organization = useQuery(organizationQuery(organizationId)).data?.result
  const [id, setId] = useState('')
  const [typedDescription, setDescription] = useState('')
  // An endpoint has one description per organization; the API refuses another.
  const known = organization?.privateEndpoints.find((endpoint) => endpoint.id === id)
  const description = known?.description ?? typedDescription
  const isAttached = service.privateEndpointIds.includes(id)
  const others = (organization?.privateEndpoints ?? []).filter(
    (endpoint) => endpoint.cloudProvider === service.provider && !service.privateEndpointIds.includes(endpoint.id),
  )
  const call: ApiCall<PrivateEndpoint> = (api) =>
    api.createPrivateEndpoint({ organizationId, serviceId: service.id }, { id, description })
  const change = useChange<PrivateEndpoint>({ organizationId, doneText: undefined, onDone })
  const error = change.errorOf(call)
  const texts = idTexts[service.provider]
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (id !== '' && !isAttached && !change.isSending) void change.send(call)
      }}
    >
      <Stack>
        <Autocomplete
          label={texts.label}
          description={texts.description}
          placeholder={texts.placeholder}
          required
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          value={id}
          // Pasted text often has a trailing space.
          onChange={(value) => setId(value.trim())}
          data={others.map((endpoint) => endpoint.id)}
          renderOption={({ option }) => (
            <Stack gap={0}>
              <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
                {option.value}
              </Text>
              <Text size="xs" c="dimmed">
                {others.find((endpoint) => endpoint.id === option.value)?.description || 'No description'}
              </Text>
            </Stack>
          )}
          error={fieldError(error, 'id')}
        />
        <TextInput
          label="Description"
          description={
            known
              ? 'The organization knows this endpoint already, with this description.'
              : 'For people: which network it is, for example.'
          }
          placeholder="Analytics VPC, production"
          autoComplete="off"
          value={description}
          readOnly={known !== undefined}
          onChange={({ currentTarget: { value } }) => setDescription(value)}
          error={fieldError(error, 'description')}
        />
        <ProblemNotice error={error} shownFields={['id', 'description']} />
        <ChangeBar
          call={call}
          label="Add private endpoint"
          isSending={change.isSending}
          isSubmit
          onCancel={onCancel}
          disabled={id === '' || isAttached}
          {...(isAttached ? { disabledReason: 'It is already attached to this service.' } : {})}
        />
      </Stack>
    </form>
  )
}
