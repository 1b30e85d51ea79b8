import { Alert, type AlertProps, Anchor, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { PenstockError } from '../../../src/client/error.ts'
import { ProblemNotice, RequestId } from '../problem-notice.tsx'
import { failedTitles, sourceFailureOf } from './source-failure.ts'

/** Failed step of a source check with reason and remedy. Other errors are shown as usual. */
export function FailureNotice({
  error,
  title,
  children,
  ...props
}: Omit<AlertProps, 'title'> & {
  error: PenstockError | undefined
  /** Consequence: "Nothing was changed". */
  title?: string
  children?: ReactNode
}) {
  const failure = sourceFailureOf(error)
  const notice = useRef<HTMLDivElement>(null)
  const [isFieldMarked, setFieldMarked] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another error marks other fields.
  useEffect(() => setFieldMarked(markedField(notice.current) !== undefined), [error])
  if (!error) return null
  if (!failure) return <ProblemNotice error={error} title={title ?? 'The source was not checked'} {...props} />
  const stepTitle = failedTitles[failure.step]
  const wholeTitle = title ? `${title}: ${stepTitle.charAt(0).toLowerCase()}${stepTitle.slice(1)}` : stepTitle
  return (
    <Alert {...props} color="red" variant="light" title={wholeTitle} role="alert" ref={notice}>
      <Stack gap="xs" style={{ overflowWrap: 'anywhere' }}>
        {failure.reasons.map((reason) => (
          <Text key={reason} size="sm" fw={600}>
            {reason}
          </Text>
        ))}
        {failure.remedy && <Text size="sm">{failure.remedy}</Text>}
        {children}
        {isFieldMarked && (
          <Group>
            <Anchor
              component="button"
              type="button"
              size="sm"
              c="inherit"
              underline="always"
              onClick={() => markedField(notice.current)?.focus()}
            >
              Go to the field
            </Anchor>
          </Group>
        )}
        <RequestId id={error.requestId} />
      </Stack>
    </Alert>
  )
}

function markedField(notice: HTMLElement | null): HTMLElement | undefined {
  return notice?.closest('form')?.querySelector<HTMLElement>('[aria-invalid="true"]') ?? undefined
}
