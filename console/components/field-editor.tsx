// Editor of the settings and scaling of a pipe: fields with value, default and explanation. Shows the exact change before it
// is sent.
import { Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { ChangeBar } from './change-bar.tsx'
import { DiffTable } from './diff.tsx'
import { EditedValue, type Fields, FieldTable, type FieldValue, ShownValue } from './field-table.tsx'
import { EditIcon } from './icons.tsx'
import { LeaveQuestion } from './leave-question.tsx'
import { Outdated } from './outdated.tsx'
import { ProblemNotice } from './problem-notice.tsx'
import { ReasonButton } from './reason-button.tsx'
import { Section } from './section.tsx'

/** Null resets to the default. */
export type FieldPatch = Record<string, FieldValue | null>

export interface FieldVersion {
  values: Record<string, FieldValue>
  etag: string | undefined
}

export interface FieldEditorProps {
  organizationId: string
  title: string
  about: ReactNode
  fields: Fields
  present: FieldVersion
  /** Reason why the person cannot change anything here. */
  reason: string | undefined
  label: string
  callOf: (patch: FieldPatch, ifMatch: string | undefined) => ApiCall<unknown>
  /** Reads the current version after a conflict. */
  readAgain: () => Promise<FieldVersion>
  children?: ReactNode
}

/** Moves the focus after the form has closed. */
const focusOn = (element: HTMLElement | null): void => element?.focus()

export function FieldEditor(props: FieldEditorProps) {
  const { title, about, fields, present, reason, children } = props
  const [isEditing, setIsEditing] = useState(false)
  const [isSaved, setIsSaved] = useState(false)
  return (
    <Section
      title={title}
      about={about}
      actions={
        !isEditing && (
          <ReasonButton
            variant="default"
            reason={reason}
            leftSection={<EditIcon size={16} />}
            onClick={() => {
              setIsSaved(false)
              setIsEditing(true)
            }}
          >
            Edit {title.toLowerCase()}
          </ReasonButton>
        )
      }
    >
      {isEditing ? (
        <EditedFields
          {...props}
          onEnd={(wasSaved) => {
            setIsSaved(wasSaved)
            setIsEditing(false)
          }}
        />
      ) : (
        <div tabIndex={-1} className="step-content" ref={isSaved ? focusOn : undefined}>
          <FieldTable
            caption={title}
            fields={fields}
            cell={(name, field) => <ShownValue value={present.values[name]!} field={field} />}
          />
        </div>
      )}
      {children}
    </Section>
  )
}

function EditedFields({
  organizationId,
  title,
  fields,
  present,
  label,
  callOf,
  readAgain,
  onEnd,
}: FieldEditorProps & { onEnd: (wasSaved: boolean) => void }) {
  // The version that the edits are based on: concurrent changes must not be merged silently.
  const [base, setBase] = useState(present)
  const [edits, setEdits] = useState<FieldPatch>({})
  const change = useChange<unknown>({ organizationId, doneText: `${title} saved`, onDone: () => onEnd(true) })
  const patch = Object.fromEntries(
    Object.entries(edits).filter(([name, value]) => (value ?? fields[name]!.default) !== base.values[name]),
  )
  const changes = Object.entries(patch).map(([field, value]) => ({
    field,
    from: base.values[field],
    to: value ?? fields[field]!.default,
  }))
  const isOutdated = change.error?.code === 'version_mismatch'
  const call = callOf(patch, base.etag)
  const error = change.errorOf(call)
  const hasChanges = changes.length > 0
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (change.error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [change.error])
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        if (hasChanges) void change.send(call)
      }}
    >
      <Stack>
        <FieldTable
          caption={title}
          fields={fields}
          isChanged={(name) => name in patch}
          cell={(name, field) => (
            <EditedValue
              name={name}
              field={field}
              value={name in edits ? edits[name]! : base.values[name]!}
              error={fieldError(error, name)}
              onChange={(value) => setEdits({ ...edits, [name]: value })}
            />
          )}
        />
        <Stack gap="xs">
          <Title order={3}>What will change</Title>
          {hasChanges ? (
            <DiffTable changes={changes} />
          ) : (
            <Text size="sm" c="dimmed">
              Nothing yet.
            </Text>
          )}
        </Stack>
        {isOutdated ? (
          <Outdated
            thing="pipe"
            onLoadAgain={async () => {
              setBase(await readAgain())
              change.reset()
            }}
          />
        ) : (
          <ProblemNotice error={error} shownFields={Object.keys(fields)} />
        )}
        <ChangeBar
          call={call}
          label={label}
          isSubmit
          isNothingChanged={!hasChanges}
          isSending={change.isSending}
          onCancel={() => onEnd(false)}
          disabled={!hasChanges || isOutdated}
          disabledReason={isOutdated ? undefined : 'Change a value first.'}
        />
      </Stack>
      <LeaveQuestion isAsked={() => hasChanges} />
    </form>
  )
}
