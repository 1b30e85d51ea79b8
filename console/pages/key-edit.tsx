// The form that changes a key. It shows the exact change before it is sent, and sends only that.
import { Alert, Button, Group, Input, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Key, KeyPatch } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { keyQuery } from '../api/queries.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { DiffTable } from '../components/diff.tsx'
import { ExpiryInput } from '../components/expiry-input.tsx'
import { changesBetween } from '../components/field-changes.ts'
import { type IpAccessRow, IpAccessRows, ipAccessFields, listOf, rowsOf } from '../components/ip-access-rows.tsx'
import { KeyRoleInput } from '../components/key-role-input.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'

interface Draft {
  name: string
  role: Key['roles'][number]
  expireAt: string | null
  rows: IpAccessRow[]
}

/** What the person began with: a change is sent only if the key is still that. */
interface Base {
  key: Key
  etag: string | undefined
  draft: Draft
}

function baseOf(key: Key, etag: string | undefined): Base {
  const { name, roles, expireAt, ipAccessList } = key
  return { key, etag, draft: { name, role: roles[0]!, expireAt, rows: rowsOf(ipAccessList) } }
}

function patchOf(key: Key, { name, role, expireAt, rows }: Draft): KeyPatch {
  const after = { name: name.trim(), roles: [role], expireAt, ipAccessList: listOf(rows) }
  const changed = Object.entries(after).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(key[field as keyof typeof after]),
  )
  return Object.fromEntries(changed)
}

export function EditKey({
  organizationId,
  apiKey,
  etag,
  isAdmin,
}: {
  organizationId: string
  apiKey: Key
  etag: string | undefined
  isAdmin: boolean
}) {
  const [base, setBase] = useState(() => baseOf(apiKey, etag))
  const [draft, setDraft] = useState(base.draft)
  // The field of the expiry remembers how it was chosen, until the form begins again.
  const [begun, setBegun] = useState(0)
  const queries = useQueryClient()
  const begin = (next: Base) => {
    setBase(next)
    setDraft(next.draft)
    setBegun((times) => times + 1)
  }
  const change = useChange<Key>({
    organizationId,
    onDone: ({ result, etag }) => begin(baseOf(result, etag)),
  })
  const patch = patchOf(base.key, draft)
  const isChanged = Object.keys(patch).length > 0
  // Another's change is taken over at once, unless something was typed that would be lost.
  if (etag !== base.etag && !isChanged && !change.isSending) begin(baseOf(apiKey, etag))

  const call: ApiCall<Key> = (api) =>
    api.updateKey({ organizationId, keyId: base.key.id }, patch, { ifMatch: base.etag })
  const edit = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const cancel = () => {
    change.reset()
    begin(base)
  }
  const loadAgain = async () => {
    const { result, etag } = await queries.fetchQuery({ ...keyQuery(organizationId, base.key.id), staleTime: 0 })
    change.reset()
    begin(baseOf(result, etag))
  }
  return (
    <Section title="Change this key" about="Changes hold from the next request on that is made with the key.">
      <Stack
        gap="lg"
        component="form"
        maw={720}
        onSubmit={(event: React.FormEvent) => {
          event.preventDefault()
          if (isChanged) void change.send(call)
        }}
      >
        <TextInput
          label="Name"
          value={draft.name}
          onChange={(event) => edit({ name: event.currentTarget.value })}
          error={fieldError(change.error, 'name')}
          required
          disabled={!isAdmin}
          autoComplete="off"
        />
        <KeyRoleInput
          value={draft.role}
          onChange={(role) => edit({ role })}
          error={fieldError(change.error, 'roles')}
          disabled={!isAdmin}
        />
        <ExpiryInput
          key={begun}
          present={base.key.expireAt}
          value={draft.expireAt}
          onChange={(expireAt) => edit({ expireAt })}
          error={fieldError(change.error, 'expireAt')}
          disabled={!isAdmin}
        />
        <IpAccessRows
          rows={draft.rows}
          onChange={(rows) => edit({ rows })}
          error={change.error}
          disabled={!isAdmin}
          whenEmpty="The key can be used from everywhere. Add a source to let it in only from there."
        />
        {isChanged && (
          <Stack gap="xs">
            <Input.Label labelElement="div">What will change</Input.Label>
            <DiffTable changes={changesBetween(pick(base.key, patch), patch)} />
          </Stack>
        )}
        {change.error?.code === 'version_mismatch' ? (
          <Alert color="orange" variant="light" title="Somebody else has changed this key meanwhile" role="alert">
            <Stack gap="sm">
              <Text size="sm">
                Nothing was saved, so that nothing of theirs is lost. Load the key again, then make your change once
                more.
              </Text>
              <Group>
                <Button size="xs" variant="default" onClick={() => void loadAgain()}>
                  Load the key again
                </Button>
              </Group>
            </Stack>
          </Alert>
        ) : (
          <ProblemNotice
            error={change.error}
            shownFields={['name', 'roles', 'expireAt', ...ipAccessFields(draft.rows)]}
          />
        )}
        <ChangeBar
          call={call}
          label="Save changes"
          isSending={change.isSending}
          onCancel={isChanged ? cancel : undefined}
          disabled={!isAdmin || !isChanged || draft.name.trim() === ''}
          disabledReason={
            isAdmin ? (isChanged ? 'The key needs a name.' : 'Nothing is changed yet.') : 'Only admins can change keys.'
          }
          isSubmit
        />
      </Stack>
    </Section>
  )
}

function pick(key: Key, patch: KeyPatch): Partial<Key> {
  return Object.fromEntries(Object.keys(patch).map((field) => [field, key[field as keyof Key]]))
}
