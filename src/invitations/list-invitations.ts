import { PageQuery, pageOf, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { Invitation, invitationExample } from './invitation.ts'
import { listInvitationRows } from './store.ts'

export const listInvitations = operation({
  id: 'listInvitations',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/invitations',
  tag: 'User management',
  summary: 'List invitations',
  description:
    'Returns the invitations that were neither accepted nor deleted, newest first. The list includes expired ' +
    'invitations and does not include links.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: PageQuery,
  result: Type.Array(Invitation, { description: 'Invitations, newest first.' }),
  problems: [],
  example: { summary: 'One invitation', result: [invitationExample] },
  async run({ sql }, { params, query }) {
    const page = readPage(query)
    const invitations = await listInvitationRows(sql, params.organizationId, page)
    const { rows, ...next } = pageOf(page, invitations, ({ createdAt, id }) => [createdAt, id])
    return { result: rows, ...next }
  },
})
