// What somebody should look at: what has failed, what ends soon, what hangs on one person.
import { Badge, Group, List, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Invitation, Key, Pipe, Service } from '../../src/client/shapes.ts'
import type { Metrics } from '../api/metrics.ts'
import { invitationsQuery, keysQuery, pipesQuery, servicesQuery } from '../api/queries.ts'
import { standingOf } from '../components/key-state.tsx'
import { itemsOf } from '../components/list-table.tsx'
import { PageLink } from '../components/page-link.tsx'
import { stateMeanings } from '../components/pipe-fields.ts'
import { Section } from '../components/section.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'

const dayMs = 86_400_000
const keyExpiresSoonMs = 14 * dayMs
const keyUnusedMs = 90 * dayMs
/** An invitation is good for seven days. */
const invitationExpiresSoonMs = 2 * dayMs
/** Of each kind: the lists have them all. */
const most = 5

const brokenServiceStates: Service['state'][] = ['failed', 'degraded', 'stopped']
const brokenPipeStates: Pipe['state'][] = ['Failed', 'InternalError', 'Degraded']

export function Attention({ organizationId, metrics }: { organizationId: string; metrics: Metrics }) {
  const keysRead = useInfiniteQuery(keysQuery(organizationId))
  const invitationsRead = useInfiniteQuery(invitationsQuery(organizationId))
  const services = metrics.services.filter(({ state }) => brokenServiceStates.includes(state))
  const pipes = metrics.pipes.filter(({ state }) => brokenPipeStates.includes(state))
  const keys = itemsOf(keysRead).flatMap((key) => {
    const concern = concernOf(key, Date.now())
    return concern ? [{ key, concern }] : []
  })
  const invitations = itemsOf(invitationsRead).filter(
    ({ expireAt }) => Date.parse(expireAt) - Date.now() < invitationExpiresSoonMs,
  )
  // A new organization has one person: its first steps ask for another.
  const hasOneAdmin = metrics.members.admin === 1 && metrics.services.length > 0
  if (keysRead.isPending || invitationsRead.isPending) return null
  const isCalm = services.length + pipes.length + keys.length + invitations.length === 0 && !hasOneAdmin
  // Nothing has been set up that could need any.
  if (isCalm && metrics.services.length === 0) return null
  return (
    <Section title="What needs attention">
      {isCalm ? (
        <Text size="sm" c="dimmed">
          Nothing. Every service answers, no pipe has failed, and no key or invitation ends soon.
        </Text>
      ) : (
        <List listStyleType="none" className="overview-list" size="sm">
          {services.length > 0 && <BrokenServices organizationId={organizationId} services={services} />}
          {[...new Set(pipes.map(({ serviceId }) => serviceId))].slice(0, most).map((serviceId) => (
            <BrokenPipes
              key={serviceId}
              organizationId={organizationId}
              serviceId={serviceId}
              counts={pipes.filter((one) => one.serviceId === serviceId)}
            />
          ))}
          {keys.slice(0, most).map(({ key, concern }) => (
            <KeyItem key={key.id} organizationId={organizationId} apiKey={key} concern={concern} />
          ))}
          {keys.length > most && (
            <Item badge={null}>
              <PageLink inherit underline="always" to="/o/$organizationId/keys" params={{ organizationId }}>
                {keys.length - most} more keys
              </PageLink>
            </Item>
          )}
          {invitations.slice(0, most).map((invitation) => (
            <InvitationItem key={invitation.id} organizationId={organizationId} invitation={invitation} />
          ))}
          {hasOneAdmin && (
            <Item
              badge={<Word color="orange">one admin</Word>}
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
    </Section>
  )
}

/** One thing: what it is about in a word, what it is, and more about it. */
function Item({ badge, children, about }: { badge: ReactNode; children: ReactNode; about?: ReactNode }) {
  return (
    <List.Item>
      <Group gap="xs" align="flex-start" className="attention-item">
        <div className="attention-badge">{badge}</div>
        <Stack gap={2} flex={1} miw={0}>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {children}
          </Text>
          {about && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {about}
            </Text>
          )}
        </Stack>
      </Group>
    </List.Item>
  )
}

function Word({ color, children }: { color: 'red' | 'orange' | 'gray'; children: string }) {
  return (
    <Badge color={color} variant="light" size="sm" className={`state-badge state-${color}`}>
      {children}
    </Badge>
  )
}

function BrokenServices({ organizationId, services }: { organizationId: string; services: Metrics['services'] }) {
  const known = itemsOf(useInfiniteQuery(servicesQuery(organizationId)))
  return (
    <>
      {services.slice(0, most).map(({ id, name, state }) => (
        <Item
          key={id}
          badge={<StateBadge state={state} />}
          about={known.find((service) => service.id === id)?.stateReason}
        >
          The service{' '}
          <PageLink
            inherit
            fw={600}
            to="/o/$organizationId/services/$serviceId"
            params={{ organizationId, serviceId: id }}
          >
            {name}
          </PageLink>{' '}
          {state === 'stopped'
            ? 'has stopped'
            : state === 'degraded'
              ? 'does not answer every check'
              : 'cannot be used'}
        </Item>
      ))}
      {services.length > most && (
        <Item badge={null}>
          <PageLink inherit underline="always" to="/o/$organizationId/services" params={{ organizationId }}>
            {services.length - most} more services
          </PageLink>
        </Item>
      )}
    </>
  )
}

function BrokenPipes({
  organizationId,
  serviceId,
  counts,
}: {
  organizationId: string
  serviceId: string
  counts: Metrics['pipes']
}) {
  const query = useInfiniteQuery(pipesQuery(organizationId, serviceId))
  if (query.isPending) return null
  const pipes = itemsOf(query)
    .filter(({ state }) => brokenPipeStates.includes(state))
    .slice(0, most)
  const others = counts.reduce((sum, { count }) => sum + count, 0) - pipes.length
  return (
    <>
      {pipes.map(({ id, name, state }) => (
        <Item key={id} badge={<StateBadge state={state} />} about={stateMeanings[state]}>
          The pipe{' '}
          <PageLink
            inherit
            fw={600}
            to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
            params={{ organizationId, serviceId, pipeId: id }}
          >
            {name}
          </PageLink>{' '}
          {state === 'Degraded' ? 'meets errors' : 'has failed'}
        </Item>
      ))}
      {others > 0 && (
        <Item badge={null}>
          <PageLink
            inherit
            underline="always"
            to="/o/$organizationId/pipes"
            params={{ organizationId }}
            search={{ service: serviceId }}
          >
            {others} more pipes of the same service
          </PageLink>
        </Item>
      )}
    </>
  )
}

type Concern = 'expired' | 'expires soon' | 'unused'

function concernOf(key: Key, now: number): Concern | undefined {
  const standing = standingOf(key, now)
  if (standing === 'expired') return 'expired'
  if (standing === 'disabled') return undefined
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
          badge={<Word color="red">expired</Word>}
          about="Whoever uses it is refused. Give it another expiry, or delete it."
        >
          The key {link} expired <Time at={expireAt!} />
        </Item>
      )
    case 'expires soon':
      return (
        <Item badge={<Word color="orange">expires soon</Word>} about="From then on whoever uses it is refused.">
          The key {link} expires <Time at={expireAt!} />
        </Item>
      )
    case 'unused':
      return (
        <Item badge={<Word color="gray">unused</Word>} about="A key that nobody needs is better deleted.">
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
      badge={hasExpired ? <Word color="gray">expired</Word> : <Word color="orange">expires soon</Word>}
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
