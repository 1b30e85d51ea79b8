import { ActionIcon, Badge, Button, Text, Tooltip } from '@mantine/core'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { Invitation } from '../../src/client/shapes.ts'
import { useIsAdmin } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { TrashIcon } from '../components/icons.tsx'
import { ListTable } from '../components/list-table.tsx'
import { Time } from '../components/time.tsx'

export function InvitationTable({
  organizationId,
  invitations,
  query,
  onInvite,
}: {
  organizationId: string
  invitations: Invitation[]
  query: Pick<UseInfiniteQueryResult, 'isPending' | 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>
  onInvite: () => void
}) {
  const isAdmin = useIsAdmin(organizationId)
  const [unwanted, setUnwanted] = useState<{ invitation: Invitation; isAsked: boolean }>()
  const isExpired = ({ expireAt }: Invitation) => Date.parse(expireAt) <= Date.now()
  return (
    <>
      <ListTable
        caption="Invitations that have not been accepted"
        items={invitations}
        query={query}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            title="Nobody is invited"
            action={
              isAdmin ? (
                <Button variant="default" onClick={onInvite}>
                  Invite somebody
                </Button>
              ) : undefined
            }
          >
            {isAdmin
              ? 'Say who and as what. You get a link to send to them; with it they set a password and join.'
              : 'Admins can invite people. Those who have not joined yet are listed here.'}
          </EmptyState>
        }
        columns={[
          {
            label: 'Email',
            cell: ({ email }) => (
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {email}
              </Text>
            ),
          },
          { label: 'Role', width: 120, cell: ({ role }) => (role === 'admin' ? 'Admin' : 'Developer') },
          { label: 'Invited', width: 140, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            label: 'Expires',
            width: 140,
            cell: (invitation) =>
              isExpired(invitation) ? (
                <Tooltip label="The link no longer works. Invite the person again for a new one.">
                  <Badge color="gray" variant="light" tt="none" tabIndex={0}>
                    Expired
                  </Badge>
                </Tooltip>
              ) : (
                <Time at={invitation.expireAt} />
              ),
          },
          {
            label: 'Delete',
            isLabelHidden: true,
            width: 56,
            align: 'right',
            cell: (invitation) => {
              const label = `Delete the invitation of ${invitation.email}`
              const whyNot = isAdmin ? undefined : 'Only admins can delete invitations.'
              return (
                <Tooltip label={whyNot ?? label}>
                  <ActionIcon
                    variant="subtle"
                    color={!isAdmin ? 'gray' : 'red'}
                    aria-label={whyNot ? `${label}. ${whyNot}` : label}
                    aria-disabled={!isAdmin}
                    className="may-be-disabled"
                    onClick={() => isAdmin && setUnwanted({ invitation, isAsked: true })}
                  >
                    <TrashIcon size={18} />
                  </ActionIcon>
                </Tooltip>
              )
            },
          },
        ]}
      />
      {unwanted && (
        <Confirm
          key={unwanted.invitation.id}
          organizationId={organizationId}
          opened={unwanted.isAsked}
          onClose={() => setUnwanted({ ...unwanted, isAsked: false })}
          title={`Delete the invitation of ${unwanted.invitation.email}?`}
          label="Delete invitation"
          call={(api) => api.deleteInvitation({ organizationId, invitationId: unwanted.invitation.id })}
        >
          The link that was sent stops working at once. You can invite the person again at any time.
        </Confirm>
      )}
    </>
  )
}
