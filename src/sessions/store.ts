import { type Sql, statement } from '../database/sql.ts'
import type { Role } from '../operation/caller.ts'
import { idleBefore, isSessionActive, mostSessionsOfPerson } from './session.ts'

interface ActiveSessionRow {
  id: string
  user_id: string
  created_at: string
  used_at: string
  expire_at: string
  is_by_link: number
  role: Role | null
}

// With an empty organization id the role is null.
const sessionText = `SELECT sessions.id, sessions.user_id, sessions.created_at, sessions.used_at, sessions.expire_at,
    sessions.is_by_link, members.role
  FROM sessions LEFT JOIN members
    ON members.user_id = sessions.user_id AND members.organization_id = :organizationId`

const findStatement = statement<{ tokenHash: string; organizationId: string }, ActiveSessionRow>(
  `${sessionText} WHERE sessions.token_hash = :tokenHash`,
)
const findByIdStatement = statement<{ id: string; userId: string; organizationId: string }, ActiveSessionRow>(
  `${sessionText} WHERE sessions.id = :id AND sessions.user_id = :userId`,
)
const insertStatement = statement<{
  tokenHash: string
  id: string
  userId: string
  now: string
  expireAt: string
  address: string
  userAgent: string
  isByLink: number
}>(
  `INSERT INTO sessions (token_hash, id, user_id, created_at, used_at, expire_at, address, user_agent, is_by_link)
   VALUES (:tokenHash, :id, :userId, :now, :now, :expireAt, :address, :userAgent, :isByLink)`,
)
const deleteStatement = statement<{ id: string }>('DELETE FROM sessions WHERE id = :id')
const deleteOldestStatement = statement<{ userId: string; kept: number }>(
  `DELETE FROM sessions WHERE user_id = :userId AND id NOT IN
     (SELECT id FROM sessions WHERE user_id = :userId ORDER BY created_at DESC, id DESC LIMIT :kept)`,
)
const deleteOfUserStatement = statement<{ userId: string; keptId: string }>(
  'DELETE FROM sessions WHERE user_id = :userId AND id <> :keptId',
)
const noteUseStatement = statement<{ id: string; usedAt: string }>(
  'UPDATE sessions SET used_at = :usedAt WHERE id = :id AND used_at < :usedAt',
)
const listStatement = statement<
  { userId: string },
  {
    id: string
    created_at: string
    used_at: string
    expire_at: string
    address: string
    user_agent: string
  }
>(
  `SELECT id, created_at, used_at, expire_at, address, user_agent FROM sessions
   WHERE user_id = :userId ORDER BY used_at DESC, id`,
)
const forgetSessionsStatement = statement<{ now: string; idleBefore: string; rows: number }>(
  `DELETE FROM sessions WHERE token_hash IN
     (SELECT token_hash FROM sessions WHERE expire_at <= :now OR used_at <= :idleBefore LIMIT :rows)`,
)
const forgetLinksStatement = statement<{ now: string; rows: number }>(
  `DELETE FROM sign_in_links WHERE token_hash IN
     (SELECT token_hash FROM sign_in_links WHERE expire_at <= :now LIMIT :rows)`,
)
const insertLinkStatement = statement<{ tokenHash: string; userId: string; now: string; expireAt: string }>(
  `INSERT INTO sign_in_links (token_hash, user_id, created_at, expire_at)
   VALUES (:tokenHash, :userId, :now, :expireAt)`,
)
const findLinkStatement = statement<{ tokenHash: string; now: string }, { user_id: string }>(
  'SELECT user_id FROM sign_in_links WHERE token_hash = :tokenHash AND expire_at > :now',
)
const findPersonOfLinkStatement = statement<{ tokenHash: string; now: string }, PersonRow>(
  `SELECT users.id, users.name, users.email, users.password_hash, users.created_at
   FROM sign_in_links JOIN users ON users.id = sign_in_links.user_id
   WHERE sign_in_links.token_hash = :tokenHash AND sign_in_links.expire_at > :now`,
)
const deleteLinksOfUserStatement = statement<{ userId: string }>('DELETE FROM sign_in_links WHERE user_id = :userId')
const deleteLinkStatement = statement<{ tokenHash: string }>('DELETE FROM sign_in_links WHERE token_hash = :tokenHash')

interface PersonRow {
  id: string
  name: string
  email: string
  password_hash: string | null
  created_at: string
}

const findPersonStatement = statement<{ id: string }, PersonRow>(
  'SELECT id, name, email, password_hash, created_at FROM users WHERE id = :id',
)
const lockPersonStatement = statement<{ id: string }, PersonRow>(
  'SELECT id, name, email, password_hash, created_at FROM users WHERE id = :id FOR UPDATE',
)
const findByEmailStatement = statement<{ email: string }, PersonRow>(
  'SELECT id, name, email, password_hash, created_at FROM users WHERE email = :email',
)
const listOrganizationsStatement = statement<{ userId: string }, { id: string; name: string; role: Role }>(
  `SELECT organizations.id, organizations.name, members.role
   FROM members JOIN organizations ON organizations.id = members.organization_id
   WHERE members.user_id = :userId`,
)

/** A session that has not ended, with the person's role in an organization. */
export interface ActiveSession {
  id: string
  userId: string
  createdAt: string
  usedAt: string
  expireAt: string
  /** Opened with a sign-in link. */
  isByLink: boolean
  /** Undefined when the person is not a member of the organization. */
  role: Role | undefined
}

