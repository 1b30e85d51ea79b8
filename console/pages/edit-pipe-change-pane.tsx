import { Alert, Code, Stack, Text, Title } from '@mantine/core'
import type { PenstockError } from '../../src/client/error.ts'
import type { Pipe, PipePatch } from '../../src/client/shapes.ts'
import type { ApiCall } from '../api/client.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { DiffTable } from '../components/diff.tsx'
import { Outdated } from '../components/outdated.tsx'
import { withoutSecrets } from '../components/pipe-form/body.ts'
import { changesOf, jsonText } from '../components/pipe-form/patch-changes.ts'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { CheckFirstSwitch } from '../components/source-check/check-first-switch.tsx'
import { FailureNotice } from '../components/source-check/failure-notice.tsx'
import { sourceFailureOf } from '../components/source-check/source-failure.ts'

interface ChangePaneProps {
  pipe: Pipe
  patch: PipePatch | undefined
  call: ApiCall<Pipe>
  /** Reason why it cannot be sent now. */
  reason: string | undefined
  isSending: boolean
  error: PenstockError | null
  shownFields: string[]
  /** Whether the source is checked before saving. */
  isChecked: boolean
  onCheckChosen: (isChecked: boolean) => void
  isOutdated: boolean
  /** Fields that another person has changed too. */
  bothChanged: string[]
  onRebase: () => Promise<void>
  onCancel: () => void
}

/** The exact request, and the button that sends it. */
export function ChangePane(props: ChangePaneProps) {
  const { pipe, patch, call, reason, isSending, error, shownFields, isOutdated, bothChanged, onRebase, onCancel } =
    props
  const isSourceFailure = sourceFailureOf(error) !== undefined
  return (
    <section className="edit-pipe-pane" aria-label="What will change">
      <Title order={2}>What will change</Title>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable by keyboard. */}
      <section className="edit-pipe-change" tabIndex={0} aria-label="Before and after, and what is sent">
        {patch ? (
          <Stack gap="md">
            <DiffTable changes={changesOf(pipe, patch)} />
            <Stack gap={4}>
              <Title order={3}>What is sent</Title>
              <Text size="xs" c="dimmed">
                A merge patch: only these fields, the others stay as they are.
              </Text>
              <Code block className="wrapping-code">
                {jsonText(withoutSecrets(patch, 'changed'))}
              </Code>
            </Stack>
          </Stack>
        ) : (
          <Text size="sm" c="dimmed">
            Change a field, and this shows what it was, what it will be, and exactly what is sent.
          </Text>
        )}
      </section>
      <Stack gap="sm">
        {bothChanged.length > 0 && (
          <Alert color="orange" variant="light" title="Changed by both of you" role="status">
            <Text size="sm">Somebody else changed these too; yours would replace it: {bothChanged.join(', ')}.</Text>
          </Alert>
        )}
        {isOutdated ? (
          <Outdated thing="pipe" onLoadAgain={onRebase} />
        ) : isSourceFailure ? (
          <FailureNotice error={error ?? undefined} title="Nothing was changed" />
        ) : (
          <ProblemNotice error={error} shownFields={shownFields} />
        )}
        {patch && (
          <CheckFirstSwitch
            value={props.isChecked}
            onChange={props.onCheckChosen}
            about="Penstock first connects to the source and reads a sample. If that fails, nothing is changed and you see why."
          />
        )}
        <ChangeBar
          call={call}
          label="Save changes"
          isSubmit
          isNothingChanged={patch === undefined}
          isSending={isSending}
          sendingText={props.isChecked ? 'The source is checked first.' : undefined}
          onCancel={onCancel}
          disabled={reason !== undefined}
          disabledReason={reason}
        />
      </Stack>
    </section>
  )
}
