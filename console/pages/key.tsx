import { List, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Key } from '../../src/client/shapes.ts'
import { keyQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { CopyText } from '../components/copy.tsx'
import { exactTime } from '../components/exact-time.ts'
import { type Fact, Facts } from '../components/facts.tsx'
import { ResyncIcon } from '../components/icons.tsx'
import { type KeyAction, KeyConfirmation } from '../components/key-confirmations.tsx'
import { KeyStateBadge } from '../components/key-state.tsx'
import { previousSecretText } from '../components/key-status.ts'
import { LoadingPage } from '../components/loading.tsx'
import { Page } from '../components/page.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { rolesText } from '../components/role.ts'
import { Section } from '../components/section.tsx'
import { Time } from '../components/time.tsx'
import { EditKey } from './key-edit.tsx'

export function KeyPage() {
  const { organizationId, keyId } = useParams({ from: '/signed-in/o/$organizationId/keys/$keyId' })
  const { data } = useQuery(keyQuery(organizationId, keyId))
  if (!data) return <LoadingPage />
  return <OneKey key={keyId} organizationId={organizationId} apiKey={data.result} etag={data.etag} />
}

function OneKey({ organizationId, apiKey, etag }: { organizationId: string; apiKey: Key; etag: string | undefined }) {
  const isAdmin = useIsAdmin(organizationId)
  const navigate = useNavigate()
  const [action, setAction] = useState<KeyAction>()
  const reason = isAdmin ? undefined : 'Only admins can change keys'
  const isEnabled = apiKey.state === 'enabled'
  return (
    <Page
      title={apiKey.name}
      crumbs={[{ label: 'API keys', to: `/o/${organizationId}/keys` }]}
      actions={
        <>
          <ReasonButton
            variant="default"
            leftSection={<ResyncIcon size={16} />}
            reason={reason}
            onClick={() => setAction('rotate')}
          >
            Rotate
          </ReasonButton>
          <ReasonButton variant="default" reason={reason} onClick={() => setAction(isEnabled ? 'disable' : 'enable')}>
            {isEnabled ? 'Disable' : 'Enable'}
          </ReasonButton>
        </>
      }
    >
      <Section title="About this key">
        <Facts facts={factsOf(apiKey)} />
      </Section>
      <EditKey key={apiKey.id} organizationId={organizationId} apiKey={apiKey} etag={etag} isAdmin={isAdmin} />
      <Section
        title="Delete this key"
        about="Requests with this key are refused from then on. It cannot be restored. To switch it off temporarily, disable it."
      >
        <div>
          <ReasonButton color="red" variant="outline" reason={reason} onClick={() => setAction('delete')}>
            Delete key
          </ReasonButton>
        </div>
      </Section>
      <KeyConfirmation
        key={`asked-${apiKey.id}`}
        organizationId={organizationId}
        apiKey={apiKey}
        action={action}
        onClose={() => setAction(undefined)}
        onDeleted={() => navigate({ to: '/o/$organizationId/keys', params: { organizationId }, ignoreBlocker: true })}
      />
    </Page>
  )
}

function factsOf(key: Key): Fact[] {
  return [
    { label: 'State', value: <KeyStateBadge apiKey={key} /> },
    { label: 'Role', value: rolesText(key.roles) },
    { label: 'Key id', value: <CopyText text={key.keyId} label="key id" /> },
    { label: 'Secret', value: `Ends in ${key.keySuffix}; the rest is never shown again` },
    ...(key.previousSecretValidUntil === null
      ? []
      : [
          {
            label: 'Previous secret',
            value: capitalized(previousSecretText(key)),
          },
        ]),
    { label: 'Expires', value: key.expireAt === null ? 'Never' : <Timestamp at={key.expireAt} /> },
    { label: 'Last used', value: key.usedAt === null ? 'Never' : <Timestamp at={key.usedAt} /> },
    { label: 'Usable from', value: <UsableFrom list={key.ipAccessList} /> },
    { label: 'Created', value: <Timestamp at={key.createdAt} /> },
    { label: 'API id', value: <CopyText text={key.id} label="id of the key" /> },
  ]
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function Timestamp({ at }: { at: string }) {
  return (
    <>
      <Time at={at} />{' '}
      <Text span size="sm" c="dimmed">
        ({exactTime(at)})
      </Text>
    </>
  )
}

function UsableFrom({ list }: { list: Key['ipAccessList'] }) {
  if (list.length === 0) return 'Everywhere'
  return (
    <List size="sm" listStyleType="none">
      {list.map(({ source, description }) => (
        <List.Item key={source}>
          <Text span ff="monospace" size="sm">
            {source}
          </Text>{' '}
          {description && (
            <Text span size="sm" c="dimmed">
              {description}
            </Text>
          )}
        </List.Item>
      ))}
    </List>
  )
}
