import { Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { invitationsQuery, membersQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { PlusIcon, SearchIcon } from '../components/icons.tsx'
import { itemsOf } from '../components/list-table.tsx'
import { Page } from '../components/page.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { useSearchText } from '../components/use-search-text.ts'
import { InvitationTable } from './members-invitations.tsx'
import { InviteModal } from './members-invite.tsx'
import { MemberTable } from './members-list.tsx'

const route = '/signed-in/o/$organizationId/members'

export function MembersPage() {
  const { organizationId } = useParams({ from: route })
  const { search } = useSearch({ from: route })
  const navigate = useNavigate()
  const setSearch = (text: string) =>
    void navigate({
      to: '/o/$organizationId/members',
      params: { organizationId },
      search: { search: text === '' ? undefined : text },
      replace: true,
    })
  const isAdmin = useIsAdmin(organizationId)
  const members = useInfiniteQuery({ ...membersQuery(organizationId, search), placeholderData: keepPreviousData })
  const invitations = useInfiniteQuery(invitationsQuery(organizationId))
  const [isInviting, { open: invite, close: closeInvite }] = useDisclosure(false)
  return (
    <Page
      title="Members"
      about={
        <>
          The people of the organization. Admins may do everything; developers are read-only.
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
      <MemberSearch search={search ?? ''} onSearch={setSearch} />
      <MemberTable
        organizationId={organizationId}
        query={members}
        members={itemsOf(members)}
        isFiltered={search !== undefined}
        onClearFilter={() => setSearch('')}
      />
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

/** The search runs on the server, because matching members may be on pages that are not loaded. */
function MemberSearch({ search, onSearch }: { search: string; onSearch: (text: string) => void }) {
  const { typed, setTyped, send } = useSearchText(search, onSearch)
  const searchSoon = useDebouncedCallback((text: string) => send(text.trim()), 250)
  return (
    <search aria-label="Search members">
      <TextInput
        label="Search"
        placeholder="Name or email"
        type="search"
        leftSection={<SearchIcon size={16} />}
        maw={360}
        maxLength={200}
        value={typed}
        onChange={({ currentTarget: { value } }) => {
          setTyped(value)
          searchSoon(value)
        }}
      />
    </search>
  )
}
