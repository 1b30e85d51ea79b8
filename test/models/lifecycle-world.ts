// R9: the model of the things of an organization, and helpers for the rows of the operation table.
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { newId } from '../../src/lib/id.ts'
import type { Key } from '../harness/test-app.ts'
import type { Ids } from '../harness/world.ts'
import { type Acceptance, ask, type Json, type Memory, operationOf, type Real, timestampIn } from './against-model.ts'

export interface Thing {
  id: string
  /** Deleted; kept so that it can still be requested. */
  gone: boolean
  version: number
  /** The ETag of each state. */
  tags: Map<string, string>
  /** Current fields, except those derived from other things. */
  shown: Json
}

export interface KeyThing extends Thing {
  /** All secrets so far; the last one is current. */
  secrets: string[]
  /** Whether the previous secret is still valid. */
  previousIsGood: boolean
  /** Failed authentications; too many would be throttled. */
  failures: number
  isUsed: boolean
}

export interface ServiceThing extends Thing {
  hasEndpoint: boolean
  /** Private endpoints, with the change number of their attachment. */
  attached: Map<string, number>
}

export interface PipeThing extends Thing {
  kind: string
  serviceId: string
  /** Time of the request to retry the rejected rows. */
  replayRequestedAt: string | null
}

export interface Model extends Memory {
  /** Number of changes; things are ordered by it. */
  changeCount: number
  organization: Thing
  members: Thing[]
  invitations: Thing[]
  /** The first key sends most requests, and is always valid. */
  keys: KeyThing[]
  services: ServiceThing[]
  /** The private endpoints of the organization. */
  endpoints: Map<string, { description: string; since: number }>
  pipes: PipeThing[]
}

/** A kind of thing: how it is read, how it is shown, and what its ETag contains. */
export interface Noun<Kind extends Thing> {
  operationId: string
  ids(thing: Kind): Ids
  /** `answered` has values that only the server knows, which are checked here. */
  show(model: Model, thing: Kind, answered: Json): Json
  state(thing: Kind): string
}

const byVersion = ({ version }: Thing): string => String(version)

export const organizations: Noun<Thing> = {
  operationId: 'getOrganization',
  ids: () => ({}),
  show: (model, { shown }) => ({ ...shown, privateEndpoints: endpointsOfOrganization(model) }),
  state: byVersion,
}
export const members: Noun<Thing> = {
  operationId: 'getMember',
  ids: ({ id }) => ({ userId: id }),
  show: (_model, { shown }) => shown,
  state: byVersion,
}
export const invitations: Noun<Thing> = {
  operationId: 'getInvitation',
  ids: ({ id }) => ({ invitationId: id }),
  show: (_model, { shown }) => shown,
  state: byVersion,
}
export const keys: Noun<KeyThing> = {
  operationId: 'getKey',
  ids: ({ id }) => ({ keyId: id }),
  show: (_model, { shown, isUsed }, { usedAt }) => {
    // Recorded asynchronously.
    if (usedAt !== null) assert.ok(isUsed && usedAt >= shown.createdAt && Date.parse(usedAt) <= Date.now(), usedAt)
    return { ...shown, usedAt }
  },
  state: byVersion,
}
export const services: Noun<ServiceThing> = {
  operationId: 'getService',
  ids: ({ id }) => ({ serviceId: id }),
  show: (_model, service, { stateReason }) => {
    assert.equal(typeof stateReason, 'string')
    return { ...service.shown, stateReason, privateEndpointIds: attachedTo(service) }
  },
  state: (service) => `${service.version} ${attachedTo(service).join(' ')}`,
}
export const pipes: Noun<PipeThing> = {
  operationId: 'getPipe',
  ids: ({ id, serviceId }) => ({ serviceId, pipeId: id }),
  show: (_model, { shown }, { updatedAt }) => {
    // A change whose answer does not show the pipe: the timestamp is checked with the next answer that does.
    if (typeof shown.updatedAt !== 'string') shown.updatedAt = timestampIn(updatedAt, shown.updatedAt)
    return shown
  },
  state: byVersion,
}

/** Newest first; with equal timestamps, the greatest id first. */
export function newestFirst<Item extends { id: string }>(
  items: Item[],
  since: (item: Item) => string | number,
): Item[] {
  return items.toSorted((a, b) => {
    const [sinceA, sinceB] = [since(a), since(b)]
    if (sinceA !== sinceB) return sinceA < sinceB ? 1 : -1
    return a.id < b.id ? 1 : -1
  })
}

