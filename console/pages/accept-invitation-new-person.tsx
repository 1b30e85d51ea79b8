import { Button, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { useAction } from '../api/action.ts'
import { fieldError } from '../api/change.ts'
import type { InvitationLook } from '../api/session.ts'
import { PasswordField } from '../components/password-field.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'

export interface NextStepProps {
  invitation: InvitationLook
  accept: (person?: { name: string; password: string }) => void
  acceptance: Pick<ReturnType<typeof useAction>, 'isBusy' | 'error' | 'touch'>
}

/** Creates an account with the invitation. */
export function NewPersonForm({
  invitation,
  accept,
  acceptance: { isBusy, error, touch },
  submitLabel,
}: NextStepProps & { submitLabel: string }) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    accept({ name: name.trim(), password })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {/* Gives password managers the user name. */}
        <input
          className="visually-hidden"
          name="email"
          autoComplete="username"
          value={invitation.email}
          readOnly
          tabIndex={-1}
          aria-hidden
        />
        <TextInput
          label="Your name"
          description="As the other members see it."
          name="name"
          autoComplete="name"
          autoFocus
          required
          withAsterisk={false}
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value)
            touch('name')
          }}
          error={fieldError(error, 'name')}
        />
        <PasswordField
          label="Password"
          description="At least 12 characters; a few words are easy to remember."
          name="password"
          autoComplete="new-password"
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => {
            setPassword(event.currentTarget.value)
            touch('password')
          }}
          error={fieldError(error, 'password')}
        />
        <ProblemNotice error={error} shownFields={['name', 'password']} title="You have not joined" />
        <Button type="submit" loading={isBusy} fullWidth>
          {submitLabel}
        </Button>
      </Stack>
    </form>
  )
}
