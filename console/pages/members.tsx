import { Group, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { invitationsQuery, membersQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { PlusIcon } from '../components/icons.tsx'
import { itemsOf } from '../components/list-table.tsx'
import { Page } from '../components/page.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { InvitationTable } from './members-invitations.tsx'
import { InviteModal } from './members-invite.tsx'
import { MemberTable } from './members-list.tsx'

export function MembersPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/members' })
  const isAdmin = useIsAdmin(organizationId)
  const members = useInfiniteQuery(membersQuery(organizationId))
  const invitations = useInfiniteQuery(invitationsQuery(organizationId))
  const [isInviting, { open: invite, close: closeInvite }] = useDisclosure(false)
  return (
    <Page
      title="Members"
      about={
        <>
          The people of the organization. Admins may do everything; developers may read everything and change nothing.
          {!isAdmin && ' You are a developer here: only admins can invite people, change roles and remove members.'}
        </>
      }
      actions={
        <ReasonButton
          leftSection={<PlusIcon size={16} />}
          reason={isAdmin ? undefined : 'Only admins can invite people.'}
          onClick={invite}
        >
          Invite
        </ReasonButton>
      }
    >
      <MemberTable organizationId={organizationId} query={members} members={itemsOf(members)} />
      <Stack gap="sm" component="section" aria-labelledby="invitations-title">
        <Group gap="xs" align="baseline">
          <Title order={2} id="invitations-title">
            Invitations
          </Title>
          <Text size="sm" c="dimmed">
            People who have been sent a link and have not joined yet.
          </Text>
        </Group>
        <InvitationTable
          organizationId={organizationId}
          query={invitations}
          invitations={itemsOf(invitations)}
          onInvite={invite}
        />
      </Stack>
      <InviteModal organizationId={organizationId} opened={isInviting} onClose={closeInvite} />
    </Page>
  )
}
