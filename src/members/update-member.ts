import { operation } from '../operation/operation.ts'
import { Member, MemberPatch, MemberPath, memberExample } from './member.ts'
import { findMember, keepAnAdmin, loadMember, updateRole, versionOf } from './store.ts'

export const updateMember = operation({
  id: 'updateMember',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/members/{userId}',
  tag: 'User management',
  summary: 'Update organization member',
  description:
    'Changes the role of a member. A request with the current role succeeds and changes nothing. The last admin of an ' +
    'organization cannot be made a developer.',
  access: 'admin',
  activity: 'member_role_changed',
  versioned: true,
  params: MemberPath,
  body: MemberPatch,
  echo: {
    shape: Member,
    current: async ({ sql }, params) => (await findMember(sql, params.organizationId, params.userId))?.member,
  },
  result: Member,
  problems: ['last_admin'],
  example: {
    summary: 'Make a developer an admin',
    body: { role: 'admin' },
    result: { ...memberExample, role: 'admin' },
  },
  async run({ sql, requireVersion, record }, { params, body }) {
    const { organizationId, userId } = params
    const stored = await loadMember(sql, organizationId, userId)
    requireVersion(versionOf(stored))

    const { role } = stored.member
    if (body.role === role) return { result: stored.member, version: versionOf(stored) }
    await keepAnAdmin(sql, organizationId, stored.member)
    const changed = await updateRole(sql, organizationId, stored, body.role)
    record({ type: 'member', id: userId }, [{ field: 'role', from: role, to: body.role }])
    return { result: changed.member, version: versionOf(changed) }
  },
})
