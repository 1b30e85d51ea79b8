// R9: everything that is created, read, listed, changed and removed, against a model of it. A table of operations: each row
// makes up a request and tells, from what is in memory, what must come of it. Rows are in the order of a life, so that the
// first of the sequences, which takes them in turn, meets every operation.
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { type AnyOperation, takesIfMatch } from '../src/http/operation.ts'
import { newId } from '../src/lib/id.ts'
import {
  type Acceptance,
  ask,
  type Command,
  checkActivities,
  command,
  count,
  idempotencyKeys,
  ifMatchKinds,
  ifMatchOf,
  invalidBody,
  type Json,
  type Memory,
  matches,
  momentIn,
  newMemory,
  notFound,
  nothingToUpdate,
  type Outcome,
  operationOf,
  plainly,
  type Real,
  type Refusal,
  readList,
  repeatCommand,
  runStory,
  type Story,
  sparsely,
  versionMismatch,
  write,
} from './against-model.ts'
import type { Key, TestApp } from './harness.ts'
import { acceptedPipeBodies, defaultScaling, defaultSettings, pipeBodies } from './lifecycle-pipes.ts'
import type { Ids } from './world.ts'

interface Thing {
  id: string
  /** It has been removed, and is kept to be asked for. */
  gone: boolean
  version: number
  /** The ETag of each state that was seen. */
  tags: Map<string, string>
  /** As it is read, but for what other things say about it. */
  shown: Json
}

interface KeyThing extends Thing {
  /** All that it ever had; the last one is the present one. */
  secrets: string[]
  /** Whether the one before the present one is still good. */
  previousIsGood: boolean
  /** Too many would be throttled. */
  failures: number
  isUsed: boolean
}

interface ServiceThing extends Thing {
  hasEndpoint: boolean
  /** The private endpoints, and when each was attached. */
  attached: Map<string, number>
}

interface PipeThing extends Thing {
  kind: string
  serviceId: string
}

interface Model extends Memory {
  /** Counts the changes; what two of them made is in the order of their numbers. */
  moment: number
  organization: Thing
  members: Thing[]
  invitations: Thing[]
  /** The first one does most of the asking, and always can. */
  keys: KeyThing[]
  services: ServiceThing[]
  /** The private endpoints of the organization. */
  endpoints: Map<string, { description: string; since: number }>
  pipes: PipeThing[]
}

/** A kind of thing: how it is asked for, how it is shown, and what its ETag names. */
interface Noun<Kind extends Thing> {
  operationId: string
  ids(thing: Kind): Ids
  /** `answered` has what only the server can know, which is looked at here. */
  show(model: Model, thing: Kind, answered: Json): Json
  state(thing: Kind): string
}

const byVersion = ({ version }: Thing): string => String(version)

const organizations: Noun<Thing> = {
  operationId: 'getOrganization',
  ids: () => ({}),
  show: (model, { shown }) => ({ ...shown, privateEndpoints: endpointsOfOrganization(model) }),
  state: byVersion,
}
const members: Noun<Thing> = {
  operationId: 'getMember',
  ids: ({ id }) => ({ userId: id }),
  show: (_model, { shown }) => shown,
  state: byVersion,
}
const invitations: Noun<Thing> = {
  operationId: 'getInvitation',
  ids: ({ id }) => ({ invitationId: id }),
  show: (_model, { shown }) => shown,
  state: byVersion,
}
const keys: Noun<KeyThing> = {
  operationId: 'getKey',
  ids: ({ id }) => ({ keyId: id }),
  show: (_model, { shown, isUsed }, { usedAt }) => {
    // Noted behind the back of the request.
    if (usedAt !== null) assert.ok(isUsed && usedAt >= shown.createdAt && Date.parse(usedAt) <= Date.now(), usedAt)
    return { ...shown, usedAt }
  },
  state: byVersion,
}
const services: Noun<ServiceThing> = {
  operationId: 'getService',
  ids: ({ id }) => ({ serviceId: id }),
  show: (_model, service, { stateReason }) => {
    assert.equal(typeof stateReason, 'string')
    return { ...service.shown, stateReason, privateEndpointIds: attachedTo(service) }
  },
  state: (service) => `${service.version} ${attachedTo(service).join(' ')}`,
}
const pipes: Noun<PipeThing> = {
  operationId: 'getPipe',
  ids: ({ id, serviceId }) => ({ serviceId, pipeId: id }),
  show: (_model, { shown }, { updatedAt }) => {
    // A change that does not answer with the pipe leaves the moment to be looked at with the next answer that does.
    if (typeof shown.updatedAt !== 'string') shown.updatedAt = momentIn(updatedAt, shown.updatedAt)
    return shown
  },
  state: byVersion,
}

/** The newest first; of one moment, the greatest id. */
function newestFirst<Item extends { id: string }>(items: Item[], since: (item: Item) => string | number): Item[] {
  return items.toSorted((a, b) => {
    const [sinceA, sinceB] = [since(a), since(b)]
    if (sinceA !== sinceB) return sinceA < sinceB ? 1 : -1
    return a.id < b.id ? 1 : -1
  })
}

function attachedTo({ attached }: ServiceThing): string[] {
  const list = [...attached].map(([id, since]) => ({ id, since }))
  return newestFirst(list, ({ since }) => since).map(({ id }) => id)
}

const alive = <Kind extends Thing>(things: Kind[]): Kind[] => things.filter(({ gone }) => !gone)

/** Each with the provider and the region of the service that has had it for the longest time. */
function endpointsOfOrganization(model: Model): Json[] {
  const list = [...model.endpoints].map(([id, endpoint]) => ({ id, ...endpoint }))
  return newestFirst(list, ({ since }) => since).map(({ id, description }) => {
    const [first] = alive(model.services)
      .filter(({ attached }) => attached.has(id))
      .toSorted((a, b) => a.attached.get(id)! - b.attached.get(id)! || (a.id < b.id ? -1 : 1))
    return { cloudProvider: first!.shown.provider, description, id, region: first!.shown.region }
  })
}

/** What no service uses leaves the organization. */
function forgetUnused(model: Model): void {
  for (const id of model.endpoints.keys()) {
    if (!alive(model.services).some(({ attached }) => attached.has(id))) model.endpoints.delete(id)
  }
}

/** An ETag stands for one state, and a state has one ETag. */
function checkTag<Kind extends Thing>(noun: Noun<Kind>, thing: Kind, etag: unknown): void {
  const state = noun.state(thing)
  assert.match(String(etag), /^"[!#-~]+"$/)
  const known = thing.tags.get(state)
  if (known !== undefined) assert.equal(etag, known, `the ETag of the same ${state}`)
  else assert.ok(![...thing.tags.values()].includes(etag as string), `the ETag ${etag} of another state`)
  thing.tags.set(state, etag as string)
}

