import { Alert, type AlertProps, List, Text } from '@mantine/core'
import type { PenstockError } from '../../src/client/error.ts'
import { asPenstockError } from '../api/change.ts'
import { isOutcomeUnknown } from '../api/unknown-outcome.ts'
import { CopyText } from './copy.tsx'
import { isUnreachable } from './out-of-date-notice.tsx'

/** The request id, for support. */
export function RequestId({ id }: { id: string | undefined }) {
  if (!id) return null
  return (
    <Text size="xs" c="dimmed" component="div">
      Request <CopyText text={id} label="request id" />
    </Text>
  )
}

/**
 * Shows an API error with its request id. Errors of the fields in `shownFields` (`ipAccessList/0/source`) are omitted, because
 * those fields show them. `title` is the consequence of a refusal; a change with unknown outcome has its own title.
 */
export function ProblemNotice({
  error,
  shownFields = [],
  title = 'Nothing was changed',
  ...props
}: Omit<AlertProps, 'title'> & {
  error: PenstockError | null | undefined
  shownFields?: string[]
  title?: string
}) {
  if (!error) return null
  const shownTitle = isOutcomeUnknown(error) ? 'It is not known whether this was done' : title
  const others = error.errors.filter(({ pointer }) => !shownFields.includes(pointer.replace(/^#\//, '')))
  return (
    <Alert {...props} color="red" variant="light" title={shownTitle} role="alert">
      {error.errors.length === 0 ? (
        <Text size="sm">{error.message}</Text>
      ) : others.length === 0 ? (
        <Text size="sm">See the fields that are marked.</Text>
      ) : (
        <List size="sm">
          {others.map(({ pointer, detail }) => (
            <List.Item key={`${pointer} ${detail}`}>{detail}</List.Item>
          ))}
        </List>
      )}
      <RequestId id={error.requestId} />
    </Alert>
  )
}

/** Error of a part of a page. An unreachable Penstock is reported once, above the page. */
export function ReadProblem({ error, title }: { error: unknown; title: string }) {
  return isUnreachable(error) ? null : <ProblemNotice error={asPenstockError(error)} title={title} />
}
