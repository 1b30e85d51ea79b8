import { invalidBody, Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { NoResult } from '../operation/operation.ts'
import { mayReplacePassword } from '../sessions/session.ts'
import { findPerson, findSessionOf, lockPerson, removeLinksOf, removeSessionsOf } from '../sessions/store.ts'
import { CurrentPassword, NewPassword, passwordProblems } from './account.ts'
import { setPasswordHash } from './store.ts'

/**
 * Also sets the first password of somebody who has just signed in without one, and that of somebody who has just come by a link.
 * All other sessions of the person end, and no link for them works any more.
 */
export const changePassword = consoleAction({
  id: 'changePassword',
  method: 'POST',
  path: '/console/api/account/password',
  access: 'person',
  body: Type.Object(
    { currentPassword: Type.Optional(CurrentPassword), newPassword: NewPassword },
    { additionalProperties: false },
  ),
  result: NoResult,
  // Whoever has taken over a session must not guess the password with it, nor keep the person from changing it in another one.
  guarded: (_body, { signedIn }) => `current password in session ${signedIn!.sessionId}`,
  async prepare({ sql, signedIn, now }, { body: { currentPassword, newPassword } }) {
    const { hashPassword, verifyPassword } = await import('../lib/password.ts')
    const { userId, sessionId } = signedIn!
    const asker = { standing: 'known', lane: userId } as const
    const { email, passwordHash: presentHash } = (await findPerson(sql, userId))!
    const session = await findSessionOf(sql, { id: sessionId, userId }, now)
    const problems = passwordProblems('newPassword', newPassword, email)
    const hasPassword = presentHash !== undefined
    const mayLeaveItOut = session !== undefined && mayReplacePassword(session, { hasPassword }, now)
    if (hasPassword && currentPassword === undefined && !mayLeaveItOut) {
      problems.push({ path: 'currentPassword', detail: 'currentPassword is missing: this account has a password' })
    }
    if (!hasPassword && currentPassword !== undefined) {
      problems.push({ path: 'currentPassword', detail: 'currentPassword must be left out: this account has none' })
    }
    if (problems.length > 0) throw invalidBody(problems)
    if (!hasPassword && !mayLeaveItOut) {
      const detail =
        'the first password is set within 15 minutes after signing in; sign out, sign in again, and set it then'
      throw new Problem('fresh_sign_in_needed', detail)
    }
    if (currentPassword !== undefined && !(await verifyPassword(currentPassword, presentHash, asker)))
      throw wrongPassword()
    return { presentHash, passwordHash: await hashPassword(newPassword, asker) }
  },
  async run({ sql, signedIn, now }, { prepared: { presentHash, passwordHash } }) {
    const { userId, sessionId } = signedIn!
    // It may have been changed since it was compared.
    if ((await lockPerson(sql, userId))?.passwordHash !== presentHash) throw wrongPassword()
    // Sessions of the person end under the same lock: who has lost theirs must not come back with a password.
    if (!(await findSessionOf(sql, { id: sessionId, userId }, now))) {
      throw new Problem('unauthorized', 'your session has ended; sign in again')
    }
    await setPasswordHash(sql, userId, passwordHash)
    await removeSessionsOf(sql, userId, sessionId)
    await removeLinksOf(sql, userId)
    return { result: null }
  },
})

function wrongPassword(): Problem {
  return new Problem('wrong_password', 'currentPassword is not the password of this account; nothing was changed')
}
