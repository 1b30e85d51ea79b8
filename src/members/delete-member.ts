import { NoResult, operation } from '../operation/operation.ts'
import { MemberPath } from './member.ts'
import { keepAnAdmin, loadMember, removeMember, versionOf } from './store.ts'

export const deleteMember = operation({
  id: 'deleteMember',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/members/{userId}',
  tag: 'User management',
  summary: 'Remove organization member',
  description:
    'Removes the member from the organization. Memberships in other organizations and the API keys of the ' +
    'organization stay. The last admin of an organization cannot be removed.',
  access: 'admin',
  activity: 'member_removed',
  versioned: true,
  params: MemberPath,
  result: NoResult,
  problems: ['last_admin'],
  example: { summary: 'Remove a developer', result: null },
  async run({ sql, requireVersion, record }, { params }) {
    const { organizationId, userId } = params
    const stored = await loadMember(sql, organizationId, userId)
    requireVersion(versionOf(stored))
    await keepAnAdmin(sql, organizationId, stored.member)
    await removeMember(sql, organizationId, stored)
    const { email, role } = stored.member
    record({ type: 'member', id: userId }, [{ field: 'member', from: { email, role } }])
    return { result: null }
  },
})
