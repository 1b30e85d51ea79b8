// Signing in with a link from the operator. A button with the account name confirms it, so that a program that only opens the
// page does not use up the link, and nobody is signed in to another account unknowingly.
import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useAction } from '../api/action.ts'
import { asPenstockError } from '../api/change.ts'
import { account, type Session, useSessionChange } from '../api/session.ts'
import { CardPage } from '../components/card-page.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'

/** The token from the URL fragment. */
export function useLinkToken(): string | undefined {
  const hash = useLocation({ select: (location) => location.hash })
  const [token, setToken] = useState<string>()
  const isToken = hash.startsWith('lnk_')
  useEffect(() => {
    if (!isToken) return
    setToken(hash)
    // Removes the secret from the address bar and the history.
    window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
  }, [hash, isToken])
  return isToken ? hash : token
}

export function SignInWithLink({
  token,
  session,
  onSignedIn,
  onGoOn,
}: {
  token: string
  session: Session
  onSignedIn(): void
  /** Continues without the link. */
  onGoOn(): void
}) {
  const sessionChanged = useSessionChange()
  const [isUsed, setUsed] = useState(false)
  const look = useQuery({
    queryKey: ['sign-in-link', token],
    queryFn: () => account.lookAtLink(token),
    // A used link cannot be read any more.
    enabled: !isUsed,
    staleTime: Number.POSITIVE_INFINITY,
    throwOnError: false,
    retry: false,
  })
  const { start, isBusy, error } = useAction(async () => {
    await account.signInWithLink(token)
    setUsed(true)
    await sessionChanged()
    onSignedIn()
  })
  const failure = error ?? (look.error ? asPenstockError(look.error) : undefined)
  if (failure) {
    return (
      <CardPage title="This link does not work">
        <ProblemNotice error={failure} title="The link did not sign you in" />
        <Button onClick={onGoOn}>
          {session.signedIn ? `Go on as ${session.user.name}` : 'Sign in without the link'}
        </Button>
      </CardPage>
    )
  }
  if (isUsed || !look.data) return <LoadingPage />
  const { name, email } = look.data
  return (
    <CardPage title={`Sign in as ${name}`}>
      <Text>
        The link signs you in as <b>{email}</b>, once.
      </Text>
      {session.signedIn && session.user.email !== email && (
        <Text>You are signed in as {session.user.email}. That session ends.</Text>
      )}
      <Button onClick={() => void start()} loading={isBusy} autoFocus fullWidth>
        Sign in
      </Button>
    </CardPage>
  )
}
