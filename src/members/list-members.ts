import { pageOf, pageQuery, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { Member, memberExample } from './member.ts'
import { listMemberRows, searchMemberRows } from './store.ts'

export const listMembers = operation({
  id: 'listMembers',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/members',
  tag: 'User management',
  summary: 'List organization members',
  description: 'Returns the members of the organization with their roles, newest first.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: Type.Object(
    {
      ...pageQuery,
      search: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description:
            'Returns only members whose name or email address contains this text. The letters A to Z match in either case.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  result: Type.Array(Member, { description: 'Members, newest first.' }),
  problems: [],
  example: { summary: 'One member', result: [memberExample] },
  async run({ sql }, { params, query }) {
    const page = readPage(query)
    const { organizationId } = params
    const members =
      query.search === undefined
        ? await listMemberRows(sql, organizationId, page)
        : await searchMemberRows(sql, organizationId, query.search, page)
    const { rows, ...next } = pageOf(page, members, ({ joinedAt, userId }) => [joinedAt, userId])
    return { result: rows, ...next }
  },
})
