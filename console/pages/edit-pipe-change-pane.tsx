import { Alert, Button, Code, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { PenstockError } from '../../src/client/error.ts'
import type { Pipe, PipePatch } from '../../src/client/shapes.ts'
import { asPenstockError } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { DiffTable } from '../components/diff.tsx'
import { changesOf, jsonText, shownPatch } from '../components/pipe-form/patch-changes.ts'
import { ProblemNotice } from '../components/problem-notice.tsx'

interface ChangePaneProps {
  pipe: Pipe
  patch: PipePatch | undefined
  call: ApiCall<Pipe>
  /** Why it cannot be sent now. */
  reason: string | undefined
  isSending: boolean
  error: PenstockError | null
  shownFields: string[]
  isOutdated: boolean
  /** Fields that somebody else changed too, before the new version was loaded. */
  bothChanged: string[]
  onRebase: () => Promise<void>
  onCancel: () => void
}

/** Exactly what would be sent, and the button that sends it. */
export function ChangePane(props: ChangePaneProps) {
  const { pipe, patch, call, reason, isSending, error, shownFields, isOutdated, bothChanged, onRebase, onCancel } =
    props
  return (
    <section className="edit-pipe-pane" aria-label="What will change">
      <Title order={2}>What will change</Title>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard. */}
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
                {jsonText(shownPatch(patch))}
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
        {isOutdated ? <Outdated onRebase={onRebase} /> : <ProblemNotice error={error} shownFields={shownFields} />}
        <ChangeBar
          call={call}
          label="Save changes"
          isSubmit
          isSending={isSending}
          onCancel={onCancel}
          disabled={reason !== undefined}
          disabledReason={reason}
        />
      </Stack>
    </section>
  )
}

function Outdated({ onRebase }: { onRebase: () => Promise<void> }) {
  const [isReading, setReading] = useState(false)
  const [error, setError] = useState<PenstockError>()
  return (
    <Alert color="orange" variant="light" title="Somebody else changed this pipe" role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          Your changes are not saved. Load the new version, and look again at what they would change.
        </Text>
        <Button
          size="xs"
          variant="default"
          h="auto"
          mih={30}
          py={4}
          classNames={{ label: 'wrapping-label' }}
          loading={isReading}
          onClick={() => {
            setReading(true)
            setError(undefined)
            void onRebase()
              .catch((reason: unknown) => setError(asPenstockError(reason)))
              .finally(() => setReading(false))
          }}
        >
          Load the new version and keep my changes
        </Button>
        <ProblemNotice error={error} title="It could not be loaded" />
      </Stack>
    </Alert>
  )
}
