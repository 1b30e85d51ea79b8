// API keys in the model of the lifecycle.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { ask, invalidBody, type Json, nothingToUpdate, operationOf, sparsely, timestampIn } from './against-model.ts'
import { roles } from './lifecycle-people.ts'
import { change, inside, isExpired, isLetIn, listOf, lookAt, outside, type Row, read } from './lifecycle-rows.ts'
import {
  changesBetween,
  checkTag,
  defined,
  type KeyThing,
  keys,
  type Model,
  newThing,
  nothing,
  pick,
  removes,
  shows,
  type ThingSelector,
  thingSelector,
  words,
} from './lifecycle-world.ts'

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
