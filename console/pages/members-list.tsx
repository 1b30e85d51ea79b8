import { Button } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Member } from '../../src/client/shapes.ts'
import { metricsQuery } from '../api/queries.ts'
import { sessionQuery, useIsAdmin, useSignedIn } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { type Column, type ListQuery, ListTable } from '../components/list-table.tsx'
import { roleLabels } from '../components/role.ts'
import { RowButton } from '../components/row-parts.tsx'
import { Time } from '../components/time.tsx'
import { ChangeRole } from './members-role.tsx'

interface Asked {
  member: Member
  /** Undefined: the dialog is closing. */
  what: 'role' | 'removal' | undefined
}

export function MemberTable({
  organizationId,
  members,
  query,
  isFiltered,
  onClearFilter,
}: {
  organizationId: string
  members: Member[]
  query: ListQuery
  isFiltered: boolean
  onClearFilter: () => void
}) {
  const { user } = useSignedIn()
  const isAdmin = useIsAdmin(organizationId)
  const [asked, setAsked] = useState<Asked>()
  const lastAdminId = useLastAdminId(organizationId, members, isFiltered || query.hasNextPage)
  const columns = useMemo(
    () =>
      columnsFor({
        selfId: user.id,
        isAdmin,
        lastAdminId,
        askRole: (member) => setAsked({ member, what: 'role' }),
        askRemoval: (member) => setAsked({ member, what: 'removal' }),
      }),
    [user.id, isAdmin, lastAdminId],
  )
  const close = () => setAsked((last) => last && { ...last, what: undefined })
  return (
    <>
      <ListTable
        caption="Members"
        minWidth={720}
        items={members}
        query={query}
        keyOf={({ userId }) => userId}
        empty={
          <EmptyState
            title="No member matches"
            action={
              <Button variant="default" onClick={onClearFilter}>
                Show all members
              </Button>
            }
          >
            Nobody in this organization has this text in their name or email address.
          </EmptyState>
        }
        columns={columns}
      />
      {asked && (
        <ChangeRole
          key={`role-${asked.member.userId}`}
          organizationId={organizationId}
          member={asked.member}
          isSelf={asked.member.userId === user.id}
          opened={asked.what === 'role'}
          onClose={close}
        />
      )}
      {asked && (
        <RemoveMember
          key={`removal-${asked.member.userId}`}
          organizationId={organizationId}
          member={asked.member}
          isSelf={asked.member.userId === user.id}
          opened={asked.what === 'removal'}
          onClose={close}
        />
      )}
    </>
  )
}

/** Undefined unless it is certain that there is only one admin. */
function useLastAdminId(organizationId: string, members: Member[], areSome: boolean): string | undefined {
  const admins = members.filter(({ role }) => role === 'admin')
  // Members that are not loaded may include another admin, so the metrics of the organization are used for the count.
  const metrics = useQuery({ ...metricsQuery(organizationId), enabled: areSome, throwOnError: false })
  const adminCount = areSome ? metrics.data?.members.admin : admins.length
  return adminCount === 1 ? admins[0]?.userId : undefined
}

function columnsFor({
  selfId,
  isAdmin,
  lastAdminId,
  askRole,
  askRemoval,
}: {
  selfId: string
  isAdmin: boolean
  lastAdminId: string | undefined
  askRole: (member: Member) => void
  askRemoval: (member: Member) => void
}): Column<Member>[] {
  const reasonFor = ({ userId }: Member, adminsOnly: string, ofLastAdmin: string): string | undefined => {
    if (!isAdmin) return adminsOnly
    return userId === lastAdminId ? ofLastAdmin : undefined
  }
  return [
    {
      label: 'Name',
      cell: ({ name, email, userId }) => (
        <>
          <b className="row-strong">{name}</b>
          {userId === selfId && ' (you)'}
          <div className="dimmed">{email}</div>
        </>
      ),
    },
    {
      label: 'Role',
      width: 160,
      cell: ({ role, userId }) => (
        <>
          {roleLabels[role]}
          {userId === lastAdminId && <div className="row-more">The only admin</div>}
        </>
      ),
    },
    { label: 'Joined', width: 140, cell: ({ joinedAt }) => <Time at={joinedAt} /> },
    {
      label: 'Actions',
      isLabelHidden: true,
      width: 210,
      align: 'right',
      cell: (member) => (
        <>
          <RowButton
            label={`Change role of ${member.name}`}
            reason={reasonFor(
              member,
              'Only admins can change roles.',
              'An organization keeps an admin: make another member an admin first.',
            )}
            onClick={() => askRole(member)}
          >
            Change role
          </RowButton>
          <RowButton
            label={`Remove ${member.name}`}
            isDanger
            reason={reasonFor(
              member,
              'Only admins can remove members.',
              'The only admin cannot be removed. Make another member an admin first.',
            )}
            onClick={() => askRemoval(member)}
          >
            Remove
          </RowButton>
        </>
      ),
    },
  ]
}

function RemoveMember({
  organizationId,
  member,
  isSelf,
  opened,
  onClose,
}: {
  organizationId: string
  member: Member
  isSelf: boolean
  opened: boolean
  onClose: () => void
}) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { userId, name, email } = member
  return (
    <Confirm
      organizationId={organizationId}
      opened={opened}
      onClose={onClose}
      title={isSelf ? 'Leave this organization?' : `Remove ${name}?`}
      label={isSelf ? 'Remove yourself' : 'Remove member'}
      doneText={isSelf ? 'You left the organization' : `${name} removed`}
      call={(api) => api.deleteMember({ organizationId, userId })}
      onDone={async () => {
        if (!isSelf) return
        await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
        await navigate({ to: '/' })
      }}
    >
      {isSelf ? (
        'You can no longer see or change anything here, and come back only when an admin invites you. '
      ) : (
        <>
          <b>{name}</b> ({email}) can no longer see or change anything in this organization, and comes back only when an
          admin invites them.{' '}
        </>
      )}
      API keys belong to the organization and stay, also those that {isSelf ? 'you' : 'they'} know: delete or rotate
      these.
    </Confirm>
  )
}
