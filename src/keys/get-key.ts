import { operation } from '../operation/operation.ts'
import { Key, KeyPath, keyExample } from './key.ts'
import { loadKey } from './store.ts'

export const getKey = operation({
  id: 'getKey',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/keys/{keyId}',
  tag: 'OpenAPI',
  summary: 'Get API key',
  description:
    'Returns the API key without its secret. Send the `ETag` as `If-Match` with a change. The `ETag` does not change ' +
    'when the key is used.',
  access: 'developer',
  versioned: true,
  params: KeyPath,
  result: Key,
  problems: [],
  example: { summary: 'A key for deployments', result: keyExample },
  async run({ sql }, { params }) {
    const { key, version } = await loadKey(sql, params.organizationId, params.keyId)
    return { result: key, version: String(version) }
  },
})
