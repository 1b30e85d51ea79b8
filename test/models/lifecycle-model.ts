// R9: model of everything that can be created, read, listed, changed and deleted. Each row of the table generates a request and
// predicts its outcome from the model. Rows are in life-cycle order, so that the first sequence, which runs them in order, covers
// every operation.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { TestApp } from '../harness/test-app.ts'
import type { Ids } from '../harness/world.ts'
import {
  ask,
  type Command,
  checkActivities,
  type Json,
  newMemory,
  operationOf,
  type Real,
  repeatCommand,
  runStory,
  type Story,
} from './against-model.ts'
import { keyRows } from './lifecycle-keys.ts'
import { checkOrganizationFigures, checkServiceFigures, nameOf, watchingRows } from './lifecycle-metrics.ts'
import { invitationRows, memberRows, organizationRows } from './lifecycle-people.ts'
import { acceptedPipeBodies, pipeBodies } from './lifecycle-pipe-bodies.ts'
import { checkPipes, pipeAt, pipeRows, pipeTarget, runnerCommand } from './lifecycle-pipes.ts'
import {
  type Common,
  change,
  checkList,
  outside,
  type Row,
  refusedTo,
  secretOf,
  throttledAfter,
} from './lifecycle-rows.ts'
import { checkEndpoints, endpointIds, endpointRows, engines, serviceAt, serviceRows } from './lifecycle-services.ts'
import {
  alive,
  forgetUnused,
  invitations,
  keys,
  look,
  type Model,
  members,
  newThing,
  organizations,
  pipes,
  removes,
  services,
  type Thing,
  thingSelector,
} from './lifecycle-world.ts'

