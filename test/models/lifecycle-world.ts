// R9: the model of the things of an organization, and helpers for the rows of the operation table.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { newId } from '../../src/lib/id.ts'
import { type AnyOperation, takesIfMatch } from '../../src/operation/operation.ts'
import type { Key } from '../harness/test-app.ts'
import type { Ids } from '../harness/world.ts'
import {
  type Acceptance,
  ask,
  type Command,
  command,
  count,
  idempotencyKeys,
  ifMatchKinds,
  ifMatchOf,
  invalidBody,
  type Json,
  type Memory,
  matches,
  notFound,
  type Outcome,
  operationOf,
  plainly,
  type Real,
  type Refusal,
  readList,
  timestampIn,
  versionMismatch,
  write,
} from './against-model.ts'

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
interface Noun<Kind extends Thing> {
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
function newestFirst<Item extends { id: string }>(items: Item[], since: (item: Item) => string | number): Item[] {
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

interface By {
  /** Negative: the first key. */
  key: number
  secret: 'current' | 'previous' | 'older'
}

const askedBy: fc.Arbitrary<By> = fc.record({
  key: fc.constantFrom(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3),
  secret: fc.constantFrom('current', 'current', 'current', 'current', 'previous', 'older'),
})

export const throttledAfter = 12

function keyOf({ keys }: Model, by: By): KeyThing {
  const [first, ...others] = keys
  const key = by.key < 0 || others.length === 0 ? first! : others[by.key % others.length]!
  return key.failures < throttledAfter ? key : first!
}

/** The secret that is sent. */
export function secretOf(key: KeyThing, { secret }: By): { text: string; isGood: boolean } {
  const last = key.secrets.length - 1
  const index = secret === 'current' ? last : secret === 'previous' ? last - 1 : last - 2
  if (index < 0 || key.failures >= throttledAfter) return { text: key.secrets[last]!, isGood: true }
  return { text: key.secrets[index]!, isGood: index === last || (index === last - 1 && key.previousIsGood) }
}

export const isExpired = (expireAt: string | null): boolean => expireAt !== null && Date.parse(expireAt) <= Date.now()

export const inside = '10.0.0.0/8'
export const outside = '192.0.2.0/24'

/** All requests come from addresses in 10.0.0.0/8. */
export const isLetIn = (list: { source: string }[]): boolean =>
  list.length === 0 || list.some(({ source }) => source === inside)

/** Why the key may not call the operation now. */
export function refusedTo(key: KeyThing, isGood: boolean, operation: AnyOperation): Refusal | undefined {
  const { state, expireAt, ipAccessList, roles } = key.shown
  if (key.gone || !isGood || state === 'disabled' || isExpired(expireAt)) {
    key.failures++
    return { status: 401, code: 'unauthorized' }
  }
  key.isUsed = true
  if (!isLetIn(ipAccessList)) return { status: 403, code: 'address_not_allowed' }
  if (operation.access === 'admin' && roles[0] !== 'admin') return { status: 403, code: 'role_not_allowed' }
  return undefined
}

export interface Row {
  operationId: string
  arbitrary: fc.Arbitrary<Command<Model>>
  /** The request with this choice; by default with the first key and without headers. */
  plain?(choice: Json, headers?: Partial<Common>): Command<Model>
}

interface Attempt<Kind extends Thing> {
  ids: Ids
  query?: string
  body?: unknown
  /** Refused because of its shape, before any lookup. */
  misshapen?: boolean
  /** Must exist. */
  in?: Thing
  /** The changed thing, if it has a version. */
  noun?: Noun<Kind>
  thing?: Kind
  decide(): Outcome
}

export interface Common {
  by: By
  ifMatchKind: string
  idempotencyKey: string | undefined
}

/** A row of the table that changes something. */
export function change<Choice, Kind extends Thing>(
  operationId: string,
  choices: fc.Arbitrary<Choice>,
  make: (model: Model, choice: Choice, asker: KeyThing, real: Real) => Attempt<Kind>,
): Row {
  const operation = operationOf(operationId)
  const common: fc.Arbitrary<Common> = fc.record({
    by: askedBy,
    ifMatchKind: ifMatchKinds,
    idempotencyKey: idempotencyKeys,
  })
  const commandOf = ({ by, ifMatchKind, idempotencyKey }: Common, choice: Choice) =>
    command<Model>(
      `${operationId} ${JSON.stringify({ by, ifMatchKind, idempotencyKey, ...choice })}`,
      async (model, real) => {
        const asker = keyOf(model, by)
        const attempt = make(model, choice, asker, real)
        const { ids, query, body, misshapen, thing } = attempt
        const ifMatch = await ifMatchFor(model, real, operation, attempt, ifMatchKind)
        await write(model, real, {
          operation,
          ids,
          ...(query === undefined ? {} : { query }),
          body,
          ifMatch,
          idempotencyKey,
          asker: () => ({ id: asker.id, key: { keyId: asker.shown.keyId, secret: secretOf(asker, by).text } }),
          refused: () =>
            refusedTo(asker, secretOf(asker, by).isGood, operation) ?? (misshapen ? invalidBody : undefined),
          apply: () => {
            if (attempt.in?.gone || thing?.gone) return notFound
            if (thing && attempt.noun && !matches(ifMatch, thing.tags.get(attempt.noun.state(thing)) ?? '')) {
              return versionMismatch
            }
            model.changeCount++
            return attempt.decide()
          },
        })
      },
    )
  return {
    operationId,
    arbitrary: plainly(fc.tuple(common, choices)).map(([headers, choice]) => commandOf(headers, choice)),
    plain: (choice, headers = {}) =>
      commandOf(
        { by: { key: -1, secret: 'current' }, ifMatchKind: 'none', idempotencyKey: undefined, ...headers },
        choice,
      ),
  }
}

async function ifMatchFor<Kind extends Thing>(
  model: Model,
  real: Real,
  operation: AnyOperation,
  { noun, thing, misshapen }: Attempt<Kind>,
  kind: string,
): Promise<string | undefined> {
  if (!takesIfMatch(operation)) return kind === 'any' && !misshapen ? '*' : undefined
  if (kind === 'none' || !noun || !thing) return undefined
  if (thing.gone) return '"0.0"'
  const state = noun.state(thing)
  if (!thing.tags.has(state)) await look(model, real, noun, thing)
  const stale = [...thing.tags].find(([seen]) => seen !== state)?.[1]
  return ifMatchOf(kind, thing.tags.get(state)!, stale)
}

/** A row of the table that reads. `run` is called with a permitted key. */
export function read<Choice>(
  operationId: string,
  choices: fc.Arbitrary<Choice>,
  run: (model: Model, real: Real, choice: Choice, key: Key, asker: KeyThing) => Promise<void>,
): Row {
  const operation = operationOf(operationId)
  const arbitrary = plainly(fc.tuple(askedBy, choices)).map(([by, choice]) =>
    command<Model>(`${operationId} ${JSON.stringify({ by, choice })}`, async (model, real) => {
      const asker = keyOf(model, by)
      const { text, isGood } = secretOf(asker, by)
      const key = { keyId: asker.shown.keyId, secret: text }
      const refused = refusedTo(asker, isGood, operation)
      if (!refused) {
        await run(model, real, choice, key, asker)
        count(real, `${operationId} 200`)
        return
      }
      const ids = { userId: newId(), invitationId: newId(), serviceId: newId(), activityId: newId() }
      const { status, body } = await ask(
        real,
        operation,
        { ...ids, keyId: newId(), pipeId: newId(), privateEndpointId: 'none' },
        { key },
      )
      assert.deepEqual([status, body.code], [refused.status, refused.code])
    }),
  )
  return { operationId, arbitrary }
}

export const lookAt = <Kind extends Thing>(noun: Noun<Kind>, things: (model: Model) => Kind[], none: () => Kind): Row =>
  read(noun.operationId, thingSelector, (model, real, choice, key) =>
    look(model, real, noun, pick(things(model), choice) ?? none(), key),
  )

/** Checks that a list has all things, each as it is read alone. */
export async function checkList<Kind extends Thing>(
  model: Model,
  real: Real,
  operationId: string,
  { noun, things, ids = {} }: { noun: Noun<Kind>; things: Kind[]; ids?: Ids },
  { limit, key }: { limit: number; key?: Key },
): Promise<void> {
  const listed = await readList(real, operationId, ids, { limit, ...(key ? { key } : {}) })
  const expected = newestFirst(alive(things), ({ shown }) => shown.createdAt ?? shown.joinedAt)
  assert.deepEqual(
    listed.map((item) => item.id ?? item.userId),
    expected.map(({ id }) => id),
    `${operationId}: all of them, the newest first`,
  )
  for (const [index, thing] of expected.entries()) {
    assert.deepEqual(listed[index], noun.show(model, thing, listed[index]))
  }
}

export const limits = fc.constantFrom(1, 2, 3, 5, 100)

export const listOf = <Kind extends Thing>(
  operationId: string,
  noun: Noun<Kind>,
  things: (model: Model) => Kind[],
): Row =>
  read(operationId, limits, (model, real, limit, key) =>
    checkList(model, real, operationId, { noun, things: things(model) }, { limit, key }),
  )

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
