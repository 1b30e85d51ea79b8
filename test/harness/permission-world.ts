// Everybody who may call an operation or not, and everything that a path can name.
import { randomBytes } from 'node:crypto'
import { newId, randomBase62 } from '../../src/lib/id.ts'
import type { Role } from '../../src/operation/caller.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import type { SessionToInsert } from '../../src/sessions/store.ts'
import { basic, type Key, type TestApp, type TestResponse } from './test-app.ts'
import { freshAddress, type Ids, makeIds, pathOf } from './world.ts'

interface Caller {
  name: string
  /** Status of the caller before any lookup; absent if the caller is authenticated. */
  refused?: 401 | 403 | ((operation: AnyOperation) => 403 | undefined)
  role: 'admin' | 'developer'
  organization: 'own' | 'other'
  authorization(): string | undefined
  /** Headers of a session, instead of a key. */
  session?: Record<string, string>
  /** From 192.0.2.0/24, the only range that some keys allow. */
  fromListedAddress?: boolean
}

export interface Resource {
  name: string
  state: 'existing' | 'missing' | 'malformed'
  /** Organization in the path. */
  organization: 'own' | 'other' | 'nobody'
  ids: Ids
  /** Parameters with replaced ids. */
  replaced: string[]
}

export interface World {
  own: Ids
  other: Ids
  /** An admin key of the other organization. */
  otherAdmin: Key
  callers: Caller[]
}

export function expectedStatus(operation: AnyOperation, caller: Caller, resource: Resource): number {
  const refused = typeof caller.refused === 'function' ? caller.refused(operation) : caller.refused
  if (refused) return refused
  const namesOrganization = parametersOf(operation).includes('organizationId')
  if (resource.state === 'malformed' && resource.replaced.includes('organizationId')) return 400
  if (namesOrganization && resource.organization !== caller.organization) return 404
  if (operation.access === 'admin' && caller.role !== 'admin') return 403
  if (resource.state === 'malformed') return 400
  // A session has no current key.
  if (operation.id === 'getCurrentKey' && caller.session) return 404
  return resource.state === 'missing' ? 404 : 200
}

