import { type Sql, statement } from '../database/sql.ts'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import type { Page } from '../lib/page.ts'
import { notFound, Problem } from '../lib/problem.ts'
import type { Role } from '../operation/caller.ts'
import type { Member } from './member.ts'

export interface StoredMember {
  member: Member
  memberVersion: number
  userVersion: number
}

/** Changes with the membership and with the profile of the user. */
export function versionOf(stored: StoredMember): string {
  return `${stored.memberVersion}.${stored.userVersion}`
}

interface MemberRow {
  user_id: string
  name: string
  email: string
  role: Role
  joined_at: string
  member_version: number
  user_version: number
}

const memberColumns = `members.user_id, users.name, users.email, members.role, members.joined_at,
  members.version AS member_version, users.version AS user_version
  FROM members JOIN users ON users.id = members.user_id`

const findStatement = statement<{ organizationId: string; userId: string }, MemberRow>(
  `SELECT ${memberColumns} WHERE members.organization_id = :organizationId AND members.user_id = :userId`,
)
const listStatement = statement<{ organizationId: string; at: string; id: string; rows: number }, MemberRow>(
  `SELECT ${memberColumns} WHERE members.organization_id = :organizationId
     AND (members.joined_at, members.user_id) < (:at, :id)
   ORDER BY members.joined_at DESC, members.user_id DESC LIMIT :rows`,
)
const searchStatement = statement<
  { organizationId: string; pattern: string; at: string; id: string; rows: number },
  MemberRow
>(
  `SELECT ${memberColumns} WHERE members.organization_id = :organizationId
     AND (members.joined_at, members.user_id) < (:at, :id)
     AND (ascii_lower(users.name) LIKE :pattern ESCAPE '!' OR ascii_lower(users.email) LIKE :pattern ESCAPE '!')
   ORDER BY members.joined_at DESC, members.user_id DESC LIMIT :rows`,
)
const findByEmailStatement = statement<{ organizationId: string; email: string }, { user_id: string }>(
  `SELECT members.user_id FROM users JOIN members ON members.user_id = users.id
   WHERE users.email = :email AND members.organization_id = :organizationId`,
)
const adminCountStatement = statement<{ organizationId: string }, { admin_count: number }>(
  'SELECT admin_count FROM organizations WHERE id = :organizationId',
)
const countAdminsStatement = statement<{ organizationId: string; more: number }>(
  'UPDATE organizations SET admin_count = admin_count + :more WHERE id = :organizationId',
)
const updateRoleStatement = statement<{ organizationId: string; userId: string; role: Role }>(
  `UPDATE members SET role = :role, version = version + 1 WHERE organization_id = :organizationId AND user_id = :userId`,
)
const passVersionStatement = statement<{ organizationId: string; version: number }>(
  `UPDATE organizations SET first_member_version = :version + 1
   WHERE id = :organizationId AND first_member_version <= :version`,
)
const deleteStatement = statement<{ organizationId: string; userId: string }>(
  'DELETE FROM members WHERE organization_id = :organizationId AND user_id = :userId',
)
const insertUserStatement = statement<{ id: string; name: string; email: string; now: string }>(
  'INSERT INTO users (id, name, email, created_at) VALUES (:id, :name, :email, :now)',
)
const insertMemberStatement = statement<{ organizationId: string; userId: string; role: Role; now: string }>(
  `INSERT INTO members (organization_id, user_id, role, joined_at, version)
   VALUES (:organizationId, :userId, :role, :now,
     (SELECT first_member_version FROM organizations WHERE id = :organizationId))`,
)

export async function findMember(sql: Sql, organizationId: string, userId: string): Promise<StoredMember | undefined> {
  const row = await sql.first(findStatement, { organizationId, userId })
  if (!row) return undefined
  return { member: memberOf(row), memberVersion: row.member_version, userVersion: row.user_version }
}

export async function loadMember(sql: Sql, organizationId: string, userId: string): Promise<StoredMember> {
  const stored = await findMember(sql, organizationId, userId)
  if (!stored) throw notFound(`member ${userId} was not found in organization ${organizationId}`)
  return stored
}

/** The newest first. */
export async function listMemberRows(
  sql: Sql,
  organizationId: string,
  { rows, after: [at, id] }: Page,
): Promise<Member[]> {
  return (await sql.all(listStatement, { organizationId, at, id, rows })).map(memberOf)
}

/** Members whose name or email contains the text, the newest first. A–Z match in either case. */
export async function searchMemberRows(
  sql: Sql,
  organizationId: string,
  search: string,
  { rows, after: [at, id] }: Page,
): Promise<Member[]> {
  const lower = search.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  const pattern = `%${lower.replaceAll(/[!%_]/g, '!$&')}%`
  return (await sql.all(searchStatement, { organizationId, pattern, at, id, rows })).map(memberOf)
}

/** Emails are stored in lower case. */
export async function isMember(sql: Sql, organizationId: string, email: string): Promise<boolean> {
  return (await sql.first(findByEmailStatement, { organizationId, email })) !== undefined
}

/** Reliable only while the organization is locked, as it is in every write. */
async function hasOneAdmin(sql: Sql, organizationId: string): Promise<boolean> {
  return (await sql.first(adminCountStatement, { organizationId }))!.admin_count === 1
}

/** Throws when the organization would be left without an admin. Call with the organization locked, before changing the member. */
export async function keepAnAdmin(sql: Sql, organizationId: string, { userId, role }: Member): Promise<void> {
  if (role !== 'admin' || !(await hasOneAdmin(sql, organizationId))) return
  throw new Problem(
    'last_admin',
    `member ${userId} is the only admin of organization ${organizationId}; make another member an admin first`,
  )
}

/** Call with the organization locked and a different role; returns the updated member. */
export async function updateRole(
  sql: Sql,
  organizationId: string,
  stored: StoredMember,
  role: Role,
): Promise<StoredMember> {
  await sql.run(updateRoleStatement, { organizationId, userId: stored.member.userId, role })
  await sql.run(countAdminsStatement, { organizationId, more: role === 'admin' ? 1 : -1 })
  return { ...stored, member: { ...stored.member, role }, memberVersion: stored.memberVersion + 1 }
}

/** Call with the organization locked. The user stays: it may be a member of other organizations. */
export async function removeMember(
  sql: Sql,
  organizationId: string,
  { member: { userId, role }, memberVersion }: StoredMember,
): Promise<void> {
  await sql.run(deleteStatement, { organizationId, userId })
  await sql.run(passVersionStatement, { organizationId, version: memberVersion })
  if (role === 'admin') await sql.run(countAdminsStatement, { organizationId, more: -1 })
}

/** Stores the email in lower case, because people are found by it. */
export async function insertUser(
  sql: Sql,
  user: { id: string; name: string; email: string; now: string },
): Promise<void> {
  await sql.run(insertUserStatement, { ...user, email: asciiLowerCase(user.email) })
}

export async function insertMember(
  sql: Sql,
  member: { organizationId: string; userId: string; role: Role; now: string },
): Promise<void> {
  await sql.run(insertMemberStatement, member)
  const { organizationId, role } = member
  if (role === 'admin') await sql.run(countAdminsStatement, { organizationId, more: 1 })
}

function memberOf({ user_id, name, email, role, joined_at }: MemberRow): Member {
  return { userId: user_id, name, email, role, joinedAt: joined_at }
}
