import { ActionIcon, Badge, Group, Stack, Text, Tooltip } from '@mantine/core'
import { type UseInfiniteQueryResult, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Member } from '../../src/client/shapes.ts'
import { metricsQuery } from '../api/queries.ts'
import { sessionQuery, useIsAdmin, useSignedIn } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { TrashIcon } from '../components/icons.tsx'
import { ListTable } from '../components/list-table.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Time } from '../components/time.tsx'
import { MemberRole, type RoleRefusal } from './members-role.tsx'

export function MemberTable({
  organizationId,
  members,
  query,
}: {
  organizationId: string
  members: Member[]
  query: Pick<UseInfiniteQueryResult, 'isPending' | 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>
}) {
  const { user } = useSignedIn()
  const isAdmin = useIsAdmin(organizationId)
  const [leaving, setLeaving] = useState<{ member: Member; isAsked: boolean }>()
  const [refusal, setRefusal] = useState<RoleRefusal>()
  const admins = members.filter(({ role }) => role === 'admin')
  // There may be another admin among the members that have not been read: then the figures of the organization tell.
  const figures = useQuery({ ...metricsQuery(organizationId), enabled: query.hasNextPage, throwOnError: false })
  const adminCount = query.hasNextPage ? figures.data?.members.admin : admins.length
  const lastAdminId = adminCount === 1 ? admins[0]?.userId : undefined
  const whyNotRemove = ({ userId }: Member): string | undefined => {
    if (!isAdmin) return 'Only admins can remove members.'
    if (userId === lastAdminId) return 'The only admin cannot be removed. Make another member an admin first.'
    return undefined
  }
  return (
    <>
      {refusal && <ProblemNotice {...refusal} />}
      <ListTable
        caption="Members"
        minWidth={720}
        items={members}
        query={query}
        keyOf={({ userId }) => userId}
        // Whoever sees this page is a member.
        empty={null}
        columns={[
          {
            label: 'Name',
            cell: ({ name, email, userId }) => (
              <Stack gap={0}>
                <Group gap="xs" wrap="nowrap">
                  <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
                    {name}
                  </Text>
                  {userId === user.id && (
                    <Badge variant="default" size="sm" tt="none" style={{ flexShrink: 0 }}>
                      You
                    </Badge>
                  )}
                </Group>
                <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {email}
                </Text>
              </Stack>
            ),
          },
          {
            label: 'Role',
            width: 260,
            cell: (member) => (
              <MemberRole
                organizationId={organizationId}
                member={member}
                isSelf={member.userId === user.id}
                onRefusal={setRefusal}
                whyNot={
                  isAdmin
                    ? member.userId === lastAdminId
                      ? {
                          short: 'The only admin',
                          reason: 'An organization keeps an admin: make another member an admin first.',
                        }
                      : undefined
                    : { short: undefined, reason: 'Only admins can change roles.' }
                }
              />
            ),
          },
          { label: 'Joined', width: 140, cell: ({ joinedAt }) => <Time at={joinedAt} /> },
          {
            label: 'Remove',
            isLabelHidden: true,
            width: 56,
            align: 'right',
            cell: (member) => {
              const whyNot = whyNotRemove(member)
              const label = `Remove ${member.name}`
              return (
                <Tooltip label={whyNot ?? label}>
                  <ActionIcon
                    variant="subtle"
                    color={whyNot !== undefined ? 'gray' : 'red'}
                    aria-label={whyNot ? `${label}. ${whyNot}` : label}
                    // Still reachable, so that everybody can learn why it cannot be done.
                    aria-disabled={whyNot !== undefined}
                    className="may-be-disabled"
                    onClick={() => whyNot === undefined && setLeaving({ member, isAsked: true })}
                  >
                    <TrashIcon size={18} />
                  </ActionIcon>
                </Tooltip>
              )
            },
          },
        ]}
      />
      {leaving && (
        <RemoveMember
          key={leaving.member.userId}
          organizationId={organizationId}
          member={leaving.member}
          isSelf={leaving.member.userId === user.id}
          opened={leaving.isAsked}
          onClose={() => setLeaving({ ...leaving, isAsked: false })}
        />
      )}
    </>
  )
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
