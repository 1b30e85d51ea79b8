import { completeIpAccessList, ipAccessProblems } from '../lib/ip-access.ts'
import { type Difference, differences, requireSomething } from '../lib/merge-patch.ts'
import { type FieldProblem, invalidBody } from '../lib/problem.ts'
import type { Caller } from '../operation/caller.ts'
import { operation } from '../operation/operation.ts'
import { addressAllowed } from './ip-access.ts'
import { Key, KeyPatch, KeyPath, keyExample, ownKey, readExpiry } from './key.ts'
import { findStoredKey, loadKey, updateKeyRow } from './store.ts'

export const updateKey = operation({
  id: 'updateKey',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/keys/{keyId}',
  tag: 'OpenAPI',
  summary: 'Update API key',
  description:
    'Changes the fields that are sent and keeps the others. `ipAccessList` replaces the complete list, and ' +
    '`"expireAt": null` removes the expiry. A time in the past expires the key immediately. Changes take effect with ' +
    'the next request. A key cannot disable, demote or expire itself, or exclude the address of the request.',
  access: 'admin',
  activity: 'key_updated',
  versioned: true,
  params: KeyPath,
  body: KeyPatch,
  echo: {
    shape: Key,
    current: async ({ sql }, params) => (await findStoredKey(sql, params.organizationId, params.keyId))?.key,
  },
  result: Key,
  problems: ['nothing_to_update', 'own_key'],
  example: {
    summary: 'Rename a key and allow all addresses',
    body: { name: 'deployments (eu)', ipAccessList: [] },
    result: { ...keyExample, name: 'deployments (eu)', ipAccessList: [] },
  },
  async run({ sql, caller, now, requireVersion, record }, { params, body }) {
    const { organizationId, keyId: id } = params
    const stored = await loadKey(sql, organizationId, id)
    requireVersion(String(stored.version))
    const { usedAt: _, ...patch } = body
    requireSomething(patch)

    const problems: FieldProblem[] = []
    const key: Key = {
      ...stored.key,
      name: patch.name ?? stored.key.name,
      roles: patch.roles ?? stored.key.roles,
      state: patch.state ?? stored.key.state,
      expireAt: patch.expireAt === undefined ? stored.key.expireAt : readExpiry(patch.expireAt, problems),
      ipAccessList: patch.ipAccessList ? completeIpAccessList(patch.ipAccessList) : stored.key.ipAccessList,
    }
    problems.push(...ipAccessProblems(key.ipAccessList, 'ipAccessList'))
    if (problems.length > 0) throw invalidBody(problems)

    const changes = differences(stored.key, key)
    if (changes.length === 0) return { result: stored.key, version: String(stored.version) }
    if (id === caller.id) refuseToShutOut(key, changes, caller, now)
    const updated = await updateKeyRow(sql, organizationId, { key, version: stored.version })
    record({ type: 'key', id }, changes)
    return { result: updated.key, version: String(updated.version) }
  },
})

/** Throws when the changed key could not make this request again. */
function refuseToShutOut(key: Key, changes: Difference[], { address }: Caller, now: string): void {
  const changed = new Set(changes.map(({ field }) => field))
  const cannot: string[] = []
  if (changed.has('state') && key.state === 'disabled') cannot.push('disable itself')
  if (changed.has('roles') && !key.roles.includes('admin')) cannot.push('take the role admin from itself')
  if (changed.has('expireAt') && key.expireAt !== null && key.expireAt <= now) {
    cannot.push(`expire itself at ${key.expireAt}, which has passed`)
  }
  if (changed.has('ipAccessList') && !addressAllowed(JSON.stringify(key.ipAccessList), address)) {
    cannot.push(`have an IP access list without the address that it is used from, ${address}`)
  }
  if (cannot.length > 0) throw ownKey(key.id, cannot)
}
