import { invalidBody, Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { consoleAction } from '../operation/console-action.ts'
import { NoResult } from '../operation/operation.ts'
import { mayReplacePassword } from '../sessions/session.ts'
import { findPerson, findSessionOf, lockPerson, removeLinksOf, removeSessionsOf } from '../sessions/store.ts'
import { CurrentPassword, NewPassword, passwordProblems } from './account.ts'
import { setPasswordHash } from './store.ts'

/**
 * Changes the password, or sets it without the current one shortly after a sign-in (`mayReplacePassword`).
 * Ends all other sessions of the person and invalidates their sign-in links.
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
  // Per session: a hijacked session cannot guess the password, and cannot lock out the person's other sessions.
  guarded: (_body, { signedIn }) => `current password in session ${signedIn!.sessionId}`,
  async prepare({ sql, signedIn, now }, { body: { currentPassword, newPassword } }) {
    const { hashPassword, verifyPassword } = await import('../lib/password.ts')
    const { userId, sessionId } = signedIn!
    const asker = { standing: 'known', queueKey: userId } as const
    const { email, passwordHash: presentHash } = (await findPerson(sql, userId))!
    const session = await findSessionOf(sql, { id: sessionId, userId }, now)
    const problems = passwordProblems('newPassword', newPassword, email)
    const hasPassword = presentHash !== undefined
    const mayLeaveItOut = session !== undefined && mayReplacePassword(session, { hasPassword }, now)
    if (hasPassword && currentPassword === undefined && !mayLeaveItOut) {
      problems.push({ path: 'currentPassword', detail: 'currentPassword is missing: this account has a password' })
    }
    if (!hasPassword && currentPassword !== undefined) {
      problems.push({
        path: 'currentPassword',
        detail: 'currentPassword must be omitted: this account has no password',
      })
    }
    if (problems.length > 0) throw invalidBody(problems)
    if (!hasPassword && !mayLeaveItOut) {
      const detail =
        'the first password can be set only within 15 minutes after sign-in; sign out, sign in again, and set it'
      throw new Problem('fresh_sign_in_needed', detail)
    }
    if (currentPassword !== undefined && !(await verifyPassword(currentPassword, presentHash, asker)))
      throw wrongPassword()
    return { presentHash, passwordHash: await hashPassword(newPassword, asker) }
  },
  async run({ sql, signedIn, now }, { prepared: { presentHash, passwordHash } }) {
    const { userId, sessionId } = signedIn!
    // May have changed since `prepare` compared it.
    if ((await lockPerson(sql, userId))?.passwordHash !== presentHash) throw wrongPassword()
    // Sessions end under the same lock: a session that was ended must not set a password.
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
