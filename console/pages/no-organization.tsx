import { Button, Text } from '@mantine/core'
import { useAction } from '../api/action.ts'
import { account, loadPageAgain, useSignedIn } from '../api/session.ts'
import { CardPage } from '../components/card-page.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'

/** For a signed-in person without an organization: removed from the last one, or not invited yet. */
export function NoOrganizationPage() {
  const { user } = useSignedIn()
  const look = useAction(() => loadPageAgain('/console/'))
  const signOut = useAction(async () => {
    await account.signOut()
    await loadPageAgain('/console/sign-in')
  })
  return (
    <CardPage title="You are in no organization">
      <Text style={{ overflowWrap: 'anywhere' }}>
        You are signed in as <b>{user.email}</b>, but no organization has you as a member.
      </Text>
      <Text>
        Ask an admin for an invitation to this address and open its link here. Then you see the organization's services
        and pipes.
      </Text>
      <ProblemNotice error={look.error ?? signOut.error} title="That did not work" />
      <Button onClick={() => void look.start()} loading={look.isBusy} fullWidth>
        Look again
      </Button>
      <Button variant="default" onClick={() => void signOut.start()} loading={signOut.isBusy} fullWidth>
        Sign out
      </Button>
    </CardPage>
  )
}
