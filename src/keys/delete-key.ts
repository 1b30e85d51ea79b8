import { NoResult, operation } from '../operation/operation.ts'
import { KeyPath, ownKey } from './key.ts'
import { loadKey, removeKey } from './store.ts'

export const deleteKey = operation({
  id: 'deleteKey',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/keys/{keyId}',
  tag: 'OpenAPI',
  summary: 'Delete API key',
  description: 'Deletes the API key. Requests with it are rejected from then on. A key cannot delete itself.',
  access: 'admin',
  activity: 'key_deleted',
  versioned: true,
  params: KeyPath,
  result: NoResult,
  problems: ['own_key'],
  example: { summary: 'Delete a key', result: null },
  async run({ sql, caller, requireVersion, record }, { params }) {
    const { organizationId, keyId: id } = params
    const { key, version } = await loadKey(sql, organizationId, id)
    requireVersion(String(version))
    if (id === caller.id) throw ownKey(id, ['delete itself'])
    await removeKey(sql, organizationId, id)
    const { keyId, name, roles, state, expireAt, ipAccessList } = key
    record({ type: 'key', id }, [{ field: 'key', from: { keyId, name, roles, state, expireAt, ipAccessList } }])
    return { result: null }
  },
})
