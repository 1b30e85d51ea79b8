// A session is what a person has instead of an API key: a random token in a cookie, stored only as a keyed hash. It ends
// when it was not used for half a day, a week after it began whatever happens, or when its person says so.
import { timingSafeEqual } from 'node:crypto'
import { randomBase62 } from '../lib/id.ts'
import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { Secret } from '../lib/secret.ts'
import type { Vault } from '../lib/vault.ts'

const idleHours = 12
/** Whoever needed a link to get in may not know the password that is to be replaced, and others have none. */
const replacePasswordMinutes = 15
export const longestDays = 7
/** The one that began first makes room. */
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

/** Whether this can be the token of a session at all. */
export function isSessionToken(text: string): boolean {
  return /^ses_[0-9A-Za-z]{43}$/.test(text)
}

export function sessionTokenHash(vault: Vault, token: string): string {
  return vault.fingerprint('session', token)
}

/** What a page that may read our answers can send along, and a foreign page that only makes the browser send its cookie cannot. */
export function csrfTokenOf(vault: Vault, token: string): string {
  return vault.fingerprint('csrf', token)
}

type Fingerprints = Pick<Vault, 'fingerprint'>

/**
 * Shows that somebody has signed in with this email in this browser before. It opens nothing: with it, wrong passwords that
 * others send for the same email do not count.
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

/** One way to sign in without a password, once. */
export function newLinkToken(vault: Vault): NewToken {
  const token = `lnk_${randomBase62(tokenLength)}`
  return { token: new Secret(token), tokenHash: linkTokenHash(vault, token) }
}

/** As the console sends it: what stands behind `#` in the link. Not checked for its form: a wrong one is not found. */
export const LinkToken = Type.String({ maxLength: 64, secret: true, writeOnly: true })

export function linkTokenHash(vault: Vault, token: string): string {
  return vault.fingerprint('sign-in-link', token)
}

/** The token stands behind `#`: browsers keep that part to themselves, so that it is in no server's log. */
export function signInLink(publicUrl: string, token: string): string {
  return `${publicUrl}/console/sign-in#${token}`
}

/** Whether a session that was found has not ended. */
export function sessionStands({ usedAt, expireAt }: { usedAt: string; expireAt: string }, now: string): boolean {
  return usedAt > idleBefore(now) && expireAt > now
}

/**
 * Whether the person of this session may set a password without knowing the present one, or the first: only shortly after they
 * have signed in. A session that somebody has taken over must not become a way in that lasts.
 */
export function mayReplacePassword(
  { isByLink, createdAt }: { isByLink: boolean; createdAt: string },
  { hasPassword }: { hasPassword: boolean },
  now: string,
): boolean {
  const isFresh = Date.parse(now) - Date.parse(createdAt) < replacePasswordMinutes * 60_000
  return isFresh && (isByLink || !hasPassword)
}

/** What was used then or earlier has been idle for too long. */
export function idleBefore(now: string): string {
  return new Date(Date.parse(now) - idleHours * 3_600_000).toISOString()
}

export function lastMomentOf(createdAt: string): string {
  return new Date(Date.parse(createdAt) + longestDays * 86_400_000).toISOString()
}

export function linkNotValid(): Problem {
  return new Problem('sign_in_failed', 'the link has been used already or has expired; ask for a new one')
}

/** One answer for everything that is wrong with an email and a password. */
export function signInFailed(): Problem {
  return new Problem('sign_in_failed', 'wrong email or password')
}
