import { notFound } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { Key, keyExample } from './key.ts'
import { loadKey } from './store.ts'

export const getCurrentKey = operation({
  id: 'getCurrentKey',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/keys/current',
  tag: 'OpenAPI',
  summary: 'Get the API key in use',
  description: 'Returns the API key that authenticates this request: its role, expiry and IP access list.',
  access: 'developer',
  versioned: true,
  params: Type.Object(OrganizationPath),
  result: Key,
  problems: [],
  example: { summary: 'A key for deployments', result: { ...keyExample, usedAt: '2026-11-02T16:40:09.120Z' } },
  async run({ sql, caller }, { params }) {
    if (caller.type !== 'key') throw notFound('this request was made in a session of the console, not with an API key')
    const { key, version } = await loadKey(sql, params.organizationId, caller.id)
    return { result: key, version: String(version) }
  },
})