/** Reads it, and compares. */
async function look<Kind extends Thing>(
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

/** Made-up numbers choose among what there is at that moment. */
interface Place {
  at: number
  /** Prefer what has been removed. */
  gone: boolean
}

const place = fc.record({ at: fc.nat(99), gone: fc.constantFrom(false, false, false, false, false, false, true) })

function pick<Kind extends Thing>(things: Kind[], { at, gone }: Place): Kind | undefined {
  const preferred = things.filter((thing) => thing.gone === gone)
  const list = preferred.length > 0 ? preferred : things
  return list[at % list.length]
}

/** Something that has the id of nothing. */
const nothing = (): Thing => ({ id: newId(), gone: true, version: 0, tags: new Map(), shown: {} })
const noInvitation = nothing
const noPipe = (): PipeThing => ({ ...nothing(), kind: 'kafka', serviceId: newId() })

interface By {
  /** Negative: the first key. */
  key: number
  secret: 'current' | 'previous' | 'older'
}

const askedBy: fc.Arbitrary<By> = fc.record({
  key: fc.constantFrom(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3),
  secret: fc.constantFrom('current', 'current', 'current', 'current', 'previous', 'older'),
})

const throttledAfter = 12

function keyOf({ keys }: Model, by: By): KeyThing {
  const [first, ...others] = keys
  const key = by.key < 0 || others.length === 0 ? first! : others[by.key % others.length]!
  return key.failures < throttledAfter ? key : first!
}

/** Which of its secrets the key is used with. */
function secretOf(key: KeyThing, { secret }: By): { text: string; isGood: boolean } {
  const last = key.secrets.length - 1
  const index = secret === 'current' ? last : secret === 'previous' ? last - 1 : last - 2
  if (index < 0 || key.failures >= throttledAfter) return { text: key.secrets[last]!, isGood: true }
  return { text: key.secrets[index]!, isGood: index === last || (index === last - 1 && key.previousIsGood) }
}

const isExpired = (expireAt: string | null): boolean => expireAt !== null && Date.parse(expireAt) <= Date.now()

const inside = '10.0.0.0/8'
const outside = '192.0.2.0/24'

/** Every request comes from an address of 10.0.0.0/8. */
const isLetIn = (list: { source: string }[]): boolean =>
  list.length === 0 || list.some(({ source }) => source === inside)

/** Why the key may not ask for this now. */
function refusedTo(key: KeyThing, isGood: boolean, operation: AnyOperation): Refusal | undefined {
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

interface Row {
  operationId: string
  arbitrary: fc.Arbitrary<Command<Model>>
  /** The request with this choice, asked by the first key and without any headers. */
  plain?(choice: Json): Command<Model>
}

interface Attempt<Kind extends Thing> {
  ids: Ids
  query?: string
  body?: unknown
  /** Refused for its shape, before anything is looked for. */
  misshapen?: boolean
  /** What must be there. */
  in?: Thing
  /** What is changed, when it has a version. */
  noun?: Noun<Kind>
  thing?: Kind
  decide(): Outcome
}

interface Common {
  by: By
  ifMatchKind: string
  idempotencyKey: string | undefined
}

/** A row of the table that changes something. */
function change<Choice, Kind extends Thing>(
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
            model.moment++
            return attempt.decide()
          },
        })
      },
    )
  return {
    operationId,
    arbitrary: plainly(fc.tuple(common, choices)).map(([headers, choice]) => commandOf(headers, choice)),
    plain: (choice) =>
      commandOf({ by: { key: -1, secret: 'current' }, ifMatchKind: 'none', idempotencyKey: undefined }, choice),
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

/** A row of the table that reads. `run` is called with a key that may. */
function read<Choice>(
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

const lookAt = <Kind extends Thing>(noun: Noun<Kind>, things: (model: Model) => Kind[], none: () => Kind): Row =>
  read(noun.operationId, place, (model, real, choice, key) =>
    look(model, real, noun, pick(things(model), choice) ?? none(), key),
  )

/** A list of things has them all, as each is read by itself. */
async function checkList<Kind extends Thing>(
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

const limits = fc.constantFrom(1, 2, 3, 5, 100)

const listOf = <Kind extends Thing>(operationId: string, noun: Noun<Kind>, things: (model: Model) => Kind[]): Row =>
  read(operationId, limits, (model, real, limit, key) =>
    checkList(model, real, operationId, { noun, things: things(model) }, { limit, key }),
  )

function defined<Fields extends object>(fields: Fields): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** What differs between two flat objects, as an activity tells it. */
function changesBetween(before: Json, after: Json, prefix = ''): object[] {
  return Object.keys(after)
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => ({ field: `${prefix}${name}`, from: before[name], to: after[name] }))
}

function newThing(id: unknown, shown: Json): Thing {
  assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  return { id: id as string, gone: false, version: 1, tags: new Map(), shown }
}

/** An answer that shows the thing as it is now, with the ETag of its state. */
function shows<Kind extends Thing>(
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

function removes(thing: Thing, activity: Acceptance['activity']): Acceptance {
  thing.gone = true
  return { status: 200, result: () => undefined, activity: activity! }
}

const words = fc.constantFrom('orders', 'Bestellungen', '注文 😀', ' ', `'; --`, 'a "b" \\ c')
const another = '2020-01-01T00:00:00.000Z'

const organizationRows: Row[] = [
  lookAt(
    organizations,
    (model) => [model.organization],
    () => nothing(),
  ),
  read('listOrganizations', limits, async (model, real, limit, key) => {
    const listed = await readList(real, 'listOrganizations', {}, { limit, key })
    assert.deepEqual(listed, [organizations.show(model, model.organization, {})])
  }),
  change(
    'updateOrganization',
    fc.record({
      name: sparsely(words),
      extra: fc.constantFrom('none', 'none', 'none', 'none', 'same', 'other', 'unknown', 'null', 'long'),
    }),
    (model, { name, extra }) => {
      const { organization: thing } = model
      const { id, createdAt } = thing.shown
      const extras: Json = {
        same: { id, createdAt, privateEndpoints: endpointsOfOrganization(model) },
        other: { createdAt: another },
        unknown: { nmae: 'x' },
        null: { name: null },
        long: { name: 'x'.repeat(256) },
      }
      return {
        ids: {},
        body: { ...defined({ name }), ...extras[extra] },
        misshapen: ['unknown', 'null', 'long'].includes(extra),
        noun: organizations,
        thing,
        decide: () => {
          if (extra === 'other') return invalidBody
          if (name === undefined) return nothingToUpdate
          const changes = changesBetween(thing.shown, { name })
          if (changes.length === 0) return shows(model, organizations, thing)
          thing.shown.name = name
          thing.version++
          return shows(model, organizations, thing, {
            type: 'organization_updated',
            target: { type: 'organization', id },
            changes,
          })
        },
      }
    },
  ),
]

const isLastAdmin = (model: Model, { shown }: Thing): boolean =>
  shown.role === 'admin' && alive(model.members).filter((member) => member.shown.role === 'admin').length === 1

const lastAdmin: Refusal = { status: 409, code: 'last_admin' }
const roles = fc.constantFrom('admin', 'developer')

const memberRows: Row[] = [
  listOf('listMembers', members, (model) => model.members),
  lookAt(members, (model) => model.members, nothing),
  change(
    'updateMember',
    fc.record({
      at: place,
      role: fc.constantFrom('developer', 'developer', 'admin'),
      extra: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'same', 'other', 'empty', 'owner'),
    }),
    (model, { at, role, extra }) => {
      const thing = pick(model.members, at)!
      const bodies: Json = {
        same: { ...thing.shown, role },
        other: { role, name: 'Somebody Else' },
        empty: {},
        owner: { role: 'owner' },
      }
      return {
        ids: members.ids(thing),
        body: bodies[extra] ?? { role },
        misshapen: extra === 'empty' || extra === 'owner',
        noun: members,
        thing,
        decide: () => {
          if (extra === 'other') return invalidBody
          const changes = changesBetween(thing.shown, { role })
          if (changes.length === 0) return shows(model, members, thing)
          if (isLastAdmin(model, thing)) return lastAdmin
          thing.shown.role = role
          thing.version++
          const target = { type: 'member', id: thing.id }
          return shows(model, members, thing, { type: 'member_role_changed', target, changes })
        },
      }
    },
  ),
  change('deleteMember', fc.record({ at: place }), (model, { at }) => {
    const thing = pick(model.members, at)!
    const { email, role } = thing.shown
    return {
      ids: members.ids(thing),
      noun: members,
      thing,
      decide: () => {
        if (isLastAdmin(model, thing)) return lastAdmin
        const changes = [{ field: 'member', from: { email, role } }]
        return removes(thing, { type: 'member_removed', target: { type: 'member', id: thing.id }, changes })
      },
    }
  }),
]

const weekMs = 7 * 24 * 3_600_000

const invitationRows: Row[] = [
  change(
    'createInvitation',
    fc.record({
      email: fc.constantFrom(
        'lin@northwind.example',
        'Lin@Northwind.Example',
        'ada@northwind.example',
        'member',
        'none',
      ),
      at: place,
      role: fc.constantFrom('admin', 'admin', 'developer', 'developer', 'developer', 'developer', 'owner'),
    }),
    (model, { email: choice, at, role }) => {
      const sent = choice === 'member' ? pick(model.members, at)!.shown.email.toUpperCase() : choice
      const email = sent.toLowerCase()
      return {
        ids: {},
        body: { email: sent, role },
        misshapen: choice === 'none' || role === 'owner',
        decide: () => {
          if (alive(model.members).some(({ shown }) => shown.email === email)) {
            return { status: 409, code: 'already_member' }
          }
          if (alive(model.invitations).some(({ shown }) => shown.email === email)) {
            return { status: 409, code: 'invitation_exists' }
          }
          const target = { type: 'invitation', id: '' }
          return {
            status: 200,
            result: (answered, span) => {
              const createdAt = momentIn(answered.createdAt, span)
              const expireAt = new Date(Date.parse(createdAt) + weekMs).toISOString()
              const shown = { id: answered.id, email, role, createdAt, expireAt }
              model.invitations.push(newThing(answered.id, shown))
              target.id = answered.id
              assert.match(answered.link, /^https:\/\/penstock\.example\.com\/console\/invitations\/accept#inv_\w{43}$/)
              return { ...shown, link: answered.link }
            },
            activity: { type: 'invitation_created', target, changes: [{ field: 'invitation', to: { email, role } }] },
          }
        },
      }
    },
  ),
  listOf('listInvitations', invitations, (model) => model.invitations),
  lookAt(invitations, (model) => model.invitations, noInvitation),
  change('deleteInvitation', fc.record({ at: place }), (model, { at }) => {
    const thing = pick(model.invitations, at) ?? noInvitation()
    const { email, role } = thing.shown
    return {
      ids: invitations.ids(thing),
      noun: invitations,
      thing,
      decide: () =>
        removes(thing, {
          type: 'invitation_deleted',
          target: { type: 'invitation', id: thing.id },
          changes: [{ field: 'invitation', from: { email, role } }],
        }),
    }
  }),
]

const states = fc.constantFrom('enabled', 'enabled', 'disabled')
const expiries = fc.constantFrom(null, '2099-12-31T00:00:00Z', '2020-01-01T01:00:00+01:00')
const accessLists = fc.constantFrom<{ source: string; description?: string }[]>(
  [],
  [{ source: inside, description: 'inside' }],
  [{ source: outside }, { source: inside }],
  [{ source: outside }],
  [{ source: 'everywhere' }],
)
const complete = (list: { source: string; description?: string }[]): Json[] =>
  list.map(({ source, description = '' }) => ({ source, description }))
const isBadList = (list: { source: string }[] | undefined): boolean =>
  list?.some(({ source }) => source === 'everywhere') ?? false
const momentOf = (text: string | null): string | null => (text === null ? null : new Date(text).toISOString())

/** The secret of a key, which has never been seen before. */
function checkSecret(model: Model, secret: string): string {
  assert.match(secret, /^pst_[0-9A-Za-z]{49}$/)
  assert.ok(model.keys.every(({ secrets }) => !secrets.includes(secret)))
  return secret
}

/** The first key is left to itself: the sequence would end with it. */
function keyToChange(model: Model, at: Place, asker: KeyThing, self: boolean): KeyThing {
  if (self) return asker
  const [first, ...others] = model.keys
  return pick(others, at) ?? (asker === first ? first : asker)
}

const toSelf = fc.constantFrom(false, false, false, true)

const keyRows: Row[] = [
  change(
    'createKey',
    fc.record({
      name: words,
      role: fc.constantFrom('admin', 'admin', 'developer'),
      state: sparsely(states),
      expireAt: sparsely(expiries),
      ipAccessList: sparsely(accessLists),
      bad: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'noRoles', 'twoRoles', 'noName', 'unknown'),
    }),
    (model, { bad, ...choice }) => {
      const { name, role, state = 'enabled', expireAt = null, ipAccessList = [] } = choice
      const bads: Json = {
        noRoles: { roles: [] },
        twoRoles: { roles: ['admin', 'developer'] },
        noName: { name: '' },
        unknown: { secret: 'x' },
      }
      return {
        ids: {},
        body: {
          name,
          roles: [role],
          ...defined({ state: choice.state, expireAt: choice.expireAt, ipAccessList: choice.ipAccessList }),
          ...bads[bad],
        },
        misshapen: bad !== 'none',
        decide: () => {
          if (isBadList(ipAccessList) || isExpired(expireAt)) return invalidBody
          const target = { type: 'key', id: '' }
          const given = {
            name,
            roles: [role],
            state,
            expireAt: momentOf(expireAt),
            ipAccessList: complete(ipAccessList),
          }
          const change = { field: 'key', to: given as Json }
          return {
            status: 200,
            result: ({ key, keyId, keySecret }, span) => {
              assert.match(keyId, /^[0-9A-Za-z]{20}$/)
              const shown = {
                ...given,
                id: key.id,
                keyId,
                createdAt: momentIn(key.createdAt, span),
                keySuffix: checkSecret(model, keySecret).slice(-4),
                previousSecretValidUntil: null,
              }
              const thing = newThing(key.id, shown)
              model.keys.push({ ...thing, secrets: [keySecret], previousIsGood: false, failures: 0, isUsed: false })
              target.id = key.id
              change.to = { ...given, keyId }
              return { key: { ...shown, usedAt: null }, keyId, keySecret }
            },
            activity: { type: 'key_created', target, changes: [change] },
          }
        },
      }
    },
  ),
  listOf('listKeys', keys, (model) => model.keys),
  lookAt(
    keys,
    (model) => model.keys,
    () => ({ ...nothing(), secrets: [], previousIsGood: false, failures: 0, isUsed: false }),
  ),
  read('getCurrentKey', fc.constant(''), async (model, real, _, key, asker) => {
    const response = await ask(real, operationOf('getCurrentKey'), {}, { key })
    assert.deepEqual(response.body.result, keys.show(model, asker, response.body.result))
    checkTag(keys, asker, response.headers.etag)
  }),
  change(
    'updateKey',
    fc.record({
      at: place,
      self: toSelf,
      name: sparsely(words),
      role: sparsely(roles),
      state: sparsely(states),
      expireAt: sparsely(expiries),
      ipAccessList: sparsely(accessLists),
      extra: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'usedAt', 'same', 'other', 'noRoles', 'unknown'),
    }),
    (model, { at, self, extra, role, ...choice }, asker) => {
      const thing = keyToChange(model, at, asker, self)
      const extras: Json = {
        usedAt: { usedAt: null },
        same: { keyId: thing.shown.keyId },
        other: { keyId: 'somebody-else-s-key' },
        noRoles: { roles: [] },
        unknown: { keySecret: 'x' },
      }
      const patch = defined({ ...choice, roles: role === undefined ? undefined : [role] })
      return {
        ids: keys.ids(thing),
        body: { ...patch, ...extras[extra] },
        misshapen: extra === 'noRoles' || extra === 'unknown',
        noun: keys,
        thing,
        decide: () => {
          if (extra === 'other') return invalidBody
          if (Object.keys(patch).length === 0) return nothingToUpdate
          if (isBadList(choice.ipAccessList)) return invalidBody
          const after = { ...thing.shown, ...patch }
          after.expireAt = momentOf(after.expireAt)
          after.ipAccessList = complete(after.ipAccessList)
          const changes = changesBetween(thing.shown, after)
          if (changes.length === 0) return shows(model, keys, thing)
          const isShutOut =
            after.state === 'disabled' ||
            after.roles[0] !== 'admin' ||
            isExpired(after.expireAt) ||
            !isLetIn(after.ipAccessList)
          if (thing === asker && isShutOut) return { status: 409, code: 'own_key' }
          thing.shown = after
          thing.version++
          return shows(model, keys, thing, { type: 'key_updated', target: { type: 'key', id: thing.id }, changes })
        },
      }
    },
  ),
  change(
    'rotateKey',
    fc.record({ at: place, self: toSelf, graceSeconds: fc.constantFrom(undefined, 0, 3600, 3600, -1, 604_801) }),
    (model, { at, self, graceSeconds }, asker, real) => {
      const thing = keyToChange(model, at, asker, self)
      return {
        ids: keys.ids(thing),
        body: defined({ graceSeconds }),
        misshapen: graceSeconds === -1 || graceSeconds === 604_801,
        in: thing,
        decide: () => ({
          status: 200,
          result: ({ key, keyId, keySecret }, { from, to }) => {
            checkSecret(model, keySecret)
            const until = key.previousSecretValidUntil
            const graceMs = (graceSeconds ?? 0) * 1000
            if (graceMs > 0) momentIn(until, { from: from + graceMs, to: to + graceMs })
            else assert.equal(until, null)
            thing.shown = { ...thing.shown, keySuffix: keySecret.slice(-4), previousSecretValidUntil: until }
            thing.secrets.push(keySecret)
            thing.previousIsGood = graceMs > 0
            thing.version++
            if (thing === model.keys[0]) real.key = { keyId, secret: keySecret }
            return { key: keys.show(model, thing, key), keyId: thing.shown.keyId, keySecret }
          },
          activity: { type: 'key_rotated', target: { type: 'key', id: thing.id } },
        }),
      }
    },
  ),
  change('deleteKey', fc.record({ at: place, self: toSelf }), (model, { at, self }, asker) => {
    const thing = keyToChange(model, at, asker, self)
    const { keyId, name, roles } = thing.shown
    return {
      ids: keys.ids(thing),
      noun: keys,
      thing,
      decide: () => {
        if (thing === asker) return { status: 409, code: 'own_key' }
        const changes = [{ field: 'key', from: { keyId, name, roles } }]
        return removes(thing, { type: 'key_deleted', target: { type: 'key', id: thing.id }, changes })
      },
    }
  }),
]

/** URLs of engines, and how each is shown; undefined when it is refused. */
const engines = [
  {
    url: 'https://engine.northwind.example:9440',
    shown: { protocol: 'https', host: 'engine.northwind.example', port: 9440 },
  },
  {
    url: 'http://Engine.Northwind.example/',
    shown: { protocol: 'http', host: 'engine.northwind.example', port: 8123 },
  },
  { url: 'https://[2001:db8::1]', shown: { protocol: 'https', host: '2001:db8::1', port: 8443 } },
  { url: 'https://engine.northwind.example:99999', shown: undefined },
  { url: 'ftp://engine.northwind.example', shown: undefined },
]
const engine = fc.constantFrom(...engines, ...engines.slice(0, 3))
const usernames = fc.constantFrom('penstock', 'ada')
const serviceNames = fc.constantFrom('warehouse', 'Lager "süd" \\ nord', ' ')
const regions = fc.constantFrom(
  { provider: 'aws', region: 'us-east-1' },
  { provider: 'aws', region: 'eu-central-1' },
  { provider: 'gcp', region: 'europe-west1' },
  { provider: 'azure', region: 'westeurope' },
)
/** As the test harness configures them. */
const configuredRegions: Record<string, string> = {
  'aws/us-east-1': 'com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d4e5f67890',
  'aws/eu-west-1': 'com.amazonaws.vpce.eu-west-1.vpce-svc-1b2c3d4e5f6789012',
}

const endpointIds = ['vpce-0a1b2c3d', 'vpce-0a1b2c3d4e5f67890', '4711', '/subscriptions/a/b']
const usual: Record<string, RegExp> = {
  aws: /^vpce-([0-9a-f]{8}|[0-9a-f]{17})$/,
  gcp: /^[0-9]+$/,
  azure: /^\/subscriptions\/|^[0-9a-f]{8}-/,
}
const someEndpointIds = fc.uniqueArray(fc.constantFrom(...endpointIds), { maxLength: 2 })

const noService = (): ServiceThing => ({ ...nothing(), hasEndpoint: false, attached: new Map() })
const serviceAt = (model: Model, at: Place): ServiceThing => pick(model.services, at) ?? noService()

const serviceRows: Row[] = [
  change(
    'createService',
    fc.record({
      name: serviceNames,
      place: regions,
      engine,
      username: usernames,
      ipAccessList: sparsely(accessLists),
      bad: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'noEndpoint', 'noPassword', 'noUrl', 'long'),
    }),
    (model, { name, place, engine, username, bad, ...choice }) => {
      const endpoint = { url: engine.url, username, password: 'hush' }
      const bads: Json = {
        noEndpoint: { endpoint: undefined },
        noPassword: { endpoint: { url: engine.url, username } },
        noUrl: { endpoint: { ...endpoint, url: '' } },
        long: { name: 'x'.repeat(51) },
      }
      return {
        ids: {},
        body: { name, ...place, endpoint, ...defined(choice), ...bads[bad] },
        misshapen: bad !== 'none',
        decide: () => {
          if (!engine.shown || isBadList(choice.ipAccessList)) return invalidBody
          const target = { type: 'service', id: '' }
          return {
            status: 200,
            result: (answered, span) => {
              const shown = {
                id: answered.id,
                name,
                ...place,
                state: 'provisioning',
                engineVersion: null,
                endpoints: [{ ...engine.shown, username }],
                ipAccessList: complete(choice.ipAccessList ?? []),
                createdAt: momentIn(answered.createdAt, span),
              }
              const thing = { ...newThing(answered.id, shown), hasEndpoint: true, attached: new Map() }
              model.services.push(thing)
              target.id = thing.id
              return services.show(model, thing, answered)
            },
            activity: { type: 'service_created', target },
          }
        },
      }
    },
  ),
  listOf('listServices', services, (model) => model.services),
  lookAt(services, (model) => model.services, noService),
  change(
    'updateService',
    fc.record({
      at: place,
      name: sparsely(serviceNames),
      url: sparsely(engine),
      username: sparsely(usernames),
      password: fc.constantFrom(undefined, undefined, undefined, 'hush', ''),
      ids: sparsely(fc.record({ add: someEndpointIds, remove: someEndpointIds }, { requiredKeys: [] })),
      addresses: sparsely(
        fc.record(
          { add: accessLists, remove: fc.subarray([{ source: inside }, { source: outside }]) },
          { requiredKeys: [] },
        ),
      ),
      extra: fc.constantFrom(
        'none',
        'none',
        'none',
        'none',
        'none',
        'none',
        'empty',
        'lists',
        'otherLists',
        'same',
        'other',
        'unknown',
      ),
    }),
    (model, choice) => {
      const { at, name, url, username, password, ids, addresses, extra } = choice
      const thing = serviceAt(model, at)
      const endpoint = defined({ url: url?.url, username, password })
      const extras: Json = {
        empty: { endpoint: {} },
        lists: { privateEndpointIds: attachedTo(thing), ipAccessList: thing.shown.ipAccessList ?? [] },
        otherLists: { privateEndpointIds: ['vpce-00000000'] },
        same: defined({ provider: thing.shown.provider, createdAt: thing.shown.createdAt }),
        other: { region: 'somewhere-else' },
        unknown: { nmae: 'x' },
      }
      const isEmpty = extra === 'empty'
      const body: Json = isEmpty
        ? extras.empty
        : {
            ...defined({ name, privateEndpointIds: ids, ipAccessList: addresses }),
            ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}),
            ...extras[extra],
          }
      return {
        ids: services.ids(thing),
        body,
        misshapen: extra === 'unknown',
        noun: services,
        thing,
        decide: () => {
          if (extra === 'other' || extra === 'otherLists') return invalidBody
          const { provider: _, createdAt: __, ...values } = body
          const hasValue = Object.values(values).some(
            (value) => typeof value !== 'object' || Object.keys(value!).length > 0 || Array.isArray(value),
          )
          if (!hasValue) return nothingToUpdate
          return changeService(model, thing, {
            name: body.name,
            endpoint: isEmpty ? {} : endpoint,
            engine: isEmpty ? undefined : url,
            ids: Array.isArray(body.privateEndpointIds) ? {} : (body.privateEndpointIds ?? {}),
            addresses: Array.isArray(body.ipAccessList) ? {} : (body.ipAccessList ?? {}),
          })
        },
      }
    },
  ),
  read('getPrivateEndpointConfig', place, async (model, real, at, key) => {
    const thing = serviceAt(model, at)
    const { status, body } = await ask(real, operationOf('getPrivateEndpointConfig'), services.ids(thing), { key })
    const configured = configuredRegions[`${thing.shown.provider}/${thing.shown.region}`]
    if (thing.gone) assert.deepEqual([status, body.code], [404, 'not_found'])
    else if (!configured) assert.deepEqual([status, body.code], [404, 'private_endpoints_not_configured'])
    else assert.equal(body.result.endpointServiceId, configured)
  }),
]

