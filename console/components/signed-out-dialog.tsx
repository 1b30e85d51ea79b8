import { Button, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../api/action.ts'
import { loadPageAgain, sessionQuery } from '../api/session.ts'
import { ProblemNotice } from './problem-notice.tsx'

/** Shown over a page whose session has ended, so that no input is lost. */
export function SignedOutDialog() {
  const { data } = useQuery(sessionQuery)
  const isSignedOut = data?.signedIn === false
  return (
    <Modal
      opened={isSignedOut}
      onClose={() => undefined}
      title="You were signed out"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      centered
      // Above an open dialog of the page.
      zIndex={400}
    >
      <Content />
    </Modal>
  )
}

function Content() {
  // Continues at once after signing in in another tab.
  const { data, refetch } = useQuery({
    ...sessionQuery,
    staleTime: 0,
    refetchOnMount: false,
    refetchOnWindowFocus: 'always',
  })
  const [hasLooked, setLooked] = useState(false)
  const look = useAction(async () => {
    await refetch({ throwOnError: true })
    setLooked(true)
  })
  return (
    <Stack>
      <Text size="sm">
        Your session has ended. Sign in again in another tab, then go on here: what you typed on this page is kept.
      </Text>
      {hasLooked && !look.isBusy && !look.error && data?.signedIn === false && (
        <Text size="sm" c="red" role="alert">
          You are not signed in yet.
        </Text>
      )}
      <ProblemNotice error={look.error} title="Whether you are signed in could not be read" />
      <Button component="a" href="/console/sign-in" target="_blank" data-autofocus>
        Open the sign-in in a new tab
      </Button>
      <Button variant="default" onClick={() => void look.start()} loading={look.isBusy}>
        I have signed in again
      </Button>
      <Button variant="subtle" color="gray" onClick={() => void loadPageAgain('/console/sign-in')}>
        Leave this page
      </Button>
    </Stack>
  )
}
