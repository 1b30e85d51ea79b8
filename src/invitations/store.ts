import { type Sql, statement } from '../database/sql.ts'
import type { Page } from '../lib/page.ts'
import { notFound, Problem } from '../lib/problem.ts'
import type { Vault } from '../lib/vault.ts'
import type { Role } from '../operation/caller.ts'
import { hashInvitationToken, type Invitation } from './invitation.ts'

export interface StoredInvitation {
  invitation: Invitation
  version: number
}

interface InvitationRow {
  id: string
  email: string
  role: Role
  created_at: string
  expire_at: string
  version: number
}

const columns = 'id, email, role, created_at, expire_at, version FROM invitations'

const findStatement = statement<{ organizationId: string; id: string }, InvitationRow>(
  `SELECT ${columns} WHERE organization_id = :organizationId AND id = :id`,
)
const findByEmailStatement = statement<{ organizationId: string; email: string }, InvitationRow>(
  `SELECT ${columns} WHERE organization_id = :organizationId AND email = :email`,
)
const listStatement = statement<{ organizationId: string; at: string; id: string; rows: number }, InvitationRow>(
  `SELECT ${columns} WHERE organization_id = :organizationId AND (created_at, id) < (:at, :id)
   ORDER BY created_at DESC, id DESC LIMIT :rows`,
)
const findByTokenStatement = statement<
  { tokenHash: string },
  InvitationRow & { organization_id: string; organization_name: string }
>(
  `SELECT invitations.id, email, role, invitations.created_at, expire_at, invitations.version,
     organization_id, organizations.name AS organization_name
   FROM invitations JOIN organizations ON organizations.id = organization_id WHERE token_hash = :tokenHash`,
)
const findPendingStatement = statement<{ email: string; now: string }, { id: string }>(
  'SELECT id FROM invitations WHERE email = :email AND expire_at > :now LIMIT 1',
)
const insertStatement = statement<{
  organizationId: string
  id: string
  email: string
  role: Role
  tokenHash: string
  createdAt: string
  expireAt: string
}>(
  `INSERT INTO invitations (organization_id, id, email, role, token_hash, created_at, expire_at)
   VALUES (:organizationId, :id, :email, :role, :tokenHash, :createdAt, :expireAt)`,
)
const deleteStatement = statement<{ organizationId: string; id: string }>(
  'DELETE FROM invitations WHERE organization_id = :organizationId AND id = :id',
)

async function findInvitation(sql: Sql, organizationId: string, id: string): Promise<StoredInvitation | undefined> {
  const row = await sql.first(findStatement, { organizationId, id })
  return row && { invitation: invitationOf(row), version: row.version }
}

export async function loadInvitation(sql: Sql, organizationId: string, id: string): Promise<StoredInvitation> {
  const stored = await findInvitation(sql, organizationId, id)
  if (!stored) throw notFound(`invitation ${id} was not found in organization ${organizationId}`)
  return stored
}

/** There is at most one, expired or not. Emails are stored in lower case. */
export async function findInvitationByEmail(
  sql: Sql,
  organizationId: string,
  email: string,
): Promise<Invitation | undefined> {
  const row = await sql.first(findByEmailStatement, { organizationId, email })
  return row && invitationOf(row)
}

export interface InvitationOfToken {
  invitation: Invitation
  organizationId: string
  organizationName: string
}

/** Expired or not. */
async function findInvitationByToken(sql: Sql, tokenHash: string): Promise<InvitationOfToken | undefined> {
  const row = await sql.first(findByTokenStatement, { tokenHash })
  return (
    row && {
      invitation: invitationOf(row),
      organizationId: row.organization_id,
      organizationName: row.organization_name,
    }
  )
}

/** Throws the same error for an unknown, accepted, deleted or expired invitation. */
export async function loadValidInvitation(
  sql: Sql,
  vault: Vault,
  token: string,
  now: string,
): Promise<InvitationOfToken> {
  const found = await findInvitationByToken(sql, hashInvitationToken(vault, token))
  if (found && now < found.invitation.expireAt) return found
  throw new Problem(
    'invitation_not_valid',
    'this invitation was accepted or deleted, or has expired; ask the person who invited you for a new one',
  )
}

/** Whether any organization has a pending invitation for this person. Emails are stored in lower case. */
export async function isInvited(sql: Sql, email: string, now: string): Promise<boolean> {
  return (await sql.first(findPendingStatement, { email, now })) !== undefined
}

/** The newest first. */
export async function listInvitationRows(
  sql: Sql,
  organizationId: string,
  { rows, after: [at, id] }: Page,
): Promise<Invitation[]> {
  return (await sql.all(listStatement, { organizationId, at, id, rows })).map(invitationOf)
}

export async function insertInvitation(
  sql: Sql,
  organizationId: string,
  invitation: Invitation,
  tokenHash: string,
): Promise<void> {
  await sql.run(insertStatement, { organizationId, tokenHash, ...invitation })
}

export async function removeInvitation(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.run(deleteStatement, { organizationId, id })
}

function invitationOf({ id, email, role, created_at, expire_at }: InvitationRow): Invitation {
  return { id, email, role, createdAt: created_at, expireAt: expire_at }
}