interface ServiceChange {
  name: string | undefined
  endpoint: { url?: string; username?: string; password?: string }
  engine: (typeof engines)[number] | undefined
  ids: { add?: string[]; remove?: string[] }
  addresses: { add?: { source: string; description?: string }[]; remove?: { source: string }[] }
}

function changeService(model: Model, thing: ServiceThing, change: ServiceChange): Outcome {
  const { name, endpoint, engine, ids, addresses } = change
  const sendsEndpoint = Object.keys(endpoint).length > 0
  if (engine && !engine.shown) return invalidBody
  // A service from before engines could be registered needs all of it at once.
  if (sendsEndpoint && !thing.hasEndpoint && Object.keys(endpoint).length < 3) return invalidBody

  const { add = [], remove = [] } = ids
  if (remove.some((id) => !thing.attached.has(id) || add.includes(id))) return invalidBody
  if (add.some((id) => !model.endpoints.has(id))) return invalidBody

  const toAdd = complete(addresses.add ?? [])
  const toRemove = (addresses.remove ?? []).map(({ source }) => source)
  const present: Json[] = thing.shown.ipAccessList
  if (isBadList(toAdd)) return invalidBody
  if (toRemove.some((source) => present.every((entry) => entry.source !== source))) return invalidBody
  if (toRemove.some((source) => toAdd.some((entry) => entry.source === source))) return invalidBody
  const ipAccessList = present
    .filter(({ source }) => !toRemove.includes(source))
    .map((entry) => toAdd.find(({ source }) => source === entry.source) ?? entry)
  ipAccessList.push(...toAdd.filter(({ source }) => present.every((entry) => entry.source !== source)))

  const [old] = thing.shown.endpoints
  const endpoints = sendsEndpoint
    ? [{ ...old, ...engine?.shown, username: endpoint.username ?? old.username }]
    : thing.shown.endpoints
  const shown = { ...thing.shown, name: name ?? thing.shown.name, endpoints, ipAccessList }
  const attach = add.filter((id) => !thing.attached.has(id))
  const isChanged =
    endpoint.password !== undefined || attach.length + remove.length > 0 || !isDeepStrictEqual(shown, thing.shown)
  if (!isChanged) return shows(model, services, thing)

  for (const id of remove) thing.attached.delete(id)
  forgetUnused(model)
  for (const id of attach) thing.attached.set(id, model.moment)
  Object.assign(thing, { shown, hasEndpoint: thing.hasEndpoint || sendsEndpoint, version: thing.version + 1 })
  return shows(model, services, thing, { type: 'service_updated', target: { type: 'service', id: thing.id } })
}

