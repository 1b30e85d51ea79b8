import { Group, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import type { Answer } from '../../src/client/caller.ts'
import type { Service } from '../../src/client/shapes.ts'
import { useIsAdmin } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { TrashIcon } from '../components/icons.tsx'
import { LeaveQuestion } from '../components/leave-question.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { Section } from '../components/section.tsx'
import { ConnectionForm } from './service-connection-form.tsx'
import { type ServiceEdit, ServiceForm, useServiceEdit, withField } from './service-edit.tsx'
import { IpAccessForm } from './service-ip-access-form.tsx'

export function ServiceSettings({ organizationId, live }: { organizationId: string; live: Answer<Service> }) {
  const edit = useServiceEdit(organizationId, live)
  return (
    <Stack gap="lg" maw={860}>
      <NameForm edit={edit} />
      <ConnectionForm edit={edit} />
      <IpAccessForm edit={edit} />
      <DeleteService organizationId={organizationId} live={live} />
      <LeaveQuestion isAsked={() => Object.keys(edit.draft).length > 0} />
    </Stack>
  )
}

function NameForm({ edit }: { edit: ServiceEdit }) {
  const { draft, setDraft } = edit
  const present = edit.base.result.name
  return (
    <ServiceForm
      edit={edit}
      title="Name"
      about="For people; it need not be unique."
      fields={['name']}
      patch={{ name: draft.name ?? present }}
      changes={draft.name === undefined ? [] : [{ field: 'name', from: present, to: draft.name }]}
      isComplete={draft.name !== ''}
      label="Save name"
      shownFields={['name']}
    >
      {(errorAt) => (
        <TextInput
          label="Name"
          required
          autoComplete="off"
          maw={420}
          value={draft.name ?? present}
          onChange={({ currentTarget: { value } }) => setDraft(withField(draft, 'name', value, present))}
          error={errorAt('name')}
        />
      )}
    </ServiceForm>
  )
}

function DeleteService({ organizationId, live }: { organizationId: string; live: Answer<Service> }) {
  const { id: serviceId, name } = live.result
  const isAdmin = useIsAdmin(organizationId)
  const navigate = useNavigate()
  const [isOpen, { open, close }] = useDisclosure(false)
  return (
    <Section
      title="Delete this service"
      about="Takes the service out of Penstock; the engine and its data are left alone. A service with pipes cannot be deleted: delete its pipes first."
    >
      <Group>
        <ReasonButton
          reason={isAdmin ? undefined : 'Only admins can delete a service'}
          color="red"
          variant="outline"
          leftSection={<TrashIcon size={16} />}
          onClick={open}
        >
          Delete service
        </ReasonButton>
      </Group>
      <Confirm
        organizationId={organizationId}
        title={`Delete the service ${name}?`}
        label="Delete service"
        doneText={`Service ${name} deleted`}
        call={(api) => api.deleteService({ organizationId, serviceId }, { ifMatch: live.etag })}
        typeToConfirm={name}
        opened={isOpen}
        onClose={close}
        onDone={() => navigate({ to: '/o/$organizationId/services', params: { organizationId }, ignoreBlocker: true })}
      >
        Penstock forgets the connection with its password and the IP access list. Its private endpoints are detached,
        and those that no other service uses leave the organization. The engine and its data are left alone. This cannot
        be undone.
      </Confirm>
    </Section>
  )
}
