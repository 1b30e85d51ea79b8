import { Button, Group, Paper, Stack, TextInput } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Key, KeyCreate, KeyWithSecret } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { useIsAdmin } from '../api/session.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { ExpiryInput } from '../components/expiry-input.tsx'
import { type IpAccessRow, IpAccessRows, ipAccessFields, listOf } from '../components/ip-access-rows.tsx'
import { KeyRoleInput } from '../components/key-role-input.tsx'
import { KeySecret } from '../components/key-secret.tsx'
import { LeaveQuestion } from '../components/leave-question.tsx'
import { Page } from '../components/page.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'

export function NewKeyPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/keys/new' })
  const [made, setMade] = useState<KeyWithSecret>()
  const crumbs = [{ label: 'API keys', to: `/o/${organizationId}/keys` }]
  if (made) {
    return (
      <Page title={`Key “${made.key.name}” was created`} crumbs={crumbs}>
        <Stack maw={720}>
          <KeySecret organizationId={organizationId} made={made} />
          <Group>
            <Button component={Link} to={`/o/${organizationId}/keys`} ignoreBlocker>
              I've saved the secret
            </Button>
            <Button component={Link} to={`/o/${organizationId}/keys/${made.key.id}`} variant="default">
              Open the key
            </Button>
          </Group>
        </Stack>
        <LeaveQuestion isAsked={() => true} title="Have you saved the secret?" label="Leave">
          It is not shown again: when you leave without it, the key must be rotated before it can be used.
        </LeaveQuestion>
      </Page>
    )
  }
  return (
    <Page
      title="Create an API key"
      about="One key per program: then each can be rotated, limited and disabled separately."
      crumbs={crumbs}
    >
      <NewKeyForm organizationId={organizationId} onMade={setMade} />
    </Page>
  )
}

function NewKeyForm({ organizationId, onMade }: { organizationId: string; onMade: (made: KeyWithSecret) => void }) {
  const isAdmin = useIsAdmin(organizationId)
  const [name, setName] = useState('')
  const [role, setRole] = useState<Key['roles'][number]>('developer')
  const [expireAt, setExpireAt] = useState<string | null>(null)
  const [rows, setRows] = useState<IpAccessRow[]>([])
  const change = useChange<KeyWithSecret>({
    organizationId,
    doneText: undefined,
    onDone: ({ result }) => onMade(result),
  })
  const body: KeyCreate = {
    name: name.trim(),
    roles: [role],
    ...(expireAt === null ? {} : { expireAt }),
    ...(rows.length === 0 ? {} : { ipAccessList: listOf(rows) }),
  }
  const isTyped = name !== '' || role !== 'developer' || expireAt !== null || rows.length > 0
  const call: ApiCall<KeyWithSecret> = (api) => api.createKey({ organizationId }, body)
  const error = change.errorOf(call)
  return (
    <Paper
      withBorder
      p="lg"
      maw={720}
      component="form"
      onSubmit={(event) => {
        event.preventDefault()
        void change.send(call)
      }}
    >
      <Stack gap="lg">
        <TextInput
          label="Name"
          description="What the key is for, so that others know what stops when it does."
          placeholder="Nightly deployment"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fieldError(error, 'name')}
          required
          disabled={!isAdmin}
          autoComplete="off"
        />
        <KeyRoleInput value={role} onChange={setRole} error={fieldError(error, 'roles')} disabled={!isAdmin} />
        <ExpiryInput
          value={expireAt}
          onChange={setExpireAt}
          error={fieldError(error, 'expireAt')}
          disabled={!isAdmin}
        />
        <IpAccessRows
          rows={rows}
          onChange={setRows}
          error={error}
          disabled={!isAdmin}
          whenEmpty="The key can be used from everywhere. Add a source to let it in only from there."
        />
        <ProblemNotice error={error} shownFields={['name', 'roles', 'expireAt', ...ipAccessFields(rows)]} />
        <ChangeBar
          call={call}
          label="Create key"
          isSending={change.isSending}
          disabled={!isAdmin || body.name === ''}
          disabledReason={isAdmin ? 'The key needs a name.' : 'Only admins can create keys.'}
          isSubmit
        />
      </Stack>
      <LeaveQuestion isAsked={() => isTyped} title="Leave without creating the key?" label="Leave" />
    </Paper>
  )
}
