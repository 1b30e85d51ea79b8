import type { WriteContext } from '../database/database.ts'
import { isInvited } from '../invitations/store.ts'
import { newId } from '../lib/id.ts'
import { openSession } from '../sessions/open-session.ts'
import { findPersonByEmail, removeLinksOf, removeSessionsOf } from '../sessions/store.ts'
import type { OidcProblem, OidcSignIn } from './oidc.ts'
import { bindOidcSubject, findUserIdOfSubject, insertAccount } from './store.ts'

/** People without an account can sign in only from this page. */
const invitationPage = '/console/invitations/accept'

/** Returns the token of a new session, or the reason for refusing it. */
export async function signInWithOidc(
  { sql, vault }: WriteContext,
  { person, to, address, userAgent }: OidcSignIn,
): Promise<{ sessionToken: string } | { problem: OidcProblem }> {
  const { oidcSubject, email, emailVerified } = person
  const now = new Date().toISOString()
  const enter = async (userId: string) => ({
    sessionToken: await openSession({ sql, vault, now, address, userAgent, signedIn: undefined }, userId),
  })
  /** Repeated when a write finds the account changed: the same person may be signing in in another window. */
  const enterIfBound = async () => {
    const userId = await findUserIdOfSubject(sql, oidcSubject)
    return userId === undefined ? undefined : enter(userId)
  }

  const entered = await enterIfBound()
  if (entered) return entered
  if (email === undefined) return { problem: 'oidc_email_missing' }
  // An address that the provider has not verified could be anybody's.
  if (!emailVerified) return { problem: 'oidc_email_not_verified' }

  const known = await findPersonByEmail(sql, email)
  if (known) {
    if (await bindOidcSubject(sql, known.id, oidcSubject)) {
      // The provider has verified the owner. Earlier sessions may belong to somebody who only had an invitation link.
      await removeSessionsOf(sql, known.id)
      await removeLinksOf(sql, known.id)
      return enter(known.id)
    }
    return (await enterIfBound()) ?? { problem: 'oidc_other_identity' }
  }
  if (!(await isInvited(sql, email, now))) return { problem: 'oidc_unknown_person' }
  if (to !== invitationPage) return { problem: 'oidc_invited' }
  const id = newId()
  const name = person.name ?? email.split('@')[0]!
  if (await insertAccount(sql, { id, name, email, oidcSubject, now })) return enter(id)
  return (await enterIfBound()) ?? { problem: 'oidc_other_identity' }
}
