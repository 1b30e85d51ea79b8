import { requireSomething } from '../lib/merge-patch.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { Organization, OrganizationPatch, OrganizationPath, organizationExample } from './organization.ts'
import { loadOrganization, renameOrganization } from './store.ts'

export const updateOrganization = operation({
  id: 'updateOrganization',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}',
  tag: 'Organization',
  summary: 'Update organization',
  description: 'Changes the name of the organization. A request with the current name succeeds and changes nothing.',
  access: 'admin',
  activity: 'organization_updated',
  versioned: true,
  params: Type.Object(OrganizationPath),
  body: OrganizationPatch,
  echo: {
    shape: Organization,
    current: async ({ sql }, params) => (await loadOrganization(sql, params.organizationId)).organization,
  },
  result: Organization,
  problems: ['nothing_to_update'],
  example: {
    summary: 'Rename the organization',
    body: { name: 'Northwind Data' },
    result: { ...organizationExample, name: 'Northwind Data' },
  },
  async run({ sql, requireVersion, record }, { params, body }) {
    const { organization, version } = await loadOrganization(sql, params.organizationId)
    requireVersion(String(version))
    const { id } = organization
    requireSomething(body)
    const { name = organization.name } = body
    if (name === organization.name) return { result: organization, version: String(version) }
    await renameOrganization(sql, id, name)
    record({ type: 'organization', id }, [{ field: 'name', from: organization.name, to: name }])
    return { result: { ...organization, name }, version: String(version + 1) }
  },
})
