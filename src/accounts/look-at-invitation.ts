import { InvitationToken } from '../invitations/invitation.ts'
import { loadValidInvitation } from '../invitations/store.ts'
import { Type } from '../lib/schema.ts'
import { MemberRole } from '../members/member.ts'
import { consoleAction } from '../operation/console-action.ts'
import { findPersonByEmail } from '../sessions/store.ts'

/** Read-only. POST keeps the token out of URLs and logs. */
export const lookAtInvitation = consoleAction({
  id: 'lookAtInvitation',
  method: 'POST',
  path: '/console/api/invitation',
  access: 'anyone',
  body: Type.Object({ token: InvitationToken }, { additionalProperties: false }),
  result: Type.Object(
    {
      organizationName: Type.String(),
      email: Type.String(),
      role: MemberRole,
      expireAt: Type.String({ format: 'date-time' }),
      invitedPerson: Type.Enum(['new', 'known'], {
        description: '`known` has an account and must sign in; `new` gives a name and a password.',
      }),
    },
    { additionalProperties: false },
  ),
  /** Uses a read connection, so that wrong tokens do not block writes. */
  async prepare({ sql, vault, now }, { body }) {
    const { invitation, organizationName } = await loadValidInvitation(sql, vault, body.token, now)
    const { email, role, expireAt } = invitation
    const invitedPerson = (await findPersonByEmail(sql, email)) ? ('known' as const) : ('new' as const)
    return { organizationName, email, role, expireAt, invitedPerson }
  },
  run: async (_context, { prepared }) => ({ result: prepared }),
})