export function attachedTo({ attached }: ServiceThing): string[] {
  const list = [...attached].map(([id, since]) => ({ id, since }))
  return newestFirst(list, ({ since }) => since).map(({ id }) => id)
}

export const alive = <Kind extends Thing>(things: Kind[]): Kind[] => things.filter(({ gone }) => !gone)

/** Each with the provider and region of the service that has had it longest. */
export function endpointsOfOrganization(model: Model): Json[] {
  const list = [...model.endpoints].map(([id, endpoint]) => ({ id, ...endpoint }))
  return newestFirst(list, ({ since }) => since).map(({ id, description }) => {
    const [first] = alive(model.services)
      .filter(({ attached }) => attached.has(id))
      .toSorted((a, b) => a.attached.get(id)! - b.attached.get(id)! || (a.id < b.id ? -1 : 1))
    return { cloudProvider: first!.shown.provider, description, id, region: first!.shown.region }
  })
}

/** Removes endpoints that no service uses any more. */
export function forgetUnused(model: Model): void {
  for (const id of model.endpoints.keys()) {
    if (!alive(model.services).some(({ attached }) => attached.has(id))) model.endpoints.delete(id)
  }
}

/** Checks that states and ETags correspond one to one. */
export function checkTag<Kind extends Thing>(noun: Noun<Kind>, thing: Kind, etag: unknown): void {
  const state = noun.state(thing)
  assert.match(String(etag), /^"[!#-~]+"$/)
  const known = thing.tags.get(state)
  if (known !== undefined) assert.equal(etag, known, `the ETag of the same ${state}`)
  else assert.ok(![...thing.tags.values()].includes(etag as string), `the ETag ${etag} of another state`)
  thing.tags.set(state, etag as string)
}

/** Reads a thing, and compares. */
export async function look<Kind extends Thing>(
  model: Model,
  real: Real,
  noun: Noun<Kind>,
  thing: Kind,
  key?: Key,
): Promise<void> {
  const response = await ask(real, operationOf(noun.operationId), noun.ids(thing), key ? { key } : {})
  if (thing.gone) {
    assert.deepEqual([response.status, response.body.code], [404, 'not_found'], response.text)
    return
  }
  assert.equal(response.status, 200, response.text)
  assert.deepEqual(response.body.result, noun.show(model, thing, response.body.result))
  checkTag(noun, thing, response.headers.etag)
}

/** Random numbers that select one of the existing things. */
export interface ThingSelector {
  at: number
  /** Prefers deleted things. */
  gone: boolean
}

export const thingSelector = fc.record({
  at: fc.nat(99),
  gone: fc.constantFrom(false, false, false, false, false, false, true),
})

export function pick<Kind extends Thing>(things: Kind[], { at, gone }: ThingSelector): Kind | undefined {
  const preferred = things.filter((thing) => thing.gone === gone)
  const list = preferred.length > 0 ? preferred : things
  return list.at(at < 0 ? at : at % list.length)
}

/** A thing with an unknown id. */
export const nothing = (): Thing => ({ id: newId(), gone: true, version: 0, tags: new Map(), shown: {} })
export const noPipe = (): PipeThing => ({ ...nothing(), kind: 'kafka', serviceId: newId(), replayRequestedAt: null })

export function defined<Fields extends object>(fields: Fields): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Differences of two flat objects, in the form of an activity. */
export function changesBetween(before: Json, after: Json, prefix = ''): object[] {
  return Object.keys(after)
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => ({ field: `${prefix}${name}`, from: before[name], to: after[name] }))
}

export function newThing(id: unknown, shown: Json): Thing {
  assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  return { id: id as string, gone: false, version: 1, tags: new Map(), shown }
}

/** Expects the current thing with its ETag. */
export function shows<Kind extends Thing>(
  model: Model,
  noun: Noun<Kind>,
  thing: Kind,
  activity?: Acceptance['activity'],
): Acceptance {
  return {
    status: 200,
    result: (answered, _span, { headers }) => {
      checkTag(noun, thing, headers.etag)
      return noun.show(model, thing, answered)
    },
    ...(activity ? { activity } : {}),
  }
}

export function removes(thing: Thing, activity: Acceptance['activity']): Acceptance {
  thing.gone = true
  return { status: 200, result: () => undefined, activity: activity! }
}

export const words = fc.constantFrom('orders', 'Bestellungen', '注文 😀', ' ', `'; --`, 'a "b" \\ c')
export const another = '2020-01-01T00:00:00.000Z'
