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
    'The organization with its private endpoints. The `ETag` of the answer can be sent as `If-Match` with a change; it is ' +
    'that of the name, and stays when private endpoints come and go.',
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
