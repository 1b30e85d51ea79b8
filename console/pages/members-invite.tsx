import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { InvitationWithLink } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import type { Role } from '../api/session.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { Dialog, useHoldOpen } from '../components/dialog.tsx'
import { exactTime } from '../components/exact-time.ts'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { roleChoices } from '../components/role.ts'
import { ShownOnce } from '../components/shown-once.tsx'

export function InviteModal({
  organizationId,
  opened,
  onClose,
}: {
  organizationId: string
  opened: boolean
  onClose: () => void
}) {
  const [made, setMade] = useState<InvitationWithLink>()
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      onExitTransitionEnd={() => setMade(undefined)}
      title={made ? `${made.email} is invited` : 'Invite somebody'}
      size="lg"
      centered
      // The link is shown only once, so a click outside must not close the dialog.
      closeOnClickOutside={!made}
      closeOnEscape={!made}
    >
      {made ? (
        <InvitationLink invitation={made} onClose={onClose} />
      ) : (
        <InviteForm organizationId={organizationId} onClose={onClose} onMade={setMade} />
      )}
    </Dialog>
  )
}

function InviteForm({
  organizationId,
  onClose,
  onMade,
}: {
  organizationId: string
  onClose: () => void
  onMade: (invitation: InvitationWithLink) => void
}) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const change = useChange<InvitationWithLink>({
    organizationId,
    doneText: undefined,
    onDone: ({ result }) => onMade(result),
  })
  useHoldOpen(change.isSending)
  const call: ApiCall<InvitationWithLink> = (api) =>
    api.createInvitation({ organizationId }, { email: email.trim(), role })
  const error = change.errorOf(call)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void change.send(call)
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Email"
          type="email"
          autoComplete="off"
          data-autofocus
          required
          withAsterisk={false}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fieldError(error, 'email')}
        />
        <Radio.Group
          label="Role"
          value={role}
          onChange={(value) => setRole(value as Role)}
          error={fieldError(error, 'role')}
        >
          <Stack gap="xs" mt={6}>
            {roleChoices.map(({ value, label, description }) => (
              <Radio key={value} value={value} label={label} description={description} />
            ))}
          </Stack>
        </Radio.Group>
        <ProblemNotice error={error} shownFields={['email', 'role']} title="Nobody was invited" />
        <ChangeBar
          call={call}
          label="Create invitation"
          isSending={change.isSending}
          isSubmit
          onCancel={onClose}
          disabled={email.trim() === ''}
        />
      </Stack>
    </form>
  )
}

function InvitationLink({ invitation, onClose }: { invitation: InvitationWithLink; onClose: () => void }) {
  return (
    <Stack>
      <ShownOnce title="Copy the link now: it is shown only once" values={{ 'Invitation link': invitation.link }}>
        <Text size="sm">
          Send it to {invitation.email} yourself, by a way that only they can read: whoever has the link can join as{' '}
          {invitation.role === 'admin' ? 'an admin' : 'a developer'}. Penstock sends no mail. It works once, until{' '}
          {exactTime(invitation.expireAt)}.
        </Text>
      </ShownOnce>
      <Group>
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}
