import { Alert, Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { PenstockError } from '../../src/client/error.ts'
import { asPenstockError } from '../api/change.ts'
import { ProblemNotice } from './problem-notice.tsx'

/** What is edited is no longer what is stored: it may have been changed by somebody else, or here in another way. */
export function Outdated({
  thing,
  onLoadAgain,
}: {
  /** "pipe" */
  thing: string
  /** Reads it again and keeps what was typed. */
  onLoadAgain: () => Promise<void>
}) {
  const [isReading, setReading] = useState(false)
  const [error, setError] = useState<PenstockError>()
  return (
    <Alert color="orange" variant="light" title={`The ${thing} was changed meanwhile`} role="alert">
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