const endpointRows: Row[] = [
  change(
    'createPrivateEndpoint',
    fc.record({
      at: place,
      id: fc.constantFrom(...endpointIds, ...endpointIds, 'white space', ''),
      description: fc.constantFrom(undefined, undefined, 'blue'),
      strict: fc.constantFrom(undefined, undefined, undefined, true, false),
    }),
    (model, { at, id, strict, ...choice }) => {
      const { description = '' } = choice
      const service = serviceAt(model, at)
      const { provider, region } = service.shown
      return {
        ids: services.ids(service),
        query: strict === undefined ? '' : `?strict=${strict}`,
        body: { id, ...defined(choice) },
        misshapen: id === 'white space' || id === '',
        in: service,
        decide: () => {
          const isUnusual = !usual[provider]!.test(id)
          if (isUnusual && strict) return { status: 400, code: 'unusual_endpoint_id' }
          const registered = model.endpoints.get(id) ?? { description, since: model.moment }
          if (registered.description !== description) return { status: 409, code: 'private_endpoint_exists' }
          model.endpoints.set(id, registered)
          const isNew = !service.attached.has(id)
          if (isNew) service.attached.set(id, model.moment)
          const target = { type: 'private_endpoint', id, serviceId: service.id }
          return {
            status: 200,
            result: () => ({ cloudProvider: provider, description, id, region }),
            warning: isUnusual,
            ...(isNew ? { activity: { type: 'private_endpoint_created', target } } : {}),
          }
        },
      }
    },
  ),
  read('listPrivateEndpoints', fc.record({ at: place, limit: limits }), (model, real, { at, limit }, key) =>
    checkEndpoints(model, real, serviceAt(model, at), { limit, key }),
  ),
  change(
    'deletePrivateEndpoint',
    fc.record({ at: place, id: fc.constantFrom(...endpointIds), attached: fc.boolean() }),
    (model, { at, id: anyId, attached }) => {
      const service = serviceAt(model, at)
      const id = (attached ? [...service.attached.keys()][0] : undefined) ?? anyId
      return {
        ids: { ...services.ids(service), privateEndpointId: encodeURIComponent(id) },
        in: service,
        decide: () => {
          if (!service.attached.delete(id)) return notFound
          forgetUnused(model)
          const target = { type: 'private_endpoint', id, serviceId: service.id }
          return { status: 200, result: () => undefined, activity: { type: 'private_endpoint_deleted', target } }
        },
      }
    },
  ),
]