function parametersOf(operation: AnyOperation): string[] {
  return [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
}

export function resourcesOf(operation: AnyOperation, { own, other }: Pick<World, 'own' | 'other'>): Resource[] {
  const parameters = parametersOf(operation)
  const inside = parameters.filter((name) => name !== 'organizationId')
  const resource = (
    name: string,
    state: Resource['state'],
    organization: Resource['organization'],
    changes: Ids,
  ): Resource => ({ name, state, organization, ids: { ...own, ...changes }, replaced: Object.keys(changes) })

  const resources = [resource('existing', 'existing', 'own', {})]
  for (const name of parameters) {
    const organization = name === 'organizationId' ? 'nobody' : 'own'
    const isUuid = operation.params.properties[name].format === 'uuid'
    const malformed = isUuid ? 'not-a-uuid' : '%20'
    resources.push(resource(`missing ${name}`, 'missing', organization, { [name]: newId() }))
    resources.push(resource(`malformed ${name}`, 'malformed', organization, { [name]: malformed }))
  }
  for (const name of inside) {
    resources.push(resource(`foreign ${name}`, 'missing', 'own', { [name]: other[name]! }))
  }
  if (inside.length > 1) {
    const all = Object.fromEntries(inside.map((name) => [name, other[name]!]))
    resources.push(resource('foreign ids', 'missing', 'own', all))
  }
  resources.push(resource("another organization's ids", 'existing', 'other', other))
  return resources
}

export async function send(
  app: TestApp,
  operation: AnyOperation,
  caller: Pick<Caller, 'authorization' | 'session' | 'fromListedAddress'>,
  ids: Ids,
): Promise<TestResponse> {
  const authorization = caller.authorization()
  return app.request(operation.method, pathOf(operation, ids), {
    key: null,
    address: caller.fromListedAddress ? '192.0.2.7' : freshAddress(),
    headers: { ...caller.session, ...(authorization === undefined ? {} : { authorization }) },
    ...(operation.example.body === undefined ? {} : { body: operation.example.body }),
  })
}

export async function makeWorld(app: TestApp): Promise<World> {
  const { sample, admin } = app
  const another = await app.addOrganization()
  const own = await makeIds(app, admin, {
    organizationId: sample.organizationId,
    userId: sample.userId,
    serviceId: sample.serviceId,
  })
  const other = await makeIds(app, another.admin, {
    organizationId: another.organizationId,
    userId: await app.addMember(another.organizationId, 'developer'),
    serviceId: another.serviceId,
  })

  // Failures are also counted by key id: no key of the pool is used more often than the throttle allows.
  const requests = operations.reduce((sum, operation) => sum + resourcesOf(operation, { own, other }).length, 0)
  const pool = async (makeKey: () => Promise<Key>): Promise<() => Key> => {
    const keys: Key[] = []
    while (keys.length < requests / 10) keys.push(await makeKey())
    let next = 0
    return () => keys[next++ % keys.length]!
  }
  await app.query('BEGIN')
  const valid = await pool(() => app.addKey(sample.organizationId, 'admin'))
  const expired = await pool(() =>
    app.addKey(sample.organizationId, 'admin', { expireAt: new Date(Date.now() - 1000).toISOString() }),
  )
  const disabled = await pool(() => app.addKey(sample.organizationId, 'admin', { state: 'disabled' }))
  await app.query('COMMIT')
  const ipAccessList = [{ source: '192.0.2.0/24', description: 'the office' }]
  const listed = await app.addKey(sample.organizationId, 'admin', { ipAccessList })
  const unexpired = await app.addKey(sample.organizationId, 'admin', {
    expireAt: new Date(Date.now() + 3_600_000).toISOString(),
  })

  const session = async (organizationId: string, role: Role, more: Partial<SessionToInsert> = {}) =>
    (await app.addSession(await app.addMember(organizationId, role), more)).headers
  const adminSession = await session(sample.organizationId, 'admin')
  const { 'x-csrf-token': _token, ...withoutToken } = adminSession
  const { origin: _origin, 'sec-fetch-site': _site, ...withoutOrigin } = adminSession
  const person = { authorization: () => undefined, role: 'admin', organization: 'own' } as const
  const change = ({ method }: AnyOperation) => (method === 'GET' ? undefined : 403)

  const ours = { organization: 'own', role: 'admin' } as const
  const { developer } = app
  return {
    own,
    other,
    otherAdmin: another.admin,
    callers: [
      { name: 'no header', ...ours, refused: 401, authorization: () => undefined },
      { name: 'Bearer', ...ours, refused: 401, authorization: () => basic(admin).replace('Basic', 'Bearer') },
      { name: 'bad base64', ...ours, refused: 401, authorization: () => basic(admin).replace(/=*$/, '*') },
      {
        name: 'unknown id',
        ...ours,
        refused: 401,
        authorization: () => basic({ keyId: randomBase62(20), secret: admin.secret }),
      },
      {
        name: 'wrong secret',
        ...ours,
        refused: 401,
        authorization: () => basic({ keyId: valid().keyId, secret: `pst_${randomBytes(24).toString('hex')}` }),
      },
      { name: 'expired key', ...ours, refused: 401, authorization: () => basic(expired()) },
      { name: 'disabled key', ...ours, refused: 401, authorization: () => basic(disabled()) },
      { name: 'address not allowed', ...ours, refused: 403, authorization: () => basic(listed) },
      {
        name: "another organization's admin",
        organization: 'other',
        role: 'admin',
        authorization: () => basic(another.admin),
      },
      { name: 'developer', organization: 'own', role: 'developer', authorization: () => basic(developer) },
      { name: 'admin', ...ours, authorization: () => basic(admin) },
      { name: 'admin from an allowed address', ...ours, authorization: () => basic(listed), fromListedAddress: true },
      { name: 'admin with a key that expires later', ...ours, authorization: () => basic(unexpired) },
      {
        name: 'unknown session',
        ...person,
        refused: 401,
        session: { ...adminSession, cookie: `__Host-penstock-session=ses_${'0'.repeat(43)}` },
      },
      {
        name: 'expired session',
        ...person,
        refused: 401,
        session: await session(sample.organizationId, 'admin', { expireAt: new Date(Date.now() - 1).toISOString() }),
      },
      {
        name: 'session that was not used for long',
        ...person,
        refused: 401,
        session: await session(sample.organizationId, 'admin', {
          now: new Date(Date.now() - 12 * 3_600_000).toISOString(),
        }),
      },
      { name: 'session without a CSRF token', ...person, refused: change, session: withoutToken },
      {
        name: 'session with the CSRF token of another',
        ...person,
        refused: change,
        session: { ...adminSession, 'x-csrf-token': (await session(sample.organizationId, 'admin'))['x-csrf-token']! },
      },
      { name: 'session without an origin', ...person, refused: change, session: withoutOrigin },
      {
        name: 'session of a foreign origin',
        ...person,
        refused: change,
        session: { ...withoutOrigin, origin: 'https://attacker.example' },
      },
      {
        name: 'session on a foreign site',
        ...person,
        refused: 403,
        session: { ...adminSession, 'sec-fetch-site': 'cross-site' },
      },
      {
        name: 'session of a non-member',
        ...person,
        organization: 'other',
        session: await session(another.organizationId, 'admin'),
      },
      {
        name: 'session of a developer',
        ...person,
        role: 'developer',
        session: await session(sample.organizationId, 'developer'),
      },
      { name: 'session of an admin', ...person, session: adminSession },
    ],
  }
}

export const callerNames = [
  'no header',
  'Bearer',
  'bad base64',
  'unknown id',
  'wrong secret',
  'expired key',
  'disabled key',
  'address not allowed',
  "another organization's admin",
  'developer',
  'admin',
  'admin from an allowed address',
  'admin with a key that expires later',
  'unknown session',
  'expired session',
  'session that was not used for long',
  'session without a CSRF token',
  'session with the CSRF token of another',
  'session without an origin',
  'session of a foreign origin',
  'session on a foreign site',
  'session of a non-member',
  'session of a developer',
  'session of an admin',
]
