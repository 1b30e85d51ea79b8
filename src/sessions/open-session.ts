import type { Sql } from '../database/sql.ts'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { newId } from '../lib/id.ts'
import type { Vault } from '../lib/vault.ts'
import type { ActionContext } from '../operation/console-action.ts'
import { lastMomentOf, newLinkToken, newSessionToken, signInFailed } from './session.ts'
import { findPersonByEmail, insertLink, insertSession, lockPerson, removeSession } from './store.ts'

/**
 * Begins a session of the person, in the transaction that says who they are, and returns its token: the `sessionToken` of
 * the answer. A session that was presented ends, whoever's it was: nobody can plant one and find it signed in later.
 */
export async function openSession(
  { sql, vault, now, address, userAgent, signedIn }: Omit<ActionContext, 'settings' | 'requestId' | 'deviceToken'>,
  userId: string,
  { isByLink = false }: { isByLink?: boolean } = {},
): Promise<string> {
  if (!(await lockPerson(sql, userId))) throw signInFailed()
  if (signedIn) await removeSession(sql, signedIn.sessionId)
  const { token, tokenHash } = newSessionToken(vault)
  const expireAt = lastMomentOf(now)
  await insertSession(sql, { tokenHash, id: newId(), userId, now, expireAt, address, userAgent, isByLink })
  return token.reveal()
}

export interface LinkOrder {
  email: string
  minutes: number
}

/** Makes a link for a person and returns its token; undefined when nobody has this email address. */
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
