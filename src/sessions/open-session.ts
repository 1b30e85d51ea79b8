import type { Sql } from '../database/sql.ts'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { newId } from '../lib/id.ts'
import type { Vault } from '../lib/vault.ts'
import type { ActionContext } from '../operation/console-action.ts'
import { latestExpiryOf, newLinkToken, newSessionToken, signInFailed } from './session.ts'
import { findPersonByEmail, insertLink, insertSession, lockPerson, removeSession } from './store.ts'

/**
 * Opens a session in the transaction that authenticated the person, and returns its token. Ends the session that was presented,
 * whoever's it was, to prevent session fixation.
 */
export async function openSession(
  { sql, vault, now, address, userAgent, signedIn }: Omit<ActionContext, 'settings' | 'requestId' | 'deviceToken'>,
  userId: string,
  { isByLink = false }: { isByLink?: boolean } = {},
): Promise<string> {
  if (!(await lockPerson(sql, userId))) throw signInFailed()
  if (signedIn) await removeSession(sql, signedIn.sessionId)
  const { token, tokenHash } = newSessionToken(vault)
  const expireAt = latestExpiryOf(now)
  await insertSession(sql, { tokenHash, id: newId(), userId, now, expireAt, address, userAgent, isByLink })
  return token.reveal()
}

export interface LinkOrder {
  email: string
  minutes: number
}

/** Creates a sign-in link and returns its token; undefined when nobody has this email address. */
export async function createSignInLink(
  { sql, vault }: { sql: Sql; vault: Vault },
  { email, minutes }: LinkOrder,
): Promise<string | undefined> {
  const person = await findPersonByEmail(sql, asciiLowerCase(email))
  if (!person) return undefined
  const nowMs = Date.now()
  const { token, tokenHash } = newLinkToken(vault)
  await insertLink(sql, {
    tokenHash,
    userId: person.id,
    now: new Date(nowMs).toISOString(),
    expireAt: new Date(nowMs + minutes * 60_000).toISOString(),
  })
  return token.reveal()
}
