import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { Organization, OrganizationPath, organizationExample } from './organization.ts'
import { loadOrganization } from './store.ts'

export const getOrganization = operation({
  id: 'getOrganization',
  method: 'GET',
  path: '/v1/organizations/{organizationId}',
  tag: 'Organization',
  summary: 'Get organization',
  description:
    'Returns the organization with its private endpoints. Send the `ETag` as `If-Match` with a change. The `ETag` ' +
    'changes with the name, and not with the private endpoints.',
  access: 'developer',
  versioned: true,
  params: Type.Object(OrganizationPath),
  result: Organization,
  problems: [],
  example: { summary: 'An organization with one private endpoint', result: organizationExample },
  async run({ sql }, { params }) {
    const { organization, version } = await loadOrganization(sql, params.organizationId)
    return { result: organization, version: String(version) }
  },
})
