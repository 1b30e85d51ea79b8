import { operation } from '../operation/operation.ts'
import { Invitation, InvitationPath, invitationExample } from './invitation.ts'
import { loadInvitation } from './store.ts'

export const getInvitation = operation({
  id: 'getInvitation',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/invitations/{invitationId}',
  tag: 'User management',
  summary: 'Get invitation',
  description: 'Returns the invitation without its link, also if it has expired.',
  access: 'developer',
  versioned: true,
  params: InvitationPath,
  result: Invitation,
  problems: [],
  example: { summary: 'An invitation of a developer', result: invitationExample },
  async run({ sql }, { params }) {
    const { invitation, version } = await loadInvitation(sql, params.organizationId, params.invitationId)
    return { result: invitation, version: String(version) }
  },
})
