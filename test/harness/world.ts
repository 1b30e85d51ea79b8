// One of everything that a path can name, in a test organization, created over the API.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { randomBase62 } from '../../src/lib/id.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import type { Key, TestApp, TestResponse } from './test-app.ts'

/** Ids in a path, by parameter name. */
export type Ids = Record<string, string>

/** Calls the API as an admin of the organization. */
export type Ask = (operationId: string, changes?: Ids, body?: unknown) => Promise<TestResponse>

/**
 * Preparations before an operation can be accepted again: it consumes what it needs, or leaves something in the way. Returns
 * changed ids.
 */
export const preparations: Record<string, (ask: Ask, app: TestApp, ids: Ids) => Promise<Ids>> = {
  deleteMember: async (_ask, app, { organizationId }) => ({
    userId: await app.addMember(organizationId!, 'developer'),
  }),
  createInvitation: async (ask) => {
    const { email } = operations.find(({ id }) => id === 'createInvitation')!.example.body as { email: string }
    const { result } = (await ask('listInvitations')).body
    for (const invitation of result) {
      if (invitation.email === email) await ask('deleteInvitation', { invitationId: invitation.id })
    }
    return {}
  },
  deleteInvitation: async (ask) => {
    const email = `${randomBase62(12).toLowerCase()}@northwind.example`
    return { invitationId: (await ask('createInvitation', {}, { email, role: 'developer' })).body.result.id }
  },
  deleteKey: async (ask) => ({ keyId: (await ask('createKey')).body.result.key.id }),
  deleteService: async (ask) => ({ serviceId: (await ask('createService')).body.result.id }),
  deletePrivateEndpoint: async (ask, _app, ids) => {
    await ask('createPrivateEndpoint', {}, { id: ids.privateEndpointId })
    return {}
  },
  deletePipe: async (ask) => ({ pipeId: (await ask('createPipe')).body.result.id }),
  updatePipeState: async (ask) => {
    await ask('updatePipeState', {}, { command: 'stop' })
    return {}
  },
}

/** Answered with 503 when everything is valid: no engine listens at the address of these services. */
export const asksEngine = ['checkDestination', 'listServiceTables']

let lastAddress = 0

/** Every request comes from another address, to avoid the throttle of failed authentications. */
export function freshAddress(): string {
  lastAddress++
  return `10.${(lastAddress >> 16) & 255}.${(lastAddress >> 8) & 255}.${lastAddress & 255}`
}

export function pathOf(operation: AnyOperation, ids: Ids): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name]
    assert.ok(id, `the sample has no id for the parameter ${name}: add one to makeWorld`)
    return id
  })
}

/** Calls as an admin of the organization; sends the example of the operation by default. */
export function asker(app: TestApp, key: Key, ids: Ids): Ask {
  return async (operationId, changes = {}, body) => {
    const operation = operations.find(({ id }) => id === operationId)!
    const sent = body ?? operation.example.body
    const response = await app.request(operation.method, pathOf(operation, { ...ids, ...changes }), {
      key,
      address: freshAddress(),
      ...(sent === undefined ? {} : { body: sent }),
    })
    assert.equal(response.status, 200, `${operationId}: ${response.text}`)
    return response
  }
}

/** Creates one of everything that a path can name. */
export async function makeIds(app: TestApp, key: Key, given: Ids): Promise<Ids> {
  const ask = asker(app, key, given)
  const privateEndpointId = `vpce-${randomBytes(4).toString('hex')}`
  await ask('createPrivateEndpoint', {}, { id: privateEndpointId })
  const email = `${randomBase62(12).toLowerCase()}@northwind.example`
  const ids: Ids = {
    ...given,
    privateEndpointId,
    invitationId: (await ask('createInvitation', {}, { email, role: 'developer' })).body.result.id,
    keyId: (await ask('createKey')).body.result.key.id,
    pipeId: (await ask('createPipe')).body.result.id,
  }
  return { ...ids, activityId: (await asker(app, key, ids)('listActivities')).body.result[0].id }
}
