// R9: the rows of organizations, members, invitations and keys.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  ask,
  invalidBody,
  type Json,
  nothingToUpdate,
  operationOf,
  type Refusal,
  readList,
  sparsely,
  timestampIn,
} from './against-model.ts'
import {
  alive,
  another,
  change,
  changesBetween,
  checkTag,
  defined,
  endpointsOfOrganization,
  inside,
  invitations,
  isExpired,
  isLetIn,
  type KeyThing,
  keys,
  limits,
  listOf,
  lookAt,
  type Model,
  members,
  newThing,
  nothing,
  organizations,
  outside,
  pick,
  type Row,
  read,
  removes,
  shows,
  type Thing,
  type ThingSelector,
  thingSelector,
  words,
} from './lifecycle-world.ts'

export const organizationRows: Row[] = [
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

export const memberRows: Row[] = [
  listOf('listMembers', members, (model) => model.members),
  lookAt(members, (model) => model.members, nothing),
  change(
    'updateMember',
    fc.record({
      at: thingSelector,
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
  change('deleteMember', fc.record({ at: thingSelector }), (model, { at }) => {
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

export const invitationRows: Row[] = [
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
      at: thingSelector,
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
              const createdAt = timestampIn(answered.createdAt, span)
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
  lookAt(invitations, (model) => model.invitations, nothing),
  change('deleteInvitation', fc.record({ at: thingSelector }), (model, { at }) => {
    const thing = pick(model.invitations, at) ?? nothing()
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
export const accessLists = fc.constantFrom<{ source: string; description?: string }[]>(
  [],
  [{ source: inside, description: 'inside' }],
  [{ source: outside }, { source: inside }],
  [{ source: outside }],
  [{ source: 'everywhere' }],
)
export const complete = (list: { source: string; description?: string }[]): Json[] =>
  list.map(({ source, description = '' }) => ({ source, description }))
export const isBadList = (list: { source: string }[] | undefined): boolean =>
  list?.some(({ source }) => source === 'everywhere') ?? false
const momentOf = (text: string | null): string | null => (text === null ? null : new Date(text).toISOString())

/** Checks that the secret of a key is new. */
function checkSecret(model: Model, secret: string): string {
  assert.match(secret, /^pst_[0-9A-Za-z]{49}$/)
  assert.ok(model.keys.every(({ secrets }) => !secrets.includes(secret)))
  return secret
}

/** The first key is never changed: without it the sequence could not continue. */
function keyToChange(model: Model, at: ThingSelector, asker: KeyThing, self: boolean): KeyThing {
  if (self) return asker
  const [first, ...others] = model.keys
  return pick(others, at) ?? (asker === first ? first : asker)
}

const toSelf = fc.constantFrom(false, false, false, true)

export const keyRows: Row[] = [
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
                createdAt: timestampIn(key.createdAt, span),
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
      at: thingSelector,
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
    fc.record({
      at: thingSelector,
      self: toSelf,
      graceSeconds: fc.constantFrom(undefined, 0, 59, 60, 3600, 3600, -1, 604_801),
    }),
    (model, { at, self, graceSeconds }, asker, real) => {
      const thing = keyToChange(model, at, asker, self)
      return {
        ids: keys.ids(thing),
        body: defined({ graceSeconds }),
        misshapen: graceSeconds === -1 || graceSeconds === 604_801,
        in: thing,
        decide: () => {
          // The answer may be lost: a key that rotates itself needs a grace period.
          if (thing === asker && (graceSeconds ?? 300) < 60) return invalidBody
          const graceMs = (graceSeconds ?? (thing === asker ? 300 : 0)) * 1000
          return {
            status: 200,
            result: ({ key, keyId, keySecret }, { from, to }) => {
              checkSecret(model, keySecret)
              const until = key.previousSecretValidUntil
              if (graceMs > 0) timestampIn(until, { from: from + graceMs, to: to + graceMs })
              else assert.equal(until, null)
              thing.shown = { ...thing.shown, keySuffix: keySecret.slice(-4), previousSecretValidUntil: until }
              thing.secrets.push(keySecret)
              thing.previousIsGood = graceMs > 0
              thing.version++
              if (thing === model.keys[0]) real.key = { keyId, secret: keySecret }
              return { key: keys.show(model, thing, key), keyId: thing.shown.keyId, keySecret }
            },
            activity: { type: 'key_rotated', target: { type: 'key', id: thing.id } },
          }
        },
      }
    },
  ),
  change('deleteKey', fc.record({ at: thingSelector, self: toSelf }), (model, { at, self }, asker) => {
    const thing = keyToChange(model, at, asker, self)
    const { keyId, name, roles, state, expireAt, ipAccessList } = thing.shown
    return {
      ids: keys.ids(thing),
      noun: keys,
      thing,
      decide: () => {
        if (thing === asker) return { status: 409, code: 'own_key' }
        const changes = [{ field: 'key', from: { keyId, name, roles, state, expireAt, ipAccessList } }]
        return removes(thing, { type: 'key_deleted', target: { type: 'key', id: thing.id }, changes })
      },
    }
  }),
]
