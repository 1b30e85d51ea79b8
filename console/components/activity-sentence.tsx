// Renders an activity as a sentence without subject: "changed the role of Amara Okafor to admin".
import type { ReactNode } from 'react'
import type { Activity } from '../../src/client/shapes.ts'
import { activityTypeLabel } from './activity-types.ts'
import { type Kind, ServiceThing, shortId, strong, Thing } from './named-thing.tsx'
import { RowLink } from './row-parts.tsx'

/** The recorded target with the ids of its parents. */
export type Target = Activity['target'] & { serviceId?: string }

export function ActivitySentence({ organizationId, activity }: { organizationId: string; activity: Activity }) {
  const { type, changes } = activity
  const target: Target = activity.target
  const thing = (kind: Kind, id = target.id) => (
    <Thing
      organizationId={organizationId}
      kind={kind}
      id={id}
      serviceId={target.serviceId}
      recorded={nameIn(activity)}
    />
  )
  const service =
    target.serviceId === undefined ? 'a service' : <ServiceThing {...{ organizationId, id: target.serviceId }} />
  switch (type) {
    case 'organization_updated':
      return <>renamed the organization to {strong(changeOf(activity, 'name')?.to)}</>
    case 'member_role_changed':
      return (
        <>
          changed the role of {thing('member')} to {String(changeOf(activity, 'role')?.to)}
        </>
      )
    case 'member_removed':
      return <>removed {strong(recordOf(activity, 'member').email)} from the organization</>
    case 'invitation_created': {
      const { email, role } = recordOf(activity, 'invitation')
      return (
        <>
          invited {strong(email)} as {String(role)}
        </>
      )
    }
    case 'invitation_deleted':
      return <>took back the invitation of {strong(recordOf(activity, 'invitation').email)}</>
    case 'invitation_accepted': {
      const { role } = recordOf(activity, 'member')
      return role === undefined ? 'accepted an invitation' : `accepted an invitation and joined as ${role}`
    }
    case 'key_created':
      return <>created the key {thing('key')}</>
    case 'key_deleted':
      return <>deleted the key {thing('key')}</>
    case 'key_rotated':
      return <>gave the key {thing('key')} a new secret</>
    case 'key_updated':
      return keyChange(activity, thing('key'))
    case 'service_created':
      return <>registered the service {thing('service')}</>
    case 'service_deleted':
      return <>removed the service {thing('service')}</>
    case 'service_updated':
      return (
        <>
          changed {fieldsOf(activity)} of the service {thing('service')}
        </>
      )
    case 'private_endpoint_created':
      return (
        <>
          attached the private endpoint {strong(target.id)} to {service}
        </>
      )
    case 'private_endpoint_deleted':
      return (
        <>
          detached the private endpoint {strong(target.id)} from {service}
        </>
      )
    case 'pipe_created':
      return <>created the pipe {thing('pipe')}</>
    case 'pipe_deleted':
      return <>deleted the pipe {thing('pipe')}</>
    case 'pipe_state_changed':
      return (
        <>
          {commandOf(activity)} the pipe {thing('pipe')}
        </>
      )
    case 'pipe_errors_replayed':
      return <>retried rejected rows of the pipe {thing('pipe')}</>
    case 'pipe_scaled':
      return <>changed the scaling of the pipe {thing('pipe')}</>
    case 'pipe_settings_updated':
      return (
        <>
          changed {changes.length === 1 ? `the setting ${lastPart(changes[0]!.field)}` : 'the settings'} of the pipe{' '}
          {thing('pipe')}
        </>
      )
    case 'pipe_password_tried':
      return <>tried the stored password of the pipe {thing('pipe')} at another host or port</>
    case 'pipe_updated':
      return (
        <>
          changed {fieldsOf(activity)} of the pipe {thing('pipe')}
        </>
      )
    default:
      return <>{activityTypeLabel(type)}</>
  }
}

function keyChange(activity: Activity, key: ReactNode): ReactNode {
  const [change, ...others] = activity.changes
  if (change && others.length === 0) {
    if (change.field === 'state') {
      return (
        <>
          {change.to === 'enabled' ? 'enabled' : 'disabled'} the key {key}
        </>
      )
    }
    if (change.field === 'name') {
      return (
        <>
          renamed the key {strong(change.from)} to {strong(change.to)}
        </>
      )
    }
    if (change.field === 'roles') {
      return (
        <>
          changed the role of the key {key} to {String(change.to)}
        </>
      )
    }
  }
  return (
    <>
      changed {fieldsOf(activity)} of the key {key}
    </>
  )
}

/** The command, derived from the resulting state. */
function commandOf(activity: Activity): string {
  const state = changeOf(activity, 'state')?.to
  if (state === 'Provisioning') return 'started'
  if (state === 'Resync') return 'resynced'
  return 'stopped'
}

function changeOf({ changes }: Activity, field: string) {
  return changes.find((change) => change.field === field)
}

/** The recorded value of a created or deleted object. */
function recordOf(activity: Activity, field: string): Record<string, unknown> {
  const change = changeOf(activity, field)
  return (change?.to ?? change?.from ?? {}) as Record<string, unknown>
}

/** The name recorded in the activity, available also for deleted objects. */
function nameIn(activity: Activity): string | undefined {
  const change = changeOf(activity, 'name')
  const name = change?.to ?? recordOf(activity, activity.target.type).name
  return typeof name === 'string' ? name : undefined
}

const fieldNames: Record<string, string> = {
  roles: 'the role',
  state: 'the state',
  expireAt: 'the expiry',
  ipAccessList: 'the IP access list',
  privateEndpointIds: 'the private endpoints',
  fieldMappings: 'the field mappings',
  scaling: 'the scaling',
}

/** "the name, the expiry and the IP access list" */
function fieldsOf({ changes }: Activity): string {
  const names = [...new Set(changes.map(({ field }) => field.split('.')[0]!))].map(
    (field) => fieldNames[field] ?? `the ${field}`,
  )
  if (names.length < 2) return names[0] ?? 'nothing'
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

function lastPart(field: string): string {
  return field.split('.').at(-1)!
}

export function actorName({ actor }: Pick<Activity, 'actor'>): string {
  if (actor.name !== undefined) return actor.name
  if (actor.type === 'system') return 'Penstock'
  return actor.type === 'key' ? `Key ${shortId(actor.id)}` : `Person ${shortId(actor.id)}`
}

/** The person or key that made the change. */
export function Actor({ organizationId, activity }: { organizationId: string; activity: Activity }) {
  const { actor } = activity
  const name = actorName(activity)
  if (actor.type !== 'key') return strong(name)
  if (actor.name === undefined) {
    return (
      <>
        {strong(name)} <Aside>deleted</Aside>
      </>
    )
  }
  return (
    <>
      <RowLink isStrong to={`/o/${organizationId}/keys/${actor.id}`}>
        {name}
      </RowLink>{' '}
      <Aside>key</Aside>
    </>
  )
}

function Aside({ children }: { children: string }) {
  return <span className="dimmed">({children})</span>
}
