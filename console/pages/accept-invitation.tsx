// Joining an organization with an invitation link. Its token is in the URL fragment, which is not sent to servers; during a
// sign-in it is kept in the session storage of the tab.
import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useAction } from '../api/action.ts'
import { asPenstockError } from '../api/change.ts'
import {
  account,
  type InvitationLook,
  loadPageAgain,
  type Session,
  type SignedInSession,
  sessionQuery,
  useSessionChange,
} from '../api/session.ts'
import { CardPage } from '../components/card-page.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { OpenIdButton } from '../components/open-id-button.tsx'
import { PageButton } from '../components/page-link.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { roleInWords } from '../components/role.ts'
import { Time } from '../components/time.tsx'
import { NewPersonForm, type NextStepProps } from './accept-invitation-new-person.tsx'

const storedTokenKey = 'penstock-invitation'

export function AcceptInvitationPage() {
  const token = useInvitationToken()
  const { data: session } = useSuspenseQuery(sessionQuery)
  const sessionChanged = useSessionChange()
  const navigate = useNavigate()
  const acceptance = useAction(async (person: { name?: string; password?: string } = {}) => {
    const { organizationId } = await account.acceptInvitation({ token: token!, ...person })
    sessionStorage.removeItem(storedTokenKey)
    setJoined(true)
    await sessionChanged()
    await navigate({ to: '/o/$organizationId', params: { organizationId }, replace: true })
  })
  const [isJoined, setJoined] = useState(false)
  const look = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => account.lookAtInvitation(token!),
    // An accepted invitation cannot be read any more.
    enabled: token !== undefined && !isJoined,
    staleTime: Number.POSITIVE_INFINITY,
    throwOnError: false,
  })

  if (isJoined) return <LoadingPage />
  if (token === undefined) {
    return (
      <CardPage title="Open the link again">
        <Text>
          The address has lost the last part of the invitation's link. Open the link that you were sent once more, or
          ask an admin of the organization for a new one.
        </Text>
        <ToSignIn />
      </CardPage>
    )
  }
  if (look.error) {
    return (
      <CardPage title="This invitation does not work">
        <ProblemNotice error={asPenstockError(look.error)} title="You cannot join with this link" />
        <ToSignIn />
      </CardPage>
    )
  }
  if (!look.data) return <LoadingPage />
  return (
    <CardPage title={`Join ${look.data.organizationName}`}>
      <About invitation={look.data} />
      <NextStep
        invitation={look.data}
        session={session}
        accept={(person) => void acceptance.start(person)}
        acceptance={acceptance}
      />
    </CardPage>
  )
}

function useInvitationToken(): string | undefined {
  const hash = useLocation({ select: (location) => location.hash })
  const [token, setToken] = useState(() => sessionStorage.getItem(storedTokenKey) ?? undefined)
  const isToken = hash.startsWith('inv_')
  useEffect(() => {
    if (!isToken) return
    sessionStorage.setItem(storedTokenKey, hash)
    setToken(hash)
    // Removes the token from the address bar and the history, because anyone who has it can join.
    window.history.replaceState(window.history.state, '', window.location.pathname)
  }, [hash, isToken])
  return isToken ? hash : token
}

function About({ invitation: { email, role, expireAt } }: { invitation: InvitationLook }) {
  return (
    <Text component="div" size="sm">
      <b style={{ overflowWrap: 'anywhere' }}>{email}</b> is invited as {role === 'admin' ? 'an admin' : 'a developer'},
      who {roleInWords[role]}. The invitation expires <Time at={expireAt} />.
    </Text>
  )
}

function NextStep({ session, ...props }: NextStepProps & { session: Session }) {
  if (session.signedIn) {
    return session.user.email === props.invitation.email ? (
      <Join {...props} session={session} />
    ) : (
      <SignedInAsSomebodyElse session={session} invitation={props.invitation} />
    )
  }
  const { organizationName, invitedPerson } = props.invitation
  const openId = session.methods.oidc && (
    <OpenIdButton to="/console/invitations/accept">{`${invitedPerson === 'new' ? 'Join' : 'Sign in'} with ${session.methods.oidc.name}`}</OpenIdButton>
  )
  if (invitedPerson === 'new') {
    return (
      <Stack>
        <NewPersonForm {...props} submitLabel={`Join ${organizationName}`} />
        {openId}
      </Stack>
    )
  }
  return (
    <Stack>
      <Text size="sm">You have an account here already: sign in, and you come back to this page.</Text>
      <PageButton to="/sign-in" search={{ to: '/invitations/accept' }} fullWidth>
        Sign in to join
      </PageButton>
      {openId}
    </Stack>
  )
}

function Join({ session, invitation, accept, acceptance }: NextStepProps & { session: SignedInSession }) {
  return (
    <Stack>
      <ProblemNotice error={acceptance.error} title="You have not joined" />
      <Text size="sm">You are signed in as {session.user.name}.</Text>
      <Button onClick={() => accept()} loading={acceptance.isBusy} fullWidth>
        Join {invitation.organizationName}
      </Button>
    </Stack>
  )
}

function SignedInAsSomebodyElse({ session, invitation }: { session: SignedInSession; invitation: InvitationLook }) {
  const signOut = useAction(async () => {
    await account.signOut()
    await loadPageAgain('/console/invitations/accept')
  })
  return (
    <Stack>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        You are signed in as <b>{session.user.email}</b>, and the invitation is for somebody else. Sign out to accept it
        as {invitation.email}.
      </Text>
      <ProblemNotice error={signOut.error} title="You are still signed in" />
      <Button onClick={() => void signOut.start()} loading={signOut.isBusy} fullWidth>
        Sign out and go on
      </Button>
      <Anchor component={Link} to="/" size="sm">
        Stay signed in as {session.user.name}
      </Anchor>
    </Stack>
  )
}

function ToSignIn() {
  return (
    <Anchor component={Link} to="/sign-in" size="sm">
      To the sign-in
    </Anchor>
  )
}
