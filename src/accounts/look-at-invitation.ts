import { InvitationToken, loadValidInvitation } from '../invitations/invitation.ts'
import { Type } from '../lib/schema.ts'
import { MemberRole } from '../members/member.ts'
import { consoleAction } from '../operation/console-action.ts'
import { findPersonByEmail } from '../sessions/store.ts'

/** Reads only. A POST, so that the token is in no URL and so in no log. */
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
  /** On a reader: wrong tokens must not take the time of writes. */
  async prepare({ sql, vault, now }, { body }) {
    const { invitation, organizationName } = await loadValidInvitation(sql, vault, body.token, now)
    const { email, role, expireAt } = invitation
    const invitedPerson = (await findPersonByEmail(sql, email)) ? ('known' as const) : ('new' as const)
    return { organizationName, email, role, expireAt, invitedPerson }
  },
  run: async (_context, { prepared }) => ({ result: prepared }),
})
