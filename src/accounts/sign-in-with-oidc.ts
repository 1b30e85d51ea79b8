import type { WriteContext } from '../database/database.ts'
import { isInvited } from '../invitations/store.ts'
import { newId } from '../lib/id.ts'
import { openSession } from '../sessions/open-session.ts'
import { findPersonByEmail, removeLinksOf, removeSessionsOf } from '../sessions/store.ts'
import type { OidcPerson, OidcProblem } from './oidc.ts'
import { bindOidcSubject, findUserIdOfSubject, insertAccount } from './store.ts'

/** The page that an invitation is accepted on: the only one that people without an account may come from. */
const invitationPage = '/console/invitations/accept'

export interface OidcSignIn {
  person: OidcPerson
  /** The page that the sign-in was begun for. */
  to: string
  address: string
  userAgent: string
}

/** Lets the person in who has come back from the provider: the token of a session, or why not. */
export async function signInWithOidc(
  { sql, vault }: WriteContext,
  { person, to, address, userAgent }: OidcSignIn,
): Promise<{ sessionToken: string } | { problem: OidcProblem }> {
  const { oidcSubject, email, emailVerified } = person
  const now = new Date().toISOString()
  const enter = async (userId: string) => ({
    sessionToken: await openSession({ sql, vault, now, address, userAgent, signedIn: undefined }, userId),
  })
  /** Also after a change that came too late: perhaps the same person is signing in in another window. */
  const enterIfBound = async () => {
    const userId = await findUserIdOfSubject(sql, oidcSubject)
    return userId === undefined ? undefined : enter(userId)
  }

  const entered = await enterIfBound()
  if (entered) return entered
  if (email === undefined) return { problem: 'oidc_email_missing' }
  // Anybody can have any address at a provider that does not check: it must not open the account of somebody else.
  if (!emailVerified) return { problem: 'oidc_email_not_verified' }

  const known = await findPersonByEmail(sql, email)
  if (known) {
    if (await bindOidcSubject(sql, known.id, oidcSubject)) {
      // The provider knows whose address it is. Whoever got in before may have had no more than a link of an invitation.
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
