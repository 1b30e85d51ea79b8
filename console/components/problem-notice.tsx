import { Alert, type AlertProps, List, Text } from '@mantine/core'
import type { PenstockError } from '../../src/client/error.ts'
import { asPenstockError } from '../api/change.ts'
import { isOutcomeUnknown } from '../api/unknown-outcome.ts'
import { CopyText } from './copy.tsx'
import { isUnreachable } from './out-of-date-notice.tsx'

/** Whoever asks for help with an error is asked for this. */
export function RequestId({ id }: { id: string | undefined }) {
  if (!id) return null
  return (
    <Text size="xs" c="dimmed" component="div">
      Request <CopyText text={id} label="request id" />
    </Text>
  )
}

/**
 * An error as the API said it, with the request id. Fields that show their own sentence are named in `shownFields`
 * (`ipAccessList/0/source`), and are not repeated. `title` says what follows from a refusal; a change whose answer was lost was not
 * refused, and has a title of its own.
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

/** Why a part of a page could not be read. That nobody answers is said once, above the page. */
export function ReadProblem({ error, title }: { error: unknown; title: string }) {
  return isUnreachable(error) ? null : <ProblemNotice error={asPenstockError(error)} title={title} />
}