async function checkEndpoints(
  model: Model,
  real: Real,
  service: ServiceThing,
  { limit, key }: { limit: number; key?: Key },
): Promise<void> {
  const operationId = 'listPrivateEndpoints'
  const ids = services.ids(service)
  if (service.gone) {
    const { status, body } = await ask(real, operationOf(operationId), ids, key ? { key } : {})
    assert.deepEqual([status, body.code], [404, 'not_found'])
    return
  }
  const listed = await readList(real, operationId, ids, { limit, ...(key ? { key } : {}) })
  const { provider, region } = service.shown
  assert.deepEqual(
    listed,
    attachedTo(service).map((id) => ({
      cloudProvider: provider,
      description: model.endpoints.get(id)!.description,
      id,
      region,
    })),
  )
}

const pipeAt = (model: Model, at: Place): PipeThing => pick(model.pipes, at) ?? noPipe()
const pipeTarget = ({ id, serviceId }: PipeThing): Record<string, string> => ({ type: 'pipe', id, serviceId })

/** A change of a pipe: makes a new version, and moves `updatedAt`. */
function changePipe(
  model: Model,
  thing: PipeThing,
  type: string,
  { shown, changes, part }: { shown: Json; changes: object[]; part?: 'settings' },
): Acceptance {
  const isChanged = changes.length > 0
  if (isChanged) Object.assign(thing, { shown, version: thing.version + 1 })
  return {
    status: 200,
    result: (answered, span, { headers }) => {
      checkTag(pipes, thing, headers.etag)
      if (isChanged) thing.shown.updatedAt = span
      return part ? thing.shown[part] : pipes.show(model, thing, answered)
    },
    ...(isChanged ? { activity: { type, target: pipeTarget(thing), changes } } : {}),
  }
}

