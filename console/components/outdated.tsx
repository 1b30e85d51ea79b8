import { Alert, Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { PenstockError } from '../../src/client/error.ts'
import { asPenstockError } from '../api/change.ts'
import { ProblemNotice } from './problem-notice.tsx'

/** Shown when the edited object has changed since it was read, by another person or on this page. */
export function Outdated({
  thing,
  onLoadAgain,
}: {
  /** "pipe" */
  thing: string
  /** Refetches the object and keeps the input. */
  onLoadAgain: () => Promise<void>
}) {
  const [isReading, setReading] = useState(false)
  const [error, setError] = useState<PenstockError>()
  return (
    <Alert color="orange" variant="light" title={`The ${thing} has changed`} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">Your changes are not saved. Load the new version and check what they would change.</Text>
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
            void onLoadAgain()
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
