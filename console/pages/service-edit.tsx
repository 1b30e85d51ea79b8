// State of the forms that change a service. The input is kept separate from the service, shown as the exact change, and sent
// with the version that it is based on.
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import type { Service, ServicePatch } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { serviceQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { DiffTable } from '../components/diff.tsx'
import type { FieldChange } from '../components/field-changes.ts'
import { Outdated } from '../components/outdated.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'

export interface ServiceDraft {
  name?: string
  url?: string
  username?: string
  /** If set, even to an empty text, it replaces the stored password. */
  password?: string
  removedSources?: string[]
  addedSources?: { source: string; description: string }[]
}

/** Shared by all forms of a page, so that saving one does not make the others outdated. */
export interface ServiceEdit {
  organizationId: string
  /** The version that the draft is based on. Follows refetches while nothing is typed, then stays. */
  base: Answer<Service>
  draft: ServiceDraft
  setDraft: (draft: ServiceDraft) => void
  drop: (fields: (keyof ServiceDraft)[]) => void
  saved: (answer: Answer<Service>) => void
  /** Refetches the service and keeps the input. */
  reload: () => Promise<void>
}

export function useServiceEdit(organizationId: string, live: Answer<Service>): ServiceEdit {
  const queries = useQueryClient()
  const [draft, setDraft] = useState<ServiceDraft>({})
  const [base, setBase] = useState(live)
  if (base !== live && Object.keys(draft).length === 0) setBase(live)
  const query = serviceQuery(organizationId, live.result.id)
  return {
    organizationId,
    base,
    draft,
    setDraft,
    drop: (fields) =>
      setDraft((present) => {
        const rest = { ...present }
        for (const field of fields) delete rest[field]
        return rest
      }),
    saved: (answer) => {
      queries.setQueryData(query.queryKey, answer)
      setBase(answer)
    },
    reload: async () => setBase(await queries.fetchQuery({ ...query, staleTime: 0 })),
  }
}

/** Sets a field of the draft, or removes it when it equals the service's value. */
export function withField<Name extends keyof ServiceDraft>(
  draft: ServiceDraft,
  name: Name,
  value: ServiceDraft[Name],
  present?: ServiceDraft[Name],
): ServiceDraft {
  const { [name]: _, ...rest } = draft
  return value === undefined || value === present ? rest : { ...rest, [name]: value }
}

export function ServiceForm({
  edit,
  title,
  about,
  fields,
  patch,
  changes,
  isComplete = true,
  label,
  shownFields,
  onDone,
  children,
}: {
  edit: ServiceEdit
  title: string
  about: ReactNode
  /** Draft fields of this form. */
  fields: (keyof ServiceDraft)[]
  patch: ServicePatch
  changes: FieldChange[]
  isComplete?: boolean
  label: string
  /** Fields whose errors `children` show. */
  shownFields: string[]
  onDone?: () => void
  children: (errorAt: (field: string) => string | undefined) => ReactNode
}) {
  const { organizationId, base } = edit
  const isAdmin = useIsAdmin(organizationId)
  const titleId = useId()
  const call: ApiCall<Service> = (api) =>
    api.updateService({ organizationId, serviceId: base.result.id }, patch, { ifMatch: base.etag })
  const change = useChange<Service>({
    organizationId,
    doneText: `Service ${patch.name ?? base.result.name} saved`,
    onDone: (answer) => {
      edit.saved(answer)
      edit.drop(fields)
      onDone?.()
    },
  })
  const error = change.errorOf(call)
  const isChanged = changes.length > 0
  return (
    <Paper
      component="form"
      withBorder
      p={{ base: 'md', sm: 'lg' }}
      aria-labelledby={titleId}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!isAdmin || !isChanged || !isComplete || change.isSending) return
        void change.send(call)
      }}
    >
      <Stack gap="md">
        <Stack gap={2}>
          <Title order={2} id={titleId}>
            {title}
          </Title>
          <Text size="sm" c="dimmed" component="div" maw={680}>
            {about}
          </Text>
        </Stack>
        <fieldset disabled={!isAdmin} className="plain-fieldset">
          <Stack gap="md">{children((field) => fieldError(error, field))}</Stack>
        </fieldset>
        {isChanged && (
          <Stack gap="xs">
            <Title order={3}>What will change</Title>
            <DiffTable changes={changes} />
          </Stack>
        )}
        {change.error?.code === 'version_mismatch' ? (
          <Outdated thing="service" onLoadAgain={() => edit.reload().then(change.reset)} />
        ) : (
          <ProblemNotice error={error} shownFields={shownFields} />
        )}
        {isChanged ? (
          <ChangeBar
            call={call}
            label={label}
            isSending={change.isSending}
            isSubmit
            disabled={!isComplete}
            onCancel={() => {
              edit.drop(fields)
              change.reset()
            }}
          />
        ) : (
          <Group gap="sm">
            <Button type="submit" disabled>
              {label}
            </Button>
            {!isAdmin && (
              <Text size="sm" c="dimmed">
                Only admins can change a service.
              </Text>
            )}
          </Group>
        )}
      </Stack>
    </Paper>
  )
}
