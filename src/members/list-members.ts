import { operation } from '../http/operation.ts'
import { PageQuery, pageOf, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { Member, memberExample } from './member.ts'
import { listMemberRows } from './store.ts'

export const listMembers = operation({
  id: 'listMembers',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/members',
  tag: 'User management',
  summary: 'List organization members',
  description: 'The people of the organization with their roles, those who joined last first.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: PageQuery,
  result: Type.Array(Member),
  problems: [],
  example: { summary: 'One member', result: [memberExample] },
  async run({ sql }, { params, query }) {
    const page = readPage(query)
    const members = await listMemberRows(sql, params.organizationId, page)
    const { rows, ...next } = pageOf(page, members, ({ joinedAt, userId }) => [joinedAt, userId])
    return { result: rows, ...next }
  },
})
