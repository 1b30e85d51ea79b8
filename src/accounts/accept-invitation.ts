import { insertActivity } from '../activities/store.ts'
import { InvitationToken } from '../invitations/invitation.ts'
import { loadValidInvitation, removeInvitation } from '../invitations/store.ts'
import { newId } from '../lib/id.ts'
import { type FieldProblem, invalidBody, Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { MemberRole } from '../members/member.ts'
import { findMember, insertMember } from '../members/store.ts'
import { consoleAction } from '../operation/console-action.ts'
import { lockOrganization } from '../organizations/store.ts'
import { openSession } from '../sessions/open-session.ts'
import { newDeviceToken } from '../sessions/session.ts'
import { findPersonByEmail } from '../sessions/store.ts'
import { AccountName, NewPassword, passwordProblems } from './account.ts'
import { insertAccount } from './store.ts'

/**
 * Adds the holder of the link as a member. A new person gets an account and is signed in. A person with an account must already be
 * signed in to it, so that a leaked link cannot open the account.
 */
export const acceptInvitation = consoleAction({
  id: 'acceptInvitation',
  method: 'POST',
  path: '/console/api/invitation/accept',
  access: 'anyone',
  body: Type.Object(
    { token: InvitationToken, name: Type.Optional(AccountName), password: Type.Optional(NewPassword) },
    { additionalProperties: false },
  ),
  result: Type.Object(
    { organizationId: Type.String({ format: 'uuid' }), organizationName: Type.String(), role: MemberRole },
    { additionalProperties: false },
  ),
  async prepare({ sql, vault, now }, { body: { token, name, password } }) {
    const { invitation } = await loadValidInvitation(sql, vault, token, now)
    if (await findPersonByEmail(sql, invitation.email)) return {}
    const problems: FieldProblem[] = []
    if (name === undefined) problems.push({ path: 'name', detail: 'name is missing: there is no account yet' })
    if (password === undefined)
      problems.push({ path: 'password', detail: 'password is missing: there is no account yet' })
    else problems.push(...passwordProblems('password', password, invitation.email))
    if (problems.length > 0) throw invalidBody(problems)
    const { hashPassword } = await import('../lib/password.ts')
    return { passwordHash: await hashPassword(password!, { standing: 'known', queueKey: invitation.email }) }
  },
  async run(context, { body: { token, name }, prepared: { passwordHash } }) {
    const { sql, vault, now, signedIn, requestId, address, userAgent } = context
    const { organizationId, organizationName } = await loadValidInvitation(sql, vault, token, now)
    const sealedMs = await lockOrganization(sql, organizationId)
    // Read again under the lock: another request may have accepted it.
    const { invitation } = await loadValidInvitation(sql, vault, token, now)
    const { id, email } = invitation

    const known = await findPersonByEmail(sql, email)
    if (known && signedIn?.userId !== known.id) throw signInNeeded(email)
    const userId = known?.id ?? newId()
    if (!known) {
      // `prepare` requires both when there is no account, and accounts are never deleted.
      const account = { id: userId, name: name!, email, passwordHash: passwordHash!, now }
      if (!(await insertAccount(sql, account))) throw signInNeeded(email)
    }

    const present = await findMember(sql, organizationId, userId)
    const role = present?.member.role ?? invitation.role
    if (!present) await insertMember(sql, { organizationId, userId, role, now })
    await removeInvitation(sql, organizationId, id)
    await insertActivity(sql, {
      type: 'invitation_accepted',
      caller: { type: 'user', id: userId, organizationId, address, userAgent },
      sealedMs,
      requestId,
      now,
      target: { type: 'invitation', id },
      changes: [
        { field: 'invitation', from: { email, role: invitation.role } },
        ...(present ? [] : [{ field: 'member', to: { userId, email, role } }]),
      ],
    })
    const result = { organizationId, organizationName, role }
    const answer = { result, recordedIn: organizationId }
    if (known) return answer
    const deviceToken = newDeviceToken(vault, email)
    return { ...answer, sessionToken: await openSession(context, userId), deviceToken }
  },
})

function signInNeeded(email: string): Problem {
  return new Problem(
    'sign_in_needed',
    `${email} has an account already; sign in as ${email}, then open the link of the invitation again`,
  )
}
