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
    'The invitations that have neither been accepted nor deleted, the newest first. Expired ones are included: see ' +
    '`expireAt`. Links are not shown.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: PageQuery,
  result: Type.Array(Invitation),
  problems: [],
  example: { summary: 'One invitation', result: [invitationExample] },
  async run({ sql }, { params, query }) {
    const page = readPage(query)
    const invitations = await listInvitationRows(sql, params.organizationId, page)
    const { rows, ...next } = pageOf(page, invitations, ({ createdAt, id }) => [createdAt, id])
    return { result: rows, ...next }
  },
})
