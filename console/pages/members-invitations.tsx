import { Button } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Invitation } from '../../src/client/shapes.ts'
import { useIsAdmin } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { type Column, type ListQuery, ListTable } from '../components/list-table.tsx'
import { roleLabels } from '../components/role.ts'
import { RowButton } from '../components/row-parts.tsx'
import { WordBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'

export function InvitationTable({
  organizationId,
  invitations,
  query,
  onInvite,
}: {
  organizationId: string
  invitations: Invitation[]
  query: ListQuery
  onInvite: () => void
}) {
  const isAdmin = useIsAdmin(organizationId)
  const [unwanted, setUnwanted] = useState<{ invitation: Invitation; isAsked: boolean }>()
  const columns = useMemo(
    () => columnsFor(isAdmin, (invitation) => setUnwanted({ invitation, isAsked: true })),
    [isAdmin],
  )
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
        columns={columns}
      />
      {unwanted && (
        <Confirm
          key={unwanted.invitation.id}
          organizationId={organizationId}
          opened={unwanted.isAsked}
          onClose={() => setUnwanted({ ...unwanted, isAsked: false })}
          title={`Delete the invitation of ${unwanted.invitation.email}?`}
          label="Delete invitation"
          doneText={`Invitation of ${unwanted.invitation.email} deleted`}
          call={(api) => api.deleteInvitation({ organizationId, invitationId: unwanted.invitation.id })}
        >
          The link that was sent stops working at once. You can invite the person again at any time.
        </Confirm>
      )}
    </>
  )
}

function columnsFor(isAdmin: boolean, askDeletion: (invitation: Invitation) => void): Column<Invitation>[] {
  const isExpired = ({ expireAt }: Invitation) => Date.parse(expireAt) <= Date.now()
  return [
    { label: 'Email', cell: ({ email }) => email },
    { label: 'Role', width: 120, cell: ({ role }) => roleLabels[role] },
    { label: 'Invited', width: 140, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      label: 'Expires',
      width: 180,
      cell: (invitation) =>
        isExpired(invitation) ? (
          <>
            <WordBadge color="gray">Expired</WordBadge>
            <div className="row-more">Invite the person again</div>
          </>
        ) : (
          <Time at={invitation.expireAt} />
        ),
    },
    {
      label: 'Delete',
      isLabelHidden: true,
      width: 90,
      align: 'right',
      cell: (invitation) => (
        <RowButton
          label={`Delete the invitation of ${invitation.email}`}
          isDanger
          reason={isAdmin ? undefined : 'Only admins can delete invitations.'}
          onClick={() => askDeletion(invitation)}
        >
          Delete
        </RowButton>
      ),
    },
  ]
}