/** Undefined when there is no row, or the session has ended. */
function activeSessionOf(row: ActiveSessionRow | undefined, now: string): ActiveSession | undefined {
  if (!row || !isSessionActive({ usedAt: row.used_at, expireAt: row.expire_at }, now)) return undefined
  return {
    id: row.id,
    userId: row.user_id,
    createdAt: row.created_at,
    usedAt: row.used_at,
    expireAt: row.expire_at,
    isByLink: row.is_by_link === 1,
    role: row.role ?? undefined,
  }
}

/** Undefined when the session has ended. Without an organization there is no role. */
export async function findSession(
  sql: Sql,
  { tokenHash, organizationId = '' }: { tokenHash: string; organizationId?: string | undefined },
  now: string,
): Promise<ActiveSession | undefined> {
  return activeSessionOf(await sql.first(findStatement, { tokenHash, organizationId }), now)
}

/** Same as `findSession`, by id. */
export async function findSessionOf(
  sql: Sql,
  { id, userId, organizationId = '' }: { id: string; userId: string; organizationId?: string },
  now: string,
): Promise<ActiveSession | undefined> {
  return activeSessionOf(await sql.first(findByIdStatement, { id, userId, organizationId }), now)
}

export interface SessionToInsert {
  tokenHash: string
  id: string
  userId: string
  now: string
  expireAt: string
  address: string
  userAgent: string
  isByLink: boolean
}

/** Call with the person locked, so that the number of sessions stays within the limit. */
export async function insertSession(sql: Sql, session: SessionToInsert): Promise<void> {
  await sql.run(insertStatement, { ...session, isByLink: session.isByLink ? 1 : 0 })
  await sql.run(deleteOldestStatement, { userId: session.userId, kept: mostSessionsOfPerson })
}

export async function removeSession(sql: Sql, id: string): Promise<void> {
  await sql.run(deleteStatement, { id })
}

/** Removes all sessions of the person except `keptId`. */
export async function removeSessionsOf(sql: Sql, userId: string, keptId = ''): Promise<void> {
  await sql.run(deleteOfUserStatement, { userId, keptId })
}

export interface SessionUse {
  id: string
  usedAt: string
}

export async function setSessionUsedAt(sql: Sql, use: SessionUse): Promise<void> {
  await sql.run(noteUseStatement, { ...use })
}

export interface StoredSession {
  id: string
  createdAt: string
  usedAt: string
  expireAt: string
  address: string
  userAgent: string
}

/** The most recently used first; includes sessions that have ended and are not removed yet. */
export async function listSessionRows(sql: Sql, userId: string): Promise<StoredSession[]> {
  const rows = await sql.all(listStatement, { userId })
  return rows.map(({ id, created_at, used_at, expire_at, address, user_agent }) => ({
    id,
    createdAt: created_at,
    usedAt: used_at,
    expireAt: expire_at,
    address,
    userAgent: user_agent,
  }))
}

/** Removes ended sessions and expired links, at most 1000 of each; returns how many. */
export async function forgetOldSessions(sql: Sql, now: string): Promise<number> {
  const rows = 1000
  const sessions = await sql.run(forgetSessionsStatement, { now, idleBefore: idleBefore(now), rows })
  return sessions + (await sql.run(forgetLinksStatement, { now, rows }))
}

export async function insertLink(
  sql: Sql,
  link: { tokenHash: string; userId: string; now: string; expireAt: string },
): Promise<void> {
  await sql.run(insertLinkStatement, link)
}

/**
 * Uses up the link and returns its user id; of two concurrent uses only one succeeds. Locks the person first, so that a link that
 * is being removed concurrently cannot be used.
 */
export async function takeLink(sql: Sql, tokenHash: string, now: string): Promise<string | undefined> {
  const row = await sql.first(findLinkStatement, { tokenHash, now })
  if (!row) return undefined
  await lockPerson(sql, row.user_id)
  return (await sql.run(deleteLinkStatement, { tokenHash })) === 1 ? row.user_id : undefined
}

/** The person of a link that has not expired. */
export async function findPersonOfLink(sql: Sql, tokenHash: string, now: string): Promise<Person | undefined> {
  const row = await sql.first(findPersonOfLinkStatement, { tokenHash, now })
  return row && toPerson(row)
}

/** Call with the person locked. */
export async function removeLinksOf(sql: Sql, userId: string): Promise<void> {
  await sql.run(deleteLinksOfUserStatement, { userId })
}

export interface Person {
  id: string
  name: string
  email: string
  passwordHash: string | undefined
  createdAt: string
}

function toPerson({ id, name, email, password_hash, created_at }: PersonRow): Person {
  return { id, name, email, passwordHash: password_hash ?? undefined, createdAt: created_at }
}

export async function findPerson(sql: Sql, id: string): Promise<Person | undefined> {
  const row = await sql.first(findPersonStatement, { id })
  return row && toPerson(row)
}

/** Locks the person until the transaction ends. Lock the organization first if both are needed. */
export async function lockPerson(sql: Sql, id: string): Promise<Person | undefined> {
  const row = await sql.first(lockPersonStatement, { id })
  return row && toPerson(row)
}

/** Emails are stored in lower case. */
export async function findPersonByEmail(sql: Sql, email: string): Promise<Person | undefined> {
  const row = await sql.first(findByEmailStatement, { email })
  return row && toPerson(row)
}

export async function listOrganizationsOf(
  sql: Sql,
  userId: string,
): Promise<{ id: string; name: string; role: Role }[]> {
  const rows = await sql.all(listOrganizationsStatement, { userId })
  return rows.map(({ id, name, role }) => ({ id, name, role }))
}
