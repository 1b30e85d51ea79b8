// Form to change a key. Shows the exact change and sends only that.
import { Input, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
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
import { LeaveQuestion } from '../components/leave-question.tsx'
import { Outdated } from '../components/outdated.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'

interface Draft {
  name: string
  role: Key['roles'][number]
  expireAt: string | null
  rows: IpAccessRow[]
}

/** The version that the draft is based on: the change is sent with its ETag. */
interface Base {
  key: Key
  etag: string | undefined
  draft: Draft
}

function baseOf(key: Key, etag: string | undefined): Base {
  const { name, roles, expireAt, ipAccessList } = key
  return { key, etag, draft: { name, role: roles[0]!, expireAt, rows: rowsOf(ipAccessList) } }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

function patchOf(key: Key, { name, role, expireAt, rows }: Draft): KeyPatch {
  const after = { name: name.trim(), roles: [role], expireAt, ipAccessList: listOf(rows) }
  const changed = Object.entries(after).filter(([field, value]) => !isSame(value, key[field as keyof typeof after]))
  return Object.fromEntries(changed)
}

/** Keeps fields that differ from `before`; all others follow `after`. */
function rebased(draft: Draft, before: Draft, after: Draft): Draft {
  const isList = (rows: IpAccessRow[]) => isSame(listOf(draft.rows), listOf(rows))
  return {
    name: draft.name === before.name ? after.name : draft.name,
    role: draft.role === before.role ? after.role : draft.role,
    expireAt: draft.expireAt === before.expireAt ? after.expireAt : draft.expireAt,
    rows: isList(before.rows) && !isList(after.rows) ? after.rows : draft.rows,
  }
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
  // Key of the expiry input, to reset its choice with the form.
  const [begun, setBegun] = useState(0)
  const queries = useQueryClient()
  const begin = (next: Base, nextDraft = next.draft) => {
    setBase(next)
    setDraft(nextDraft)
    if (nextDraft.expireAt === next.draft.expireAt) setBegun((times) => times + 1)
  }
  const sent = useRef(draft)
  const change = useChange<Key>({
    organizationId,
    doneText: `Key ${draft.name} saved`,
    onDone: (answer) => {
      queries.setQueryData(keyQuery(organizationId, base.key.id).queryKey, answer)
      // More may have been typed while the request was sent.
      const next = baseOf(answer.result, answer.etag)
      begin(next, rebased(draft, sent.current, next.draft))
    },
  })
  const patch = patchOf(base.key, draft)
  const isChanged = Object.keys(patch).length > 0
  const isBehind = etag !== base.etag && !change.isSending
  // Concurrent changes, by another person or another button of this page, are taken over at once, unless they affect a field of
  // the draft: those need a decision.
  const hasConflict = !isSame(pick(base.key, patch), pick(apiKey, patch))
  if (isBehind && !hasConflict) {
    const next = baseOf(apiKey, etag)
    begin(next, rebased(draft, base.draft, next.draft))
  }
  const isOutdated = change.error?.code === 'version_mismatch' || (isBehind && hasConflict)

  const call: ApiCall<Key> = (api) =>
    api.updateKey({ organizationId, keyId: base.key.id }, patch, { ifMatch: base.etag })
  const error = change.errorOf(call)
  const edit = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const cancel = () => {
    change.reset()
    begin(base)
  }
  const loadAgain = async () => {
    const { result, etag } = await queries.fetchQuery({ ...keyQuery(organizationId, base.key.id), staleTime: 0 })
    const next = baseOf(result, etag)
    change.reset()
    begin(next, rebased(draft, base.draft, next.draft))
  }
  return (
    <Section title="Change this key" about="Changes apply from the next request with the key.">
      <Stack
        gap="lg"
        component="form"
        maw={720}
        onSubmit={(event: React.FormEvent) => {
          event.preventDefault()
          if (!isChanged || isOutdated || change.isSending) return
          sent.current = draft
          void change.send(call)
        }}
      >
        <TextInput
          label="Name"
          value={draft.name}
          onChange={(event) => edit({ name: event.currentTarget.value })}
          error={fieldError(error, 'name')}
          required
          disabled={!isAdmin}
          autoComplete="off"
        />
        <KeyRoleInput
          value={draft.role}
          onChange={(role) => edit({ role })}
          error={fieldError(error, 'roles')}
          disabled={!isAdmin}
        />
        <ExpiryInput
          key={begun}
          present={base.key.expireAt}
          value={draft.expireAt}
          onChange={(expireAt) => edit({ expireAt })}
          error={fieldError(error, 'expireAt')}
          disabled={!isAdmin}
        />
        <IpAccessRows
          rows={draft.rows}
          onChange={(rows) => edit({ rows })}
          error={error}
          disabled={!isAdmin}
          whenEmpty="The key can be used from everywhere. Add a source to let it in only from there."
        />
        {isChanged && (
          <Stack gap="xs">
            <Input.Label labelElement="div">What will change</Input.Label>
            <DiffTable changes={changesBetween(pick(base.key, patch), patch)} />
          </Stack>
        )}
        {isOutdated ? (
          <Outdated thing="key" onLoadAgain={loadAgain} />
        ) : (
          <ProblemNotice error={error} shownFields={['name', 'roles', 'expireAt', ...ipAccessFields(draft.rows)]} />
        )}
        <ChangeBar
          call={call}
          label="Save changes"
          isSending={change.isSending}
          onCancel={isChanged ? cancel : undefined}
          disabled={!isAdmin || !isChanged || isOutdated || draft.name.trim() === ''}
          disabledReason={
            !isAdmin
              ? 'Only admins can change keys.'
              : !isChanged
                ? 'Nothing is changed yet.'
                : isOutdated
                  ? 'Load the new version first.'
                  : 'The key needs a name.'
          }
          isSubmit
          isNothingChanged={!isChanged}
        />
      </Stack>
      <LeaveQuestion isAsked={() => isChanged} />
    </Section>
  )
}

function pick(key: Key, patch: KeyPatch): Partial<Key> {
  return Object.fromEntries(Object.keys(patch).map((field) => [field, key[field as keyof Key]]))
}
