import { Button, Menu, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Key } from '../../src/client/shapes.ts'
import { keysQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { CopyText } from '../components/copy.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { MoreIcon, PlusIcon } from '../components/icons.tsx'
import { type KeyAction, KeyConfirmation } from '../components/key-confirmations.tsx'
import { KeyStateBadge, TimeOrNever, usableFrom } from '../components/key-state.tsx'
import { type Column, itemsOf, ListTable } from '../components/list-table.tsx'
import { Page } from '../components/page.tsx'
import { rolesText } from '../components/role.ts'
import { RowMenu } from '../components/row-menu.tsx'
import { RowButton, RowLink } from '../components/row-parts.tsx'

export function KeysPage() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId/keys' })
  const isAdmin = useIsAdmin(organizationId)
  const query = useInfiniteQuery(keysQuery(organizationId))
  const keys = itemsOf(query)
  const [asked, setAsked] = useState<{ key: Key; action: KeyAction | undefined }>()
  const [menu, setMenu] = useState<{ key: Key; opener: HTMLElement }>()
  const columns = useMemo(() => columnsFor(organizationId, (key, opener) => setMenu({ key, opener })), [organizationId])
  return (
    <Page
      title="API keys"
      about="Programs use a key to call the API: the key id as user name, its secret as password. Keys belong to the organization and stay when people leave."
      actions={keys.length > 0 && <CreateButton organizationId={organizationId} isAdmin={isAdmin} />}
    >
      <ListTable
        caption="API keys of the organization"
        items={keys}
        columns={columns}
        keyOf={({ id }) => id}
        query={query}
        minWidth={980}
        empty={
          <EmptyState
            title="No API keys yet"
            action={<CreateButton organizationId={organizationId} isAdmin={isAdmin} />}
          >
            A key lets a program do through the API what you do here. Create one per program, with no more than the role
            that it needs, and keep its secret where the program finds it.
          </EmptyState>
        }
      />
      {menu && (
        <KeyMenu
          organizationId={organizationId}
          apiKey={menu.key}
          opener={menu.opener}
          isAdmin={isAdmin}
          onClose={() => setMenu(undefined)}
          ask={(action) => setAsked({ key: menu.key, action })}
        />
      )}
      {asked && (
        <KeyConfirmation
          key={asked.key.id}
          organizationId={organizationId}
          apiKey={asked.key}
          action={asked.action}
          onClose={() => setAsked({ key: asked.key, action: undefined })}
        />
      )}
    </Page>
  )
}

function CreateButton({ organizationId, isAdmin }: { organizationId: string; isAdmin: boolean }) {
  if (isAdmin) {
    return (
      <Button component={Link} to={`/o/${organizationId}/keys/new`} leftSection={<PlusIcon size={16} />}>
        Create a key
      </Button>
    )
  }
  return (
    <>
      <Text size="sm" c="dimmed">
        Only admins can create keys.
      </Text>
      <Button leftSection={<PlusIcon size={16} />} disabled>
        Create a key
      </Button>
    </>
  )
}

function columnsFor(organizationId: string, openMenu: (key: Key, opener: HTMLElement) => void): Column<Key>[] {
  return [
    {
      label: 'Name',
      cell: ({ id, name }) => (
        <RowLink isStrong to={`/o/${organizationId}/keys/${id}`}>
          {name}
        </RowLink>
      ),
    },
    { label: 'Key id', cell: ({ keyId, name }) => <CopyText text={keyId} label={`key id of ${name}`} /> },
    { label: 'Role', cell: ({ roles }) => rolesText(roles) },
    { label: 'State', cell: (key) => <KeyStateBadge apiKey={key} /> },
    { label: 'Expires', cell: ({ expireAt }) => <TimeOrNever at={expireAt} /> },
    { label: 'Last used', cell: ({ usedAt }) => <TimeOrNever at={usedAt} /> },
    { label: 'Usable from', cell: ({ ipAccessList }) => usableFrom(ipAccessList) },
    {
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      width: 56,
      cell: (key) => (
        <RowButton
          label={`Actions for ${key.name}`}
          aria-haspopup="menu"
          onClick={({ currentTarget }) => openMenu(key, currentTarget)}
        >
          <MoreIcon size={18} />
        </RowButton>
      ),
    },
  ]
}

function KeyMenu({
  organizationId,
  apiKey,
  opener,
  isAdmin,
  onClose,
  ask,
}: {
  organizationId: string
  apiKey: Key
  opener: HTMLElement
  isAdmin: boolean
  onClose: () => void
  ask: (action: KeyAction) => void
}) {
  const askFor = (action: KeyAction): void => {
    // The menu item disappears, so the dialog returns the focus to the button of the row.
    opener.focus()
    ask(action)
  }
  return (
    <RowMenu opener={opener} label={`Actions for ${apiKey.name}`} onClose={onClose}>
      {!isAdmin && <Menu.Label>Only admins can change keys</Menu.Label>}
      <Menu.Item component={Link} to={`/o/${organizationId}/keys/${apiKey.id}`}>
        {isAdmin ? 'Open and change' : 'Open'}
      </Menu.Item>
      <Menu.Item disabled={!isAdmin} onClick={() => askFor('rotate')}>
        Rotate the secret
      </Menu.Item>
      {apiKey.state === 'enabled' ? (
        <Menu.Item disabled={!isAdmin} onClick={() => askFor('disable')}>
          Disable
        </Menu.Item>
      ) : (
        <Menu.Item disabled={!isAdmin} onClick={() => askFor('enable')}>
          Enable
        </Menu.Item>
      )}
      <Menu.Divider />
      <Menu.Item c="red" disabled={!isAdmin} onClick={() => askFor('delete')}>
        Delete
      </Menu.Item>
    </RowMenu>
  )
}
