import { Autocomplete, Input, SegmentedControl, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import type { Service } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { useIsAdmin } from '../api/session.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { type Provider, providerNames, providers, usualRegions } from '../components/cloud-provider.ts'
import { LeaveQuestion } from '../components/leave-question.tsx'
import { PasswordField } from '../components/password-field.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'

const shownFields = ['name', 'provider', 'region', 'endpoint', 'endpoint/url', 'endpoint/username', 'endpoint/password']

export function RegisterForm({
  organizationId,
  onDone,
}: {
  organizationId: string
  onDone: (answer: Answer<Service>) => void | Promise<void>
}) {
  const isAdmin = useIsAdmin(organizationId)
  const providerId = useId()
  const [name, setName] = useState('')
  const [provider, setProvider] = useState<Provider>('aws')
  const [region, setRegion] = useState('')
  const [endpoint, setEndpoint] = useState({ url: '', username: '', password: '' })
  const call: ApiCall<Service> = (api) => api.createService({ organizationId }, { name, provider, region, endpoint })
  const change = useChange<Service>({ organizationId, doneText: `Service ${name} registered`, onDone })
  const error = change.errorOf(call)
  const errorAt = (field: string) => fieldError(error, field)
  const isComplete = [name, region, endpoint.url, endpoint.username].every((value) => value !== '')
  const isTyped = [name, region, ...Object.values(endpoint)].some((value) => value !== '')
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (isAdmin && isComplete && !change.isSending) void change.send(call)
      }}
    >
      <Stack gap="lg" maw={860}>
        <Section title="What it is">
          <TextInput
            label="Name"
            description="For people; it need not be unique."
            placeholder="analytics"
            required
            autoFocus
            autoComplete="off"
            maw={420}
            value={name}
            onChange={({ currentTarget: { value } }) => setName(value)}
            error={errorAt('name')}
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <Input.Wrapper
              label="Provider"
              labelElement="div"
              description="The cloud that the engine runs in."
              labelProps={{ id: providerId }}
              error={errorAt('provider')}
            >
              <SegmentedControl
                fullWidth
                mt={6}
                aria-labelledby={providerId}
                data={providers.map((value) => ({ value, label: providerNames[value] }))}
                value={provider}
                onChange={(value) => setProvider(value as Provider)}
              />
            </Input.Wrapper>
            <Autocomplete
              label="Region"
              description={`Of ${providerNames[provider]}; any name can be typed.`}
              placeholder={usualRegions[provider][0] ?? ''}
              required
              autoComplete="off"
              spellCheck={false}
              data={usualRegions[provider]}
              value={region}
              onChange={(value) => setRegion(value.trim())}
              error={errorAt('region')}
            />
          </SimpleGrid>
        </Section>
        <Section
          title="Connection"
          about="Penstock connects to the HTTP interface of the engine, from where Penstock runs. The password is stored sealed and never shown again."
        >
          <TextInput
            label="URL"
            description="http or https, the host, and the port unless it is 8123 or, with TLS, 8443."
            placeholder="https://clickhouse.example.com:8443"
            required
            inputMode="url"
            autoComplete="off"
            spellCheck={false}
            value={endpoint.url}
            onChange={({ currentTarget: { value } }) => setEndpoint({ ...endpoint, url: value.trim() })}
            error={errorAt('endpoint/url')}
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              label="User name"
              description="A user of the engine."
              placeholder="penstock"
              required
              autoComplete="off"
              spellCheck={false}
              value={endpoint.username}
              onChange={({ currentTarget: { value } }) => setEndpoint({ ...endpoint, username: value })}
              error={errorAt('endpoint/username')}
            />
            <PasswordField
              label="Password"
              description="Leave it empty if the user has none."
              autoComplete="new-password"
              value={endpoint.password}
              onChange={({ currentTarget: { value } }) => setEndpoint({ ...endpoint, password: value })}
              error={errorAt('endpoint/password')}
            />
          </SimpleGrid>
        </Section>
        <ProblemNotice error={error} shownFields={shownFields} />
        <ChangeBar
          call={call}
          label="Register and check"
          isSending={change.isSending}
          isSubmit
          disabled={!isAdmin || !isComplete}
          {...(isAdmin
            ? isComplete
              ? {}
              : { disabledReason: 'Name, region, URL and user name are needed.' }
            : { disabledReason: 'Only admins can register a service.' })}
        />
      </Stack>
      <LeaveQuestion isAsked={() => isTyped} title="Leave without registering the service?" label="Leave" />
    </form>
  )
}
