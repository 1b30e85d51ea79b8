import { consoleAction } from '../http/console-action.ts'
import { NoResult } from '../http/operation.ts'
import { invalidBody, Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { findPerson, lockPerson, removeSessionsOf } from '../sessions/store.ts'
import { CurrentPassword, NewPassword, passwordProblems } from './account.ts'
import { setPasswordHash } from './store.ts'

/** Also sets the first password of somebody who has signed in without one. All other sessions of the person end. */
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
  // Whoever has taken over a session must not guess the password with it.
  guardedNames: (_body, { signedIn }) => [`password of ${signedIn!.userId}`],
  async prepare({ sql, signedIn }, { body: { currentPassword, newPassword } }) {
    const { hashPassword, verifyPassword } = await import('../lib/password.ts')
    const { email, passwordHash: presentHash } = (await findPerson(sql, signedIn!.userId))!
    const problems = passwordProblems('newPassword', newPassword, email)
    if (presentHash !== undefined && currentPassword === undefined) {
      problems.push({ path: 'currentPassword', detail: 'currentPassword is missing: this account has a password' })
    }
    if (presentHash === undefined && currentPassword !== undefined) {
      problems.push({ path: 'currentPassword', detail: 'currentPassword must be left out: this account has none' })
    }
    if (problems.length > 0) throw invalidBody(problems)
    if (presentHash !== undefined && !(await verifyPassword(currentPassword!, presentHash))) throw wrongPassword()
    return { presentHash, passwordHash: await hashPassword(newPassword) }
  },
  async run({ sql, signedIn }, { prepared: { presentHash, passwordHash } }) {
    const { userId, sessionId } = signedIn!
    // It may have been changed since it was compared.
    if ((await lockPerson(sql, userId))?.passwordHash !== presentHash) throw wrongPassword()
    await setPasswordHash(sql, userId, passwordHash)
    await removeSessionsOf(sql, userId, sessionId)
    return { result: null }
  },
})

function wrongPassword(): Problem {
  return new Problem('wrong_password', 'currentPassword is not the password of this account; nothing was changed')
}
