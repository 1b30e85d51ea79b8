// The person's account, the same in every organization. Not part of the API, which has members and keys only.
import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useAction } from '../api/action.ts'
import { fieldError } from '../api/change.ts'
import { notifyDone } from '../api/done-notices.ts'
import { account, type SignedInSession, sessionQuery, useSignedIn } from '../api/session.ts'
import { Page } from '../components/page.tsx'
import { PasswordField } from '../components/password-field.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'
import { OpenSessions } from './account-sessions.tsx'

export function AccountPage() {
  return (
    <Page title="Account" about="Yours alone, and the same in every organization that you belong to.">
      <ProfileSection />
      <PasswordSection />
      <OpenSessions />
    </Page>
  )
}

/** Refetches the person. A failed refetch does not undo a change and must not be reported as a failed change. */
function useSessionRefresh() {
  const queries = useQueryClient()
  return () => queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
}

function ProfileSection() {
  const { user } = useSignedIn()
  const refresh = useSessionRefresh()
  const queries = useQueryClient()
  const [name, setName] = useState(user.name)
  const { start, isBusy, error, touch } = useAction(async () => {
    await account.update({ name: name.trim() })
    await refresh()
    // Member lists show the name too.
    await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    notifyDone('Name saved')
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void start()
  }
  return (
    <Section title="Profile">
      <form onSubmit={submit}>
        <Stack maw={420}>
          <TextInput
            label="Name"
            description="As the other members see it."
            autoComplete="name"
            value={name}
            onChange={(event) => {
              touch('name')
              setName(event.currentTarget.value)
            }}
            error={fieldError(error, 'name')}
          />
          <TextInput
            label="Email"
            description="You sign in with it. It cannot be changed here."
            value={user.email}
            readOnly
            variant="filled"
          />
          <ProblemNotice error={error} shownFields={['name']} />
          <Group>
            <Button type="submit" loading={isBusy} disabled={name.trim() === '' || name.trim() === user.name}>
              Save name
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

function aboutPassword({ user: { hasPassword, mayReplacePassword }, methods }: SignedInSession): string {
  if (!hasPassword) {
    const purpose = methods.oidc
      ? `You have none. With a password you can also sign in without ${methods.oidc.name}.`
      : 'You have none yet. With a password you can sign in again when this session has ended.'
    const isTooLate = 'To set one, sign out and sign in again: it is set within 15 minutes after that.'
    return mayReplacePassword ? purpose : `${purpose} ${isTooLate}`
  }
  const consequence = 'Changing it signs you out everywhere else; here you stay signed in.'
  if (!mayReplacePassword) return consequence
  return `${consequence} You came by a sign-in link: for 15 minutes after that, your current password is not needed.`
}

function PasswordSection() {
  const session = useSignedIn()
  const { user } = session
  const { hasPassword } = user
  const needsPresent = hasPassword && !user.mayReplacePassword
  const refresh = useSessionRefresh()
  const queries = useQueryClient()
  const [currentPassword, setCurrentPassword] = useState('')
  const [newPassword, setNewPassword] = useState('')
  const { start, isBusy, error, touch } = useAction(async () => {
    try {
      await account.changePassword({ newPassword, ...(needsPresent ? { currentPassword } : {}) })
    } catch (refusal) {
      // The time without the current password may be over: then its field must appear.
      await refresh()
      throw refusal
    }
    setCurrentPassword('')
    setNewPassword('')
    notifyDone('Password set')
    await refresh()
    await queries.invalidateQueries({ queryKey: ['sessions'] })
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void start()
  }
  return (
    <Section title="Password" about={aboutPassword(session)}>
      <form hidden={!hasPassword && !user.mayReplacePassword} onSubmit={submit}>
        <Stack maw={420}>
          {/* Gives password managers the user name. */}
          <input
            className="visually-hidden"
            name="email"
            autoComplete="username"
            value={user.email}
            readOnly
            tabIndex={-1}
            aria-hidden
          />
          {needsPresent && (
            <PasswordField
              label="Current password"
              autoComplete="current-password"
              value={currentPassword}
              onChange={(event) => {
                touch('currentPassword')
                setCurrentPassword(event.currentTarget.value)
              }}
              error={fieldError(error, 'currentPassword') ?? error?.code === 'wrong_password'}
            />
          )}
          <PasswordField
            label="New password"
            description="At least 12 characters; a few words are easy to remember."
            autoComplete="new-password"
            value={newPassword}
            onChange={(event) => {
              touch('newPassword')
              setNewPassword(event.currentTarget.value)
            }}
            error={fieldError(error, 'newPassword')}
          />
          <ProblemNotice error={error} shownFields={['currentPassword', 'newPassword']} title="Password not changed" />
          <Group>
            <Button
              type="submit"
              loading={isBusy}
              disabled={newPassword === '' || (needsPresent && currentPassword === '')}
            >
              {hasPassword ? 'Change password' : 'Set password'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}
