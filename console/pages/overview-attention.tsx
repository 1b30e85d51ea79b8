// Items that need attention: failures, upcoming expiries, a single admin.
import { List, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Invitation, Key } from '../../src/client/shapes.ts'
import type { Metrics } from '../api/metrics.ts'
import { allInvitationsQuery, allKeysQuery } from '../api/queries.ts'
import { keyStatusOf } from '../components/key-status.ts'
import { PageLink } from '../components/page-link.tsx'
import { Section } from '../components/section.tsx'
import { WordBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'
import { Item, moreOf, mostShown } from './overview-attention-item.tsx'
import { BrokenPipes, BrokenServices, brokenPipesOf, brokenServicesOf, RejectedRows } from './overview-broken.tsx'

const dayMs = 86_400_000
const keyExpiresSoonMs = 14 * dayMs
const keyUnusedMs = 90 * dayMs
/** An invitation is valid for seven days. */
const invitationExpiresSoonMs = 2 * dayMs

export function Attention({ organizationId, metrics }: { organizationId: string; metrics: Metrics }) {
  const { data: keysRead } = useQuery(allKeysQuery(organizationId))
  const { data: invitationsRead } = useQuery(allInvitationsQuery(organizationId))
  if (!keysRead || !invitationsRead) return null
  const services = brokenServicesOf(metrics)
  const pipes = brokenPipesOf(metrics)
  const keys = keysRead.items
    .flatMap((key) => {
      const concern = concernOf(key, Date.now())
      return concern ? [{ key, concern }] : []
    })
    .sort((one, other) => concerns.indexOf(one.concern) - concerns.indexOf(other.concern))
  const invitations = invitationsRead.items.filter(
    ({ expireAt }) => Date.parse(expireAt) - Date.now() < invitationExpiresSoonMs,
  )
  // Not for a new organization, whose first steps ask for another member.
  const hasOneAdmin = metrics.members.admin === 1 && metrics.services.length > 0
  const isCalm =
    services.length + pipes.length + metrics.rejected.length + keys.length + invitations.length === 0 && !hasOneAdmin
  // Nothing has been set up yet.
  if (isCalm && metrics.services.length === 0) return null
  return (
    <Section title="What needs attention">
      {isCalm ? (
        <Text size="sm" c="dimmed">
          {calmText(metrics)}
        </Text>
      ) : (
        <List listStyleType="none" className="overview-list" size="sm">
          <BrokenServices organizationId={organizationId} services={services} />
          <BrokenPipes organizationId={organizationId} services={metrics.services} counts={pipes} />
          <RejectedRows organizationId={organizationId} services={metrics.services} rejected={metrics.rejected} />
          {keys.slice(0, mostShown).map(({ key, concern }) => (
            <KeyItem key={key.id} organizationId={organizationId} apiKey={key} concern={concern} />
          ))}
          {keys.length > mostShown && (
            <Item badge={null}>
              <PageLink inherit underline="always" to="/o/$organizationId/keys" params={{ organizationId }}>
                {moreOf(keys.length - mostShown, 'key')}
              </PageLink>{' '}
              expired, ending soon or unused
            </Item>
          )}
          {invitations.slice(0, mostShown).map((invitation) => (
            <InvitationItem key={invitation.id} organizationId={organizationId} invitation={invitation} />
          ))}
          {invitations.length > mostShown && (
            <Item badge={null}>
              <PageLink inherit underline="always" to="/o/$organizationId/members" params={{ organizationId }}>
                {moreOf(invitations.length - mostShown, 'invitation')}
              </PageLink>{' '}
              expired or ending soon
            </Item>
          )}
          {hasOneAdmin && (
            <Item
              badge={<WordBadge color="gray">One admin</WordBadge>}
              about="When that person is away, nobody can change anything."
            >
              The organization has a single admin.{' '}
              <PageLink inherit underline="always" to="/o/$organizationId/members" params={{ organizationId }}>
                Make another member an admin, or invite one
              </PageLink>
            </Item>
          )}
        </List>
      )}
      {!keysRead.areAll && (
        <Text size="sm" c="dimmed">
          Only the newest {keysRead.items.length.toLocaleString('en')} keys were checked; there are more.
        </Text>
      )}
      {!invitationsRead.areAll && (
        <Text size="sm" c="dimmed">
          Only the newest {invitationsRead.items.length.toLocaleString('en')} invitations were checked; there are more.
        </Text>
      )}
    </Section>
  )
}

/** Claims nothing about services that have not been checked yet. */
function calmText({ services }: Metrics): string {
  const unchecked = services.filter(({ state }) => state === 'provisioning').length
  const answering =
    unchecked === 0
      ? 'Every service answers'
      : unchecked === 1
        ? 'No service has failed (1 has not been checked yet)'
        : `No service has failed (${unchecked} have not been checked yet)`
  return `Nothing. ${answering}, no pipe has failed or rejected rows, and no key or invitation ends soon.`
}

const concerns = ['expired', 'expires soon', 'unused'] as const
type Concern = (typeof concerns)[number]

function concernOf(key: Key, now: number): Concern | undefined {
  const status = keyStatusOf(key, now)
  if (status === 'expired') return 'expired'
  if (status === 'disabled') return undefined
  if (key.expireAt !== null && Date.parse(key.expireAt) - now < keyExpiresSoonMs) return 'expires soon'
  return now - Date.parse(key.usedAt ?? key.createdAt) > keyUnusedMs ? 'unused' : undefined
}

function KeyItem({ organizationId, apiKey, concern }: { organizationId: string; apiKey: Key; concern: Concern }) {
  const { id, name, expireAt, usedAt } = apiKey
  const link = (
    <PageLink inherit fw={600} to="/o/$organizationId/keys/$keyId" params={{ organizationId, keyId: id }}>
      {name}
    </PageLink>
  )
  switch (concern) {
    case 'expired':
      return (
        <Item
          badge={<WordBadge color="red">Expired</WordBadge>}
          about="Requests with it are refused. Give it another expiry, or delete it."
        >
          The key {link} expired <Time at={expireAt!} />
        </Item>
      )
    case 'expires soon':
      return (
        <Item
          badge={<WordBadge color="orange">Expires soon</WordBadge>}
          about="From then on requests with it are refused."
        >
          The key {link} expires <Time at={expireAt!} />
        </Item>
      )
    case 'unused':
      return (
        <Item badge={<WordBadge color="gray">Unused</WordBadge>} about="A key that nobody needs is better deleted.">
          The key {link}{' '}
          {usedAt === null ? (
            'has never been used'
          ) : (
            <>
              was last used <Time at={usedAt} />
            </>
          )}
        </Item>
      )
  }
}

function InvitationItem({ organizationId, invitation }: { organizationId: string; invitation: Invitation }) {
  const { email, expireAt } = invitation
  const hasExpired = Date.parse(expireAt) <= Date.now()
  return (
    <Item
      badge={
        hasExpired ? <WordBadge color="gray">Expired</WordBadge> : <WordBadge color="orange">Expires soon</WordBadge>
      }
      about={hasExpired ? 'Invite the person again, or delete the invitation.' : 'It has not been accepted yet.'}
    >
      The{' '}
      <PageLink inherit underline="always" to="/o/$organizationId/members" params={{ organizationId }}>
        invitation of {email}
      </PageLink>{' '}
      {hasExpired ? 'expired' : 'expires'} <Time at={expireAt} />
    </Item>
  )
}
