import { NoResult, operation } from '../operation/operation.ts'
import { InvitationPath } from './invitation.ts'
import { loadInvitation, removeInvitation } from './store.ts'

export const deleteInvitation = operation({
  id: 'deleteInvitation',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/invitations/{invitationId}',
  tag: 'User management',
  summary: 'Delete invitation',
  description: 'Deletes the invitation. Its link is no longer valid.',
  access: 'admin',
  activity: 'invitation_deleted',
  versioned: true,
  params: InvitationPath,
  result: NoResult,
  problems: [],
  example: { summary: 'Delete an invitation', result: null },
  async run({ sql, requireVersion, record }, { params }) {
    const { organizationId, invitationId: id } = params
    const { invitation, version } = await loadInvitation(sql, organizationId, id)
    requireVersion(String(version))
    await removeInvitation(sql, organizationId, id)
    const { email, role } = invitation
    record({ type: 'invitation', id }, [{ field: 'invitation', from: { email, role } }])
    return { result: null }
  },
})
