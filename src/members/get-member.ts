import { operation } from '../operation/operation.ts'
import { Member, MemberPath, memberExample } from './member.ts'
import { loadMember, versionOf } from './store.ts'

export const getMember = operation({
  id: 'getMember',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/members/{userId}',
  tag: 'User management',
  summary: 'Get organization member',
  description: 'Returns the member with the current role. Send the `ETag` as `If-Match` with a change.',
  access: 'developer',
  versioned: true,
  params: MemberPath,
  result: Member,
  problems: [],
  example: { summary: 'A developer', result: memberExample },
  async run({ sql }, { params }) {
    const stored = await loadMember(sql, params.organizationId, params.userId)
    return { result: stored.member, version: versionOf(stored) }
  },
})
