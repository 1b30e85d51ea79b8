// Form to change a pipe. The input is kept separate from the pipe, shown as the exact patch, and sent with the version that it
// is based on.
import { Alert, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Answer } from '../../src/client/caller.ts'
import type { Pipe } from '../../src/client/shapes.ts'
import { useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { pipeQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { useSourceCheck } from '../api/source-check.ts'
import { LeaveQuestion } from '../components/leave-question.tsx'
import { patchOf, withCheck } from '../components/pipe-form/body.ts'
import { DestinationSections } from '../components/pipe-form/destination-sections.tsx'
import { FieldInput, type FormProps } from '../components/pipe-form/field-input.tsx'
import { SourceSections } from '../components/pipe-form/field-section.tsx'
import { pointersBelow } from '../components/pipe-form/form-error.ts'
import { nameField, shownFields, withValues } from '../components/pipe-form/form-fields.ts'
import { changesOf } from '../components/pipe-form/patch-changes.ts'
import { PipeCheck } from '../components/pipe-form/pipe-check.tsx'
import { draftOf, hasTypedSecrets, type Values } from '../components/pipe-form/pipe-draft.ts'
import { SettingsSections } from '../components/pipe-form/settings-sections.tsx'
import { questionOfPipe } from '../components/pipe-form/source-question.ts'
import { emptiedFields } from '../components/pipe-form/steps.ts'
import { hasFailed } from '../components/pipe-state.ts'
import { Section } from '../components/section.tsx'
import { fieldMarks } from '../components/source-check/source-failure.ts'
import { ChangePane } from './edit-pipe-change-pane.tsx'

export function EditPipeForm({ organizationId, live }: { organizationId: string; live: Answer<Pipe> }) {
  const isAdmin = useIsAdmin(organizationId)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [values, setValues] = useState<Values>({})
  // The version that the draft is based on. Follows refetches while nothing is typed, then stays.
  const [base, setBase] = useState(live)
  const [bothChanged, setBothChanged] = useState<string[]>([])
  const isSaved = useRef(false)
  const formElement = useRef<HTMLFormElement>(null)
  // Undefined: checked if the source changes.
  const [isCheckChosen, setCheckChosen] = useState<boolean>()
  const pipe = base.result
  const draft = draftOf(pipe, values)
  const changes = patchOf(draft)
  const isChecked = isCheckChosen ?? changes?.source !== undefined
  const patch = changes && isChecked ? withCheck(changes) : changes
  const isChanged = patch !== undefined || hasTypedSecrets(draft)
  // Also true for input that is not in the patch: a cleared number, a trailing space.
  const isTyped = Object.keys(values).length > 0
  if (base.etag !== live.etag && !isTyped) setBase(live)
  const params = { organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }
  const openPipe = () => navigate({ to: '/o/$organizationId/services/$serviceId/pipes/$pipeId', params: { ...params } })
  const call: ApiCall<Pipe> = (api) => api.updatePipe(params, patch ?? {}, { ifMatch: base.etag })
  const change = useChange<Pipe>({
    organizationId,
    // A failed pipe stays failed until a person starts it.
    doneText: hasFailed(live.result.state)
      ? 'Saved. Start the pipe to try again.'
      : `Pipe ${patch?.name ?? pipe.name} saved`,
    onDone: async (answer) => {
      isSaved.current = true
      queries.setQueryData(pipeQuery(organizationId, pipe.serviceId, pipe.id).queryKey, answer)
      await openPipe()
    },
  })
  const error = change.errorOf(call)
  const check = useSourceCheck({ organizationId, serviceId: pipe.serviceId }, questionOfPipe(pipe, changes), () => {
    // A new check replaces the error of an earlier one.
    if (error?.code === 'source_not_validated') change.reset()
  })
  // Once per response, not again when a field is corrected.
  useEffect(() => {
    if (change.error) formElement.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [change.error])
  const isOutdated =
    error?.code === 'version_mismatch' || (isTyped && live.etag !== base.etag && !isSaved.current && !change.isSending)
  const rebase = async (): Promise<void> => {
    const query = pipeQuery(organizationId, pipe.serviceId, pipe.id)
    const fresh = await queries.fetchQuery({ ...query, staleTime: 0 })
    // A field with another previous value was changed by both.
    const before = new Map(
      changesOf(pipe, patchOf(draft) ?? {}).map(({ field, from }) => [field, JSON.stringify(from)]),
    )
    const after = changesOf(fresh.result, patchOf(draftOf(fresh.result, values)) ?? {})
    setBothChanged(
      after
        .filter(({ field, from }) => before.has(field) && before.get(field) !== JSON.stringify(from))
        .map(({ field }) => field),
    )
    setBase(fresh)
    change.reset()
  }
  const [emptied] = emptiedFields(draft)
  const missing = emptied && (emptied === 'Name' ? 'The pipe needs a name.' : `The ${emptied.toLowerCase()} is needed.`)
  const reason = !isAdmin
    ? 'Only admins can change a pipe.'
    : isOutdated
      ? 'Load the new version first.'
      : missing
        ? missing
        : patch
          ? undefined
          : 'Nothing is changed yet'
  const checkReason = !isAdmin
    ? 'Only admins can check a connection.'
    : missing
      ? missing
      : change.isSending
        ? 'The changes are being saved.'
        : undefined
  const form: FormProps = {
    draft,
    edit: (changed) => setValues((present) => withValues(draftOf(pipe, present), changed).values),
    error: fieldMarks(error, check.error),
    found: check.found,
  }
  const isDisabled = !isAdmin || change.isSending
  const shown = shownFields(draft).flatMap(({ pointer, alsoAt = [] }) => [pointer, ...alsoAt])
  const shownPointers = [...shown, `source/${draft.kind}`].flatMap((pointer) => pointersBelow(error, pointer))
  return (
    <form
      ref={formElement}
      className="edit-pipe"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (reason !== undefined || change.isSending) return
        setBothChanged([])
        void change.send(call)
      }}
    >
      <Stack gap="lg" className="edit-pipe-fields">
        {!isAdmin && (
          <Alert color="gray" variant="light" title="You can look, but not change">
            <Text size="sm">Only admins can change a pipe. You are a developer of this organization.</Text>
          </Alert>
        )}
        <fieldset disabled={isDisabled} className="plain-fieldset">
          <legend className="visually-hidden">Name and source</legend>
          <Stack gap="lg">
            <Section title="Pipe">
              <FieldInput field={nameField} form={form} />
            </Section>
            <SourceSections {...form} />
          </Stack>
        </fieldset>
        <PipeCheck {...form} check={check} reason={checkReason} />
        <fieldset disabled={isDisabled} className="plain-fieldset">
          <legend className="visually-hidden">Destination and settings</legend>
          <Stack gap="lg">
            <DestinationSections {...form} />
            <SettingsSections {...form} />
          </Stack>
        </fieldset>
      </Stack>
      <ChangePane
        pipe={pipe}
        patch={patch}
        call={call}
        reason={reason}
        isSending={change.isSending}
        error={error}
        shownFields={shownPointers}
        isChecked={isChecked}
        onCheckChosen={setCheckChosen}
        isOutdated={isOutdated}
        bothChanged={bothChanged}
        onRebase={rebase}
        onCancel={() => void openPipe()}
      />
      <LeaveQuestion isAsked={() => isChanged && !isSaved.current} />
    </form>
  )
}