/** What each command makes of a state, for all kinds but postgres; nothing for what cannot be obeyed. */
function stateAfter(thing: PipeThing, pipeCommand: string): string | undefined {
  const { state } = thing.shown
  const isPostgres = thing.kind === 'postgres'
  const atRest = isPostgres ? 'Paused' : 'Stopped'
  const onTheWay = isPostgres ? 'Pausing' : 'Stopping'
  const rests = [atRest, 'Completed', 'Failed', 'InternalError'].includes(state)
  if (pipeCommand === 'start') return rests ? 'Provisioning' : undefined
  if (pipeCommand === 'stop') {
    if (state === 'Provisioning' || state === 'Failed' || state === 'InternalError') return atRest
    return rests || state === onTheWay ? state : onTheWay
  }
  if (!isPostgres || rests || state === onTheWay) return undefined
  return ['Provisioning', 'Setup', 'Snapshot', 'Resync'].includes(state) ? state : 'Resync'
}

const settingsPatch = fc.record(
  {
    streaming_max_insert_wait_ms: fc.constantFrom(500, 5_000, null),
    engine_max_threads: fc.constantFrom(0, 64, null),
    object_storage_use_cluster_function: fc.constantFrom(true, false, null),
  },
  { requiredKeys: [] },
)
const scalingPatch = fc.record(
  { replicas: fc.constantFrom(1, 2, 40, null), replicaMemoryGb: fc.constantFrom(0.5, 8, null) },
  { requiredKeys: [] },
)
const withDefaults = (patch: Json, defaults: Json): Json =>
  Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? defaults[name]]))

const pipeRows: Row[] = [
  change(
    'createPipe',
    fc.record({
      at: place,
      which: fc.oneof(
        { weight: 3, arbitrary: fc.nat(acceptedPipeBodies - 1) },
        { weight: 1, arbitrary: fc.nat(pipeBodies.length - 1) },
      ),
      startPaused: sparsely(fc.boolean()),
      settings: sparsely(fc.constant({ engine_max_threads: 8 })),
      scaling: sparsely(fc.constant({ replicas: 2 })),
    }),
    (model, { at, which, startPaused, settings = {}, scaling = {} }) => {
      const service = serviceAt(model, at)
      const { body, shown, refused } = pipeBodies[which]!
      return {
        ids: services.ids(service),
        body: { ...defined({ startPaused, settings, scaling }), ...body },
        misshapen: refused === 'shape',
        in: service,
        decide: () => {
          if (refused === 'samples') return { status: 400, code: 'source_not_validated' }
          if (!shown) return invalidBody
          const { kind, atRest, destination, source } = shown
          const target = { type: 'pipe', id: '', serviceId: service.id }
          return {
            status: 200,
            result: ({ id, createdAt }, span) => {
              const thing: PipeThing = {
                ...newThing(id, {
                  id,
                  serviceId: service.id,
                  name: body.name,
                  state: startPaused ? atRest : 'Provisioning',
                  createdAt: momentIn(createdAt, span),
                  updatedAt: createdAt,
                  destination,
                  fieldMappings: body.fieldMappings ?? [],
                  scaling: { ...defaultScaling, ...scaling },
                  settings: { ...defaultSettings, ...settings },
                  source: { [kind]: source(id) },
                }),
                kind,
                serviceId: service.id,
              }
              model.pipes.push(thing)
              target.id = id
              return thing.shown
            },
            activity: { type: 'pipe_created', target, changes: [{ field: 'pipe', to: { name: body.name, kind } }] },
          }
        },
      }
    },
  ),
  read('listPipes', fc.record({ at: place, limit: limits }), async (model, real, { at, limit }, key) => {
    const service = alive(model.services)[at.at % alive(model.services).length]
    if (service) await checkPipes(model, real, service, { limit, key })
  }),
  lookAt(pipes, (model) => model.pipes, noPipe),
  change(
    'updatePipe',
    fc.record({ at: place, name: words, extra: fc.constantFrom('none', 'none', 'same', 'other') }),
    (model, { at, name, extra }) => {
      const thing = pipeAt(model, at)
      const extras: Json = { same: { scaling: thing.shown.scaling ?? {} }, other: { state: 'InternalError' } }
      return {
        ids: pipes.ids(thing),
        body: { name, ...extras[extra] },
        noun: pipes,
        thing,
        decide: () => {
          if (extra === 'other') return invalidBody
          const changes = changesBetween(thing.shown, { name })
          return changePipe(model, thing, 'pipe_updated', { shown: { ...thing.shown, name }, changes })
        },
      }
    },
  ),
  read('getPipeSettings', place, async (model, real, at, key) => {
    const thing = pipeAt(model, at)
    const response = await ask(real, operationOf('getPipeSettings'), pipes.ids(thing), { key })
    if (thing.gone) {
      assert.deepEqual([response.status, response.body.code], [404, 'not_found'])
      return
    }
    assert.deepEqual(response.body.result, thing.shown.settings)
    checkTag(pipes, thing, response.headers.etag)
  }),
  change(
    'updatePipeSettings',
    fc.record({
      at: place,
      patch: settingsPatch,
      bad: fc.constantFrom({}, {}, {}, {}, {}, { engine_max_threads: 65 }, { engine_max_threads: '8' }, { threads: 1 }),
    }),
    (model, { at, patch, bad }) => {
      const thing = pipeAt(model, at)
      return {
        ids: pipes.ids(thing),
        body: { ...patch, ...bad },
        misshapen: Object.keys(bad).length > 0,
        noun: pipes,
        thing,
        decide: () => {
          if (Object.keys(patch).length === 0) return nothingToUpdate
          const { settings } = thing.shown
          const effective = withDefaults(patch, defaultSettings)
          const changes = changesBetween(settings, effective, 'settings.')
          const shown = { ...thing.shown, settings: { ...settings, ...effective } }
          return changePipe(model, thing, 'pipe_settings_updated', { shown, changes, part: 'settings' })
        },
      }
    },
  ),
  change(
    'updatePipeScaling',
    fc.record({
      at: place,
      patch: scalingPatch,
      bad: fc.constantFrom({}, {}, {}, {}, {}, { replicas: 0 }, { replicaMemoryGb: 8.5 }, { memory: 1 }),
    }),
    (model, { at, patch, bad }) => {
      const thing = pipeAt(model, at)
      return {
        ids: pipes.ids(thing),
        body: { ...patch, ...bad },
        misshapen: Object.keys(bad).length > 0,
        noun: pipes,
        thing,
        decide: () => {
          if (Object.keys(patch).length === 0) return nothingToUpdate
          const { scaling } = thing.shown
          const effective = withDefaults(patch, defaultScaling)
          const changes = changesBetween(scaling, effective, 'scaling.')
          const shown = { ...thing.shown, scaling: { ...scaling, ...effective } }
          return changePipe(model, thing, 'pipe_scaled', { shown, changes })
        },
      }
    },
  ),
  change(
    'updatePipeState',
    fc.record({ at: place, pipeCommand: fc.constantFrom('start', 'start', 'stop', 'stop', 'resync', 'pause') }),
    (model, { at, pipeCommand }) => {
      const thing = pipeAt(model, at)
      return {
        ids: pipes.ids(thing),
        body: { command: pipeCommand },
        misshapen: pipeCommand === 'pause',
        noun: pipes,
        thing,
        decide: () => {
          const state = stateAfter(thing, pipeCommand)
          if (state === undefined) {
            return { status: 400, code: pipeCommand === 'start' ? 'pipe_already_running' : 'pipe_cannot_resync' }
          }
          const changes = changesBetween(thing.shown, { state })
          return changePipe(model, thing, 'pipe_state_changed', { shown: { ...thing.shown, state }, changes })
        },
      }
    },
  ),
]

