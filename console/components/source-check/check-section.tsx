// Checks a source without saving. The result is announced to screen readers.
import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core'
import { type ReactNode, useRef } from 'react'
import type { SourceCheck } from '../../api/source-check.ts'
import { CurlButton } from '../change-bar.tsx'
import { Section } from '../section.tsx'
import { FailureNotice } from './failure-notice.tsx'
import { passedSteps } from './source-failure.ts'

export function CheckSection({
  check,
  about,
  reason,
  children,
}: {
  check: SourceCheck
  about: string
  /** Reason why the check is not available now. */
  reason: string | undefined
  /** Details of a passed check. */
  children?: ReactNode
}) {
  const startButton = useRef<HTMLButtonElement>(null)
  const isRunning = check.state === 'running'
  return (
    <Section title="Check connection" about={about}>
      <div>
        <Group gap="sm">
          <Button
            ref={startButton}
            variant="light"
            disabled={reason !== undefined}
            // Not `disabled` while the check runs, so that the button keeps the focus.
            {...(isRunning ? { 'data-disabled': true, 'aria-disabled': true } : { onClick: check.start })}
          >
            Check connection
          </Button>
          {isRunning && (
            <Button
              variant="default"
              onClick={() => {
                check.cancel()
                startButton.current?.focus()
              }}
            >
              Cancel the check
            </Button>
          )}
          <CurlButton call={check.call} />
          {reason && (
            <Text size="sm" c="dimmed">
              {reason}
            </Text>
          )}
        </Group>
        <div role="status">
          <CheckStatus check={check} />
        </div>
        {check.state === 'failed' && <FailureNotice error={check.error} mt="md" />}
      </div>
      {check.found && children}
    </Section>
  )
}

function CheckStatus({ check: { state, found } }: { check: SourceCheck }) {
  switch (state) {
    case 'running':
      return (
        <Notice color="blue" title="Connecting…" icon={<Loader size={18} />}>
          Penstock connects to the source and reads a sample. This takes up to 10 seconds.
        </Notice>
      )
    case 'cancelled':
      return <Notice color="gray">The check was cancelled.</Notice>
    case 'outdated':
      return (
        <Notice color="gray">
          The source was changed since it was checked. Check it again to see what it has now.
        </Notice>
      )
    case 'passed':
      return (
        <Notice color="green" title="Connection OK">
          {passedSteps(found?.steps ?? [])}
        </Notice>
      )
    default:
      return null
  }
}

function Notice({
  color,
  title,
  icon,
  children,
}: {
  color: string
  title?: string
  icon?: ReactNode
  children: ReactNode
}) {
  return (
    // The surrounding live region announces it.
    <Alert color={color} variant="light" title={title} icon={icon} role="presentation" mt="md">
      <Stack gap="xs" fz="sm">
        {children}
      </Stack>
    </Alert>
  )
}
