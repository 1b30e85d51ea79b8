// Writes to accounts (`users`). Lookup by email and locking are in sessions/store.ts, memberships in members/store.ts.
import { type Sql, statement } from '../database/sql.ts'

const findBySubjectStatement = statement<{ oidcSubject: string }, { id: string }>(
  'SELECT id FROM users WHERE oidc_subject = :oidcSubject',
)
const insertStatement = statement<{
  id: string
  name: string
  email: string
  passwordHash: string | null
  oidcSubject: string | null
  now: string
}>(
  `INSERT INTO users (id, name, email, password_hash, oidc_subject, created_at)
   VALUES (:id, :name, :email, :passwordHash, :oidcSubject, :now) ON CONFLICT DO NOTHING`,
)
const renameStatement = statement<{ id: string; name: string }>(
  'UPDATE users SET name = :name, version = version + 1 WHERE id = :id AND name <> :name',
)
const setPasswordStatement = statement<{ id: string; passwordHash: string }>(
  'UPDATE users SET password_hash = :passwordHash WHERE id = :id',
)
const bindSubjectStatement = statement<{ id: string; oidcSubject: string }>(
  `UPDATE users SET oidc_subject = :oidcSubject, password_hash = NULL
   WHERE id = :id AND oidc_subject IS NULL`,
)

/** The account that is bound to this issuer and subject. */
export async function findUserIdOfSubject(sql: Sql, oidcSubject: string): Promise<string | undefined> {
  return (await sql.first(findBySubjectStatement, { oidcSubject }))?.id
}

export interface AccountToInsert {
  id: string
  name: string
  /** In lower case, as emails are stored. */
  email: string
  passwordHash?: string
  oidcSubject?: string
  now: string
}

/** False when an account with this email or subject exists, also if it was inserted concurrently. */
export async function insertAccount(sql: Sql, account: AccountToInsert): Promise<boolean> {
  const { passwordHash = null, oidcSubject = null, ...rest } = account
  return (await sql.run(insertStatement, { ...rest, passwordHash, oidcSubject })) === 1
}

/** Increments the version, because members show the name. */
export async function renameAccount(sql: Sql, id: string, name: string): Promise<void> {
  await sql.run(renameStatement, { id, name })
}

/** Call with the person locked and the current hash compared. */
export async function setPasswordHash(sql: Sql, id: string, passwordHash: string): Promise<void> {
  await sql.run(setPasswordStatement, { id, passwordHash })
}

/** Also removes the password. False, with nothing changed, when the account is bound already. */
export async function bindOidcSubject(sql: Sql, id: string, oidcSubject: string): Promise<boolean> {
  return (await sql.run(bindSubjectStatement, { id, oidcSubject })) === 1
}