async function checkPipes(
  model: Model,
  real: Real,
  service: ServiceThing,
  options: { limit: number; key?: Key },
): Promise<void> {
  const things = model.pipes.filter(({ serviceId }) => serviceId === service.id)
  await checkList(model, real, 'listPipes', { noun: pipes, things, ids: services.ids(service) }, options)
}

/** What a runner finds out about a pipe is no change of it. */
const runnerCommand: fc.Arbitrary<Command<Model>> = fc
  .record({
    at: place,
    state: fc.constantFrom(
      'Running',
      'Setup',
      'Snapshot',
      'Resync',
      'Modifying',
      'Degraded',
      'Failed',
      'Completed',
      'stopping',
    ),
  })
  .map((choice) =>
    command(`the runner ${JSON.stringify(choice)}`, async (model, real) => {
      const thing = pick(model.pipes, choice.at)
      if (!thing || thing.gone) return
      const onTheWay = thing.kind === 'postgres' ? 'Pausing' : 'Stopping'
      const state = choice.state === 'stopping' ? onTheWay : choice.state
      await real.app.query(`UPDATE pipes SET state = '${state}' WHERE id = '${thing.id}'`)
      thing.shown.state = state
    }),
  )

interface Sample {
  series: string
  labels: Record<string, string>
  value: number
}

const serviceSamples = ({ id, shown: { name, provider, region, state } }: Thing): Sample[] => [
  { series: 'penstock_service_up', labels: { service: id, name, provider, region }, value: 0 },
  { series: 'penstock_service_state', labels: { service: id, name, state }, value: 1 },
]

function pipeSamples(model: Model, service: Thing): Sample[] {
  const own = alive(model.pipes).filter(({ serviceId }) => serviceId === service.id)
  return [...Map.groupBy(own, ({ shown }) => shown.state)].map(([state, list]) => ({
    series: 'penstock_pipes',
    labels: { service: service.id, state },
    value: list.length,
  }))
}

function organizationSamples(model: Model): Sample[] {
  const shownMembers = alive(model.members).map(({ shown }) => shown)
  const keyStates = alive(model.keys).map(({ shown: { state, expireAt } }) =>
    state === 'enabled' && isExpired(expireAt) ? 'expired' : state,
  )
  return [
    ...alive(model.services).flatMap((service) => [...serviceSamples(service), ...pipeSamples(model, service)]),
    ...['admin', 'developer'].map((role) => ({
      series: 'penstock_members',
      labels: { role },
      value: shownMembers.filter((member) => member.role === role).length,
    })),
    ...['enabled', 'disabled', 'expired'].map((state) => ({
      series: 'penstock_api_keys',
      labels: { state },
      value: keyStates.filter((each) => each === state).length,
    })),
  ]
}

function samplesOfService(model: Model, service: ServiceThing): Sample[] {
  const own = alive(model.pipes).filter(({ serviceId }) => serviceId === service.id)
  const ofPipes = own.map(({ id, kind, shown: { name, state } }) => ({
    series: 'penstock_pipe_state',
    labels: { pipe: id, name, kind, state },
    value: 1,
  }))
  return [...serviceSamples(service), ...pipeSamples(model, service), ...ofPipes]
}

function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, series, labelText, value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line)!
    const labels = [...labelText!.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)].map(([, name, label]) => [
      name,
      label!.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
    ])
    return { series: series!, labels: Object.fromEntries(labels), value: Number(value) }
  })
}

function sameSamples(text: string, expected: Sample[]): void {
  const sorted = (samples: Sample[]) =>
    samples
      .map(({ series, labels, value }) => JSON.stringify([series, Object.entries(labels).sort(), value]))
      .toSorted()
  assert.deepEqual(sorted(samplesIn(text)), sorted(expected))
}

async function checkOrganizationFigures(model: Model, real: Real, key?: Key): Promise<void> {
  const { text } = await ask(real, operationOf('getOrganizationPrometheus'), {}, key ? { key } : {})
  sameSamples(text, organizationSamples(model))
}

async function checkServiceFigures(model: Model, real: Real, service: ServiceThing, key?: Key): Promise<void> {
  const ids = services.ids(service)
  const { status, text } = await ask(real, operationOf('getServicePrometheus'), ids, key ? { key } : {})
  if (service.gone) assert.equal(status, 404)
  else sameSamples(text, samplesOfService(model, service))
}

/** The present name of the key that did it; none when it has been deleted. */
const nameOf =
  (model: Model) =>
  (actorId: string): string | undefined =>
    alive(model.keys).find(({ id }) => id === actorId)?.shown.name

const watchingRows: Row[] = [
  read('getOrganizationPrometheus', fc.constant(''), (model, real, _, key) =>
    checkOrganizationFigures(model, real, key),
  ),
  read('getServicePrometheus', place, (model, real, at, key) =>
    checkServiceFigures(model, real, serviceAt(model, at), key),
  ),
  read(
    'listActivities',
    fc.record({ limit: limits, type: fc.constantFrom(undefined, 'pipe_created', 'key_updated', 'member_removed') }),
    async (model, real, { limit, type }, key) => {
      await checkActivities(model, real, { limit, key, nameOf: nameOf(model), ...(type === undefined ? {} : { type }) })
    },
  ),
  read('getActivity', fc.nat(99), async (model, real, at, key) => {
    const [newest] = await readList(real, 'listActivities', {}, { limit: 100, key })
    const activityId = at % 5 === 0 || !newest ? newId() : newest.id
    const { status, body } = await ask(real, operationOf('getActivity'), { activityId }, { key })
    if (activityId === newest?.id) assert.deepEqual(body.result, newest)
    else assert.deepEqual([status, body.code], [404, 'not_found'])
    void model
  }),
]

