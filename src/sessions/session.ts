// Console session: a random token in a cookie, stored only as a keyed hash. It ends after 12 hours without use, after 7 days, or
// when the person signs out.
import { timingSafeEqual } from 'node:crypto'
import { randomBase62 } from '../lib/id.ts'
import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { Secret } from '../lib/secret.ts'
import type { Vault } from '../lib/vault.ts'

const idleHours = 12
/** After a sign-in by link the person may not know the password, and accounts without one have nothing to compare. */
const replacePasswordMinutes = 15
export const longestDays = 7
/** A new session beyond this removes the oldest. */
export const mostSessionsOfPerson = 50

/** 43 base62 characters hold 256 random bits. */
const tokenLength = 43
/** 22 base62 characters hold 128 random bits. */
const deviceIdLength = 22

export interface NewToken {
  token: Secret
  tokenHash: string
}

export function newSessionToken(vault: Vault): NewToken {
  const token = `ses_${randomBase62(tokenLength)}`
  return { token: new Secret(token), tokenHash: sessionTokenHash(vault, token) }
}

/** Whether the text has the format of a session token. */
export function isSessionToken(text: string): boolean {
  return /^ses_[0-9A-Za-z]{43}$/.test(text)
}

export function sessionTokenHash(vault: Vault, token: string): string {
  return vault.fingerprint('session', token)
}

/** CSRF token: only a page that can read our responses knows it. */
export function csrfTokenOf(vault: Vault, token: string): string {
  return vault.fingerprint('csrf', token)
}

type Fingerprints = Pick<Vault, 'fingerprint'>

/**
 * Proves that this browser has signed in with this email before. It grants no access; it separates this browser from the throttling
 * of wrong passwords that others send for the same email.
 */
export function newDeviceToken(vault: Fingerprints, email: string): string {
  const id = randomBase62(deviceIdLength)
  return `dev_${id}_${deviceMac(vault, id, email)}`
}

/** The id of the browser; undefined unless the token was made for this email. */
export function deviceIdOf(vault: Fingerprints, token: string | undefined, email: string): string | undefined {
  const [, id, mac] = /^dev_([0-9A-Za-z]{22})_([0-9a-f]{64})$/.exec(token ?? '') ?? []
  if (id === undefined || mac === undefined) return undefined
  return timingSafeEqual(Buffer.from(mac), Buffer.from(deviceMac(vault, id, email))) ? id : undefined
}

function deviceMac(vault: Fingerprints, id: string, email: string): string {
  return vault.fingerprint('device', `${id} ${email}`)
}

/** Token of a sign-in link, for one sign-in without a password. */
export function newLinkToken(vault: Vault): NewToken {
  const token = `lnk_${randomBase62(tokenLength)}`
  return { token: new Secret(token), tokenHash: linkTokenHash(vault, token) }
}

/** The fragment of the link. Its format is not checked: a malformed token is not found. */
export const LinkToken = Type.String({ maxLength: 64, secret: true, writeOnly: true })

export function linkTokenHash(vault: Vault, token: string): string {
  return vault.fingerprint('sign-in-link', token)
}

/** The token is in the fragment, which browsers do not send, so it does not reach server logs. */
export function signInLink(publicUrl: string, token: string): string {
  return `${publicUrl}/console/sign-in#${token}`
}

/** Whether the session has neither expired nor been idle for too long. */
export function isSessionActive({ usedAt, expireAt }: { usedAt: string; expireAt: string }, now: string): boolean {
  return usedAt > idleBefore(now) && expireAt > now
}

/**
 * Whether the person may set a password without the current one: only shortly after signing in, so that a hijacked session does not
 * give lasting access.
 */
export function mayReplacePassword(
  { isByLink, createdAt }: { isByLink: boolean; createdAt: string },
  { hasPassword }: { hasPassword: boolean },
  now: string,
): boolean {
  const isFresh = Date.parse(now) - Date.parse(createdAt) < replacePasswordMinutes * 60_000
  return isFresh && (isByLink || !hasPassword)
}

/** Sessions last used at this time or earlier have been idle for too long. */
export function idleBefore(now: string): string {
  return new Date(Date.parse(now) - idleHours * 3_600_000).toISOString()
}

export function latestExpiryOf(createdAt: string): string {
  return new Date(Date.parse(createdAt) + longestDays * 86_400_000).toISOString()
}

export function linkNotValid(): Problem {
  return new Problem('sign_in_failed', 'the link has been used already or has expired; ask for a new one')
}

/** The same error for an unknown email and a wrong password. */
export function signInFailed(): Problem {
  return new Problem('sign_in_failed', 'wrong email or password')
}