const removingRows: Row[] = [
  change('deletePipe', fc.record({ at: thingSelector }), (model, { at }) => {
    const thing = pipeAt(model, at)
    return {
      ids: pipes.ids(thing),
      noun: pipes,
      thing,
      decide: () => removes(thing, { type: 'pipe_deleted', target: pipeTarget(thing) }),
    }
  }),
  change('deleteService', fc.record({ at: thingSelector }), (model, { at }) => {
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

/** Operations that the model predicts. */
export const lifecycleOperations = table.map(({ operationId }) => operationId)

/** A fixed request; by default with the first key and without headers. */
type Scene = [operationId: string, choice: Json, headers?: Partial<Common>]

const played = (scenes: Scene[]): Command<Model>[] =>
  scenes.map(([id, choice, headers]) => table.find(({ operationId }) => operationId === id)!.plain!(choice, headers))

const here = { at: 0, gone: false }
const there = { at: 1, gone: false }
const newest = { at: -1, gone: false }
const aService = {
  name: 'warehouse',
  cloudRegion: { provider: 'aws', region: 'us-east-1' },
  engine: engines[0],
  username: 'penstock',
  bad: 'none',
}

/** Start of every sequence, which creates things to work on. */
const beginning = played([
  ['createKey', { name: 'deployment', role: 'admin', bad: 'none' }],
  ['createKey', { name: 'dashboards', role: 'developer', bad: 'none' }],
  ['createKey', { name: 'elsewhere', role: 'admin', ipAccessList: [{ source: outside }], bad: 'none' }],
  ['createService', aService],
  ['createPrivateEndpoint', { at: here, id: endpointIds[0] }],
  ['createPrivateEndpoint', { at: there, id: endpointIds[0] }],
  ['createPipe', { at: there, which: 0 }],
  ['createPipe', { at: there, which: acceptedPipeBodies - 1, startPaused: true }],
  ['createInvitation', { email: 'lin@northwind.example', at: here, role: 'developer' }],
])

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
    changeCount: 0,
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
  // Lists show all fields; a read of the thing shows its deletion and its ETag.
  const hasNewState = ({ gone, version }: Thing): boolean => gone || version > 1
  await look(model, real, organizations, model.organization)
  for (const thing of model.members.filter(hasNewState)) await look(model, real, members, thing)
  for (const thing of model.invitations.filter(hasNewState)) await look(model, real, invitations, thing)
  for (const thing of model.keys.filter(hasNewState)) await look(model, real, keys, thing)
  for (const thing of model.services.filter(hasNewState)) await look(model, real, services, thing)
  for (const thing of model.pipes.filter(hasNewState)) await look(model, real, pipes, thing)
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

/** Every secret that a key ever had is valid or invalid as the model predicts. */
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

/** Uses the key that the beginning created with this number. */
const by = (key: number): Partial<Common> => ({ by: { key, secret: 'current' } })
const removed = { at: 0, gone: true }
const renaming = { name: 'Northwind', extra: 'none' }

/** Covers every required outcome once; random sequences may miss some. */
const everyOutcome = played([
  ['updateOrganization', renaming, { idempotencyKey: 'once' }],
  ['updateOrganization', renaming, { idempotencyKey: 'once' }],
  ['updateOrganization', { name: 'Another', extra: 'none' }, { idempotencyKey: 'once' }],
  ['updateOrganization', renaming],
  ['updateOrganization', { extra: 'none' }],
  ['updateOrganization', { extra: 'null' }],
  ['updateOrganization', { name: 'Another', extra: 'none' }, { ifMatchKind: 'stale' }],
  ['updateOrganization', renaming, by(1)],
  ['updateOrganization', renaming, by(2)],
  ['updateMember', { at: here, role: 'developer', extra: 'none' }],
  ['updateMember', { at: there, role: 'developer', extra: 'none' }],
  ['deleteMember', { at: newest }],
  ['createInvitation', { email: 'Lin@Northwind.Example', at: here, role: 'admin' }],
  ['createInvitation', { email: 'member', at: here, role: 'admin' }],
  ['createInvitation', { email: 'ada@northwind.example', at: here, role: 'admin' }, { ifMatchKind: 'any' }],
  ['deleteInvitation', { at: here }],
  ['updateKey', { at: here, self: true, state: 'disabled', extra: 'none' }],
  ['updateKey', { at: here, self: false, state: 'disabled', extra: 'none' }],
  ['updateOrganization', renaming, by(0)],
  ['updateKey', { at: here, self: false, state: 'enabled', extra: 'none' }],
  ['rotateKey', { at: here, self: false }],
  ['createPrivateEndpoint', { at: here, id: endpointIds[0], description: 'blue' }],
  ['createPrivateEndpoint', { at: here, id: '4711', strict: true }],
  ['createPipe', { at: here, which: pipeBodies.length - 1 }],
  ['updatePipe', { at: here, name: 'renamed', extra: 'none' }],
  ['updatePipeSettings', { at: here, patch: { engine_max_threads: 64 }, bad: {} }],
  ['updatePipeScaling', { at: here, patch: { replicas: 40 }, bad: {} }],
  ['updatePipeState', { at: here, pipeCommand: 'start' }],
  ['updatePipeState', { at: here, pipeCommand: 'resync' }],
  ['updatePipeState', { at: here, pipeCommand: 'stop' }],
  ['deleteService', { at: there }],
  ['deletePipe', { at: here }],
  ['updatePipe', { at: removed, name: 'renamed', extra: 'none' }],
])

/** The last use of an endpoint, and the expiry of a key: checked by the final reads. */
const endings = played([
  ['createService', { ...aService, name: 'last' }],
  ['createPrivateEndpoint', { at: newest, id: 'vpce-ffffffff', description: 'blue' }],
  ['deletePrivateEndpoint', { at: newest, id: 'vpce-ffffffff' }],
  ['updateService', { at: newest, ids: { add: ['vpce-ffffffff'] } }],
  ['createPrivateEndpoint', { at: newest, id: 'vpce-ffffffff' }],
  ['updateService', { at: newest, ids: { remove: ['vpce-ffffffff'] } }],
  ['createPrivateEndpoint', { at: newest, id: 'vpce-ffffffff', description: 'blue' }],
  ['deleteService', { at: newest }],
  ['createKey', { name: 'deleted', role: 'admin', bad: 'none' }],
  ['deleteKey', { at: newest, self: false }],
  ['createKey', { name: 'expired', role: 'admin', bad: 'none' }],
  ['updateKey', { at: newest, self: false, expireAt: '2020-01-01T00:00:00Z', extra: 'none' }],
])

/** Fixed sequence; between its fixed parts, samples of every row in table order, several times. */
const tour = [
  ...everyOutcome,
  ...[1, 2, 3].flatMap((round) => [
    ...table.flatMap(({ arbitrary }, index) => fc.sample(arbitrary, { numRuns: 4, seed: 100 * round + index })),
    ...fc.sample(repeatCommand<Model>(), { numRuns: 4, seed: round }),
  ]),
  ...endings,
]

const changes = table.filter(({ plain }) => plain !== undefined)
const creations = changes.filter(({ operationId }) => operationId.startsWith('create'))

const story: Story<Model> = {
  makeWorld,
  beginning,
  // Everything is read at the end, so requests that change something are more frequent.
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
