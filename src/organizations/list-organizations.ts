import { PageQuery, pageOf, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { Organization, organizationExample } from './organization.ts'
import { listOrganizationIdsOfMember, loadOrganization } from './store.ts'

export const listOrganizations = operation({
  id: 'listOrganizations',
  method: 'GET',
  path: '/v1/organizations',
  tag: 'Organization',
  summary: 'List organizations',
  description: 'Returns the organization of the API key. A key belongs to one organization, so the list has one item.',
  access: 'developer',
  params: Type.Object({}),
  query: PageQuery,
  result: Type.Array(Organization, { description: 'Organizations.' }),
  problems: [],
  example: { summary: 'The organization of the key', result: [organizationExample] },
  async run({ sql, caller }, { query }) {
    const page = readPage(query)
    if (caller.type === 'user') {
      const loaded = []
      for (const id of await listOrganizationIdsOfMember(sql, caller.id, page))
        loaded.push(await loadOrganization(sql, id))
      const { rows, ...next } = pageOf(
        page,
        loaded.map(({ organization }) => organization),
        (organization) => [organization.createdAt, organization.id],
      )
      return { result: rows, ...next }
    }
    const { organization } = await loadOrganization(sql, caller.organizationId)
    const { createdAt, id } = organization
    const [at, after] = page.after
    const isAfter = createdAt < at || (createdAt === at && id < after)
    return { result: isAfter ? [organization] : [] }
  },
})
