import { Badge, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useAction } from '../api/action.ts'
import { account, loadPageAgain, type OpenSession, useSignedIn } from '../api/session.ts'
import { browserOf } from '../components/browser-name.ts'
import { exactTime } from '../components/exact-time.ts'
import { type Column, ListTable } from '../components/list-table.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'
import { Time } from '../components/time.tsx'

const columns: Column<OpenSession>[] = [
  {
    label: 'Browser',
    cell: ({ userAgent, isCurrent }) => (
      <Group gap="xs" wrap="nowrap">
        <Text size="sm" title={userAgent}>
          {browserOf(userAgent)}
        </Text>
        {isCurrent && (
          <Badge variant="default" size="sm" tt="none" style={{ flexShrink: 0 }}>
            This one
          </Badge>
        )}
      </Group>
    ),
  },
  { label: 'Address', cell: ({ address }) => address },
  { label: 'Signed in', width: 160, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { label: 'Last used', width: 160, cell: ({ usedAt }) => <Time at={usedAt} /> },
]

export function OpenSessions() {
  const { expireAt } = useSignedIn()
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: account.sessions })
  const [isAsking, { open, close }] = useDisclosure(false)
  return (
    <Section
      title="Where you are signed in"
      about={`A session ends when it is not used for 12 hours, and after 7 days in any case: this one on ${exactTime(expireAt)}.`}
      actions={
        <Button variant="outline" color="red" onClick={open}>
          Sign out everywhere
        </Button>
      }
    >
      <ListTable<OpenSession>
        caption="Your sessions"
        items={sessions.data ?? []}
        query={{
          isPending: sessions.isPending,
          hasNextPage: false,
          isFetchingNextPage: false,
          fetchNextPage: () => Promise.reject(new Error('all sessions are in one answer')),
        }}
        keyOf={({ id }) => id}
        empty={null}
        columns={columns}
      />
      <Modal opened={isAsking} onClose={close} title="Sign out everywhere?" centered>
        <SignOutEverywhere onCancel={close} />
      </Modal>
    </Section>
  )
}

function SignOutEverywhere({ onCancel }: { onCancel: () => void }) {
  const { user, methods } = useSignedIn()
  const { start, isBusy, error } = useAction(async () => {
    await account.signOutEverywhere()
    await loadPageAgain('/console/sign-in')
  })
  return (
    <Stack>
      <Text size="sm">
        Every session of <b>{user.email}</b> ends at once, also this one. API keys are not touched: they belong to the
        organization.
      </Text>
      {!user.hasPassword && (
        <Text size="sm">
          {methods.oidc
            ? `You have no password: you come back with ${methods.oidc.name}, if it knows you, or with a new link from the operator of this Penstock.`
            : 'You have no password. Set one before, or you need a new link from the operator of this Penstock to come back.'}
        </Text>
      )}
      <ProblemNotice error={error} title="You are still signed in" />
      <Group>
        <Button color="red" loading={isBusy} onClick={() => void start()}>
          Sign out everywhere
        </Button>
        <Button variant="default" onClick={onCancel} disabled={isBusy}>
          Cancel
        </Button>
      </Group>
    </Stack>
  )
}
