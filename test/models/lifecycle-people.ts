// R9: the rows of organizations, members, and invitations.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  invalidBody,
  type Json,
  nothingToUpdate,
  type Refusal,
  readList,
  sparsely,
  timestampIn,
} from './against-model.ts'
import { change, limits, listOf, lookAt, type Row, read } from './lifecycle-rows.ts'
import {
  alive,
  another,
  changesBetween,
  defined,
  endpointsOfOrganization,
  invitations,
  type Model,
  members,
  newThing,
  nothing,
  organizations,
  pick,
  removes,
  shows,
  type Thing,
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
export const roles = fc.constantFrom('admin', 'developer')

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