const removingRows: Row[] = [
  change('deletePipe', fc.record({ at: place }), (model, { at }) => {
    const thing = pipeAt(model, at)
    return {
      ids: pipes.ids(thing),
      noun: pipes,
      thing,
      decide: () =>
        removes(thing, {
          type: 'pipe_deleted',
          target: pipeTarget(thing),
          changes: [{ field: 'pipe', from: { name: thing.shown.name, kind: thing.kind } }],
        }),
    }
  }),
  change('deleteService', fc.record({ at: place }), (model, { at }) => {
    const thing = serviceAt(model, at)
    return {
      ids: services.ids(thing),
      noun: services,
      thing,
      decide: () => {
        if (alive(model.pipes).some(({ serviceId }) => serviceId === thing.id)) {
          return { status: 409, code: 'service_has_pipes' }
        }
        const { name, provider, region } = thing.shown
        const removed = removes(thing, {
          type: 'service_deleted',
          target: { type: 'service', id: thing.id },
          changes: [{ field: 'service', from: { name, provider, region } }],
        })
        forgetUnused(model)
        return removed
      },
    }
  }),
]

const table: Row[] = [
  ...organizationRows,
  ...memberRows,
  ...invitationRows,
  ...keyRows,
  ...serviceRows,
  ...endpointRows,
  ...pipeRows,
  ...watchingRows,
  ...removingRows,
]

/** What this model knows how to foretell. */
export const lifecycleOperations = table.map(({ operationId }) => operationId)

const rowOf = (id: string): Row => table.find(({ operationId }) => operationId === id)!

const here = { at: 0, gone: false }
const there = { at: 1, gone: false }

/** What every sequence begins with, so that there is something to ask about. */
const beginning: Command<Model>[] = (
  [
    ['createKey', { name: 'deployment', role: 'admin', bad: 'none' }],
    ['createKey', { name: 'dashboards', role: 'developer', bad: 'none' }],
    ['createKey', { name: 'elsewhere', role: 'admin', ipAccessList: [{ source: outside }], bad: 'none' }],
    [
      'createService',
      {
        name: 'warehouse',
        place: { provider: 'aws', region: 'us-east-1' },
        engine: engines[0],
        username: 'penstock',
        bad: 'none',
      },
    ],
    ['createPrivateEndpoint', { at: here, id: endpointIds[0] }],
    ['createPrivateEndpoint', { at: there, id: endpointIds[0] }],
    ['createPipe', { at: there, which: 0 }],
    ['createPipe', { at: there, which: acceptedPipeBodies - 1, startPaused: true }],
    ['createInvitation', { email: 'lin@northwind.example', at: here, role: 'developer' }],
  ] as [string, Json][]
).map(([id, choice]) => rowOf(id).plain!(choice))

async function makeWorld(app: TestApp, counts: Map<string, number>): Promise<{ model: Model; real: Real }> {
  await app.query('BEGIN')
  const { organizationId, admin: key, adminUserId, serviceId } = await app.addOrganization()
  const userIds = [
    adminUserId,
    await app.addMember(organizationId, 'admin'),
    await app.addMember(organizationId, 'developer'),
    await app.addMember(organizationId, 'developer'),
  ]
  await app.query('COMMIT')
  const real: Real = { app, organizationId, key, counts }
  const shownBy = async (operationId: string, ids: Ids): Promise<Json> =>
    (await ask(real, operationOf(operationId), ids)).body.result
  const { privateEndpoints: _, ...organization } = await shownBy('getOrganization', {})
  const { usedAt: __, ...ownKey } = await shownBy('getCurrentKey', {})
  const { privateEndpointIds: ___, stateReason: ____, ...service } = await shownBy('getService', { serviceId })
  const model: Model = {
    ...newMemory(),
    moment: 0,
    organization: newThing(organizationId, organization),
    members: [],
    invitations: [],
    keys: [{ ...newThing(ownKey.id, ownKey), secrets: [key.secret], previousIsGood: false, failures: 0, isUsed: true }],
    services: [{ ...newThing(serviceId, service), hasEndpoint: false, attached: new Map() }],
    endpoints: new Map(),
    pipes: [],
  }
  for (const userId of userIds) model.members.push(newThing(userId, await shownBy('getMember', { userId })))
  return { model, real }
}

async function checkEverything(model: Model, real: Real): Promise<void> {
  const limit = 3 + (model.activities.length % 5)
  // The lists show what each thing is; by itself it shows whether it is gone, and its ETag.
  const isTold = ({ gone, version }: Thing): boolean => gone || version > 1
  await look(model, real, organizations, model.organization)
  for (const thing of model.members.filter(isTold)) await look(model, real, members, thing)
  for (const thing of model.invitations.filter(isTold)) await look(model, real, invitations, thing)
  for (const thing of model.keys.filter(isTold)) await look(model, real, keys, thing)
  for (const thing of model.services.filter(isTold)) await look(model, real, services, thing)
  for (const thing of model.pipes.filter(isTold)) await look(model, real, pipes, thing)
  await checkList(model, real, 'listMembers', { noun: members, things: model.members }, { limit })
  await checkList(model, real, 'listInvitations', { noun: invitations, things: model.invitations }, { limit })
  await checkList(model, real, 'listKeys', { noun: keys, things: model.keys }, { limit })
  await checkList(model, real, 'listServices', { noun: services, things: model.services }, { limit })
  for (const service of alive(model.services)) {
    await checkPipes(model, real, service, { limit })
    await checkEndpoints(model, real, service, { limit })
    await checkServiceFigures(model, real, service)
  }
  await checkOrganizationFigures(model, real)
  await checkActivities(model, real, { limit, nameOf: nameOf(model) })
  await checkSecrets(model, real)
}

/** Every secret that a key ever had opens it, or does not. */
async function checkSecrets(model: Model, real: Real): Promise<void> {
  const operation = operationOf('getCurrentKey')
  for (const key of model.keys) {
    for (const secret of ['current', 'previous', 'older'] as const) {
      if (key.failures >= throttledAfter) continue
      const { text, isGood } = secretOf(key, { key: 0, secret })
      const refused = refusedTo(key, isGood, operation)
      const { status, body } = await ask(real, operation, {}, { key: { keyId: key.shown.keyId, secret: text } })
      if (refused) assert.deepEqual([status, body.code], [refused.status, refused.code])
      else assert.equal(body.result.id, key.id)
    }
  }
}

/** Some of every row in the order of the table, several times, and what chance alone seldom brings: always the same. */
const tour = [
  rowOf('createPrivateEndpoint').plain!({ at: here, id: endpointIds[0], description: 'blue' }),
  rowOf('createPrivateEndpoint').plain!({ at: here, id: '4711', strict: true }),
  rowOf('createPipe').plain!({ at: here, which: pipeBodies.length - 1 }),
  ...[1, 2, 3, 4].flatMap((round) => [
    ...table.flatMap(({ arbitrary }, index) => fc.sample(arbitrary, { numRuns: 4, seed: 100 * round + index })),
    ...fc.sample(repeatCommand<Model>(), { numRuns: 4, seed: round }),
  ]),
]

const changes = table.filter(({ plain }) => plain !== undefined)
const creations = changes.filter(({ operationId }) => operationId.startsWith('create'))

const story: Story<Model> = {
  makeWorld,
  beginning,
  // Everything is read at the end: what changes something is worth more.
  commands: [
    ...[...table, ...changes, ...changes, ...creations].map(({ arbitrary }) => arbitrary),
    runnerCommand,
    runnerCommand,
    repeatCommand(),
    repeatCommand(),
    repeatCommand(),
  ],
  tour,
  checkEverything,
}

export function runLifecycleModel(app: TestApp, runs: number, seed: number): Promise<Map<string, number>> {
  return runStory(app, story, runs, seed)
}
