import { type Sql, statement } from '../database/sql.ts'
import { timeOfId } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { notFound } from '../lib/problem.ts'
import { listEndpointsOfOrganization } from '../private-endpoints/store.ts'
import { mostEndpoints, type Organization } from './organization.ts'

const lockStatement = statement<{ id: string }, { sealed_up_to: string }>(
  'SELECT sealed_up_to FROM organizations WHERE id = :id FOR UPDATE',
)
const newestSealedStatement = statement<Record<string, never>, { newest: string | null }>(
  'SELECT max(sealed_up_to) AS newest FROM organizations',
)
const markSealedStatement = statement<{ id: string; lastActivityId: string }>(
  'UPDATE organizations SET sealed_up_to = :lastActivityId WHERE id = :id',
)
const findSealedStatement = statement<{ id: string }, { sealed_up_to: string }>(
  'SELECT sealed_up_to FROM organizations WHERE id = :id',
)
const listIdsStatement = statement<{ after: string; rows: number }, { id: string }>(
  'SELECT id FROM organizations WHERE id > :after ORDER BY id LIMIT :rows',
)
const findStatement = statement<{ id: string }, { id: string; name: string; created_at: string; version: number }>(
  'SELECT id, name, created_at, version FROM organizations WHERE id = :id',
)
const listOfMemberStatement = statement<{ userId: string; at: string; id: string; rows: number }, { id: string }>(
  `SELECT organizations.id FROM members JOIN organizations ON organizations.id = members.organization_id
   WHERE members.user_id = :userId AND (organizations.created_at, organizations.id) < (:at, :id)
   ORDER BY organizations.created_at DESC, organizations.id DESC LIMIT :rows`,
)
const renameStatement = statement<{ id: string; name: string }>(
  'UPDATE organizations SET name = :name, version = version + 1 WHERE id = :id',
)
const insertStatement = statement<{ id: string; name: string; now: string }>(
  'INSERT INTO organizations (id, name, created_at) VALUES (:id, :name, :now)',
)

/** SQLite, in the only writing thread: millisecond of the newest sealed activity of all organizations. */
let newestSealedMs: number | undefined

/**
 * Locks the organization until the transaction ends. Every write of an organization takes this lock first. Without it, two racing
 * changes could remove the last admin, and writes that lock rows in different orders would deadlock. SQLite has one writer anyway.
 *
 * Returns the millisecond of the newest sealed activity, or a later one: activities after it follow all sealed ones.
 * On SQLite no row is read while the clock is ahead of every seal.
 */
export async function lockOrganization(sql: Sql, id: string): Promise<number> {
  if (sql.dialect === 'sqlite') {
    newestSealedMs ??= timeOfId((await sql.first(newestSealedStatement, {}))?.newest ?? '')
    if (newestSealedMs < Date.now()) return newestSealedMs
  }
  return timeOfId((await sql.first(lockStatement, { id }))?.sealed_up_to ?? '')
}

/** Call with the organization locked, in the transaction that writes the seal. */
export async function markSealed(sql: Sql, id: string, lastActivityId: string): Promise<void> {
  await sql.run(markSealedStatement, { id, lastActivityId })
  if (newestSealedMs !== undefined) newestSealedMs = Math.max(newestSealedMs, timeOfId(lastActivityId))
}

/** The newest activity that a seal covers; empty before the first seal, undefined when the organization does not exist. */
export async function findSealedUpTo(sql: Sql, id: string): Promise<string | undefined> {
  return (await sql.first(findSealedStatement, { id }))?.sealed_up_to
}

/** Ordered by id, starting after `after`. */
export async function listOrganizationIds(sql: Sql, after: string, rows: number): Promise<string[]> {
  return (await sql.all(listIdsStatement, { after, rows })).map(({ id }) => id)
}

export interface StoredOrganization {
  id: string
  name: string
  createdAt: string
  version: number
}

async function findOrganization(sql: Sql, id: string): Promise<StoredOrganization | undefined> {
  const row = await sql.first(findStatement, { id })
  return row && { id: row.id, name: row.name, createdAt: row.created_at, version: row.version }
}

/** The newest first. */
export async function listOrganizationIdsOfMember(
  sql: Sql,
  userId: string,
  { rows, after: [at, id] }: Page,
): Promise<string[]> {
  return (await sql.all(listOfMemberStatement, { userId, at, id, rows })).map((row) => row.id)
}

export async function renameOrganization(sql: Sql, id: string, name: string): Promise<void> {
  await sql.run(renameStatement, { id, name })
}

export async function insertOrganization(
  sql: Sql,
  organization: { id: string; name: string; now: string },
): Promise<void> {
  await sql.run(insertStatement, organization)
}

export interface LoadedOrganization {
  organization: Organization
  /** Changes with the name, not with the private endpoints. */
  version: number
}

export async function loadOrganization(sql: Sql, organizationId: string): Promise<LoadedOrganization> {
  const stored = await findOrganization(sql, organizationId)
  if (!stored) throw notFound(`organization ${organizationId} was not found`)
  const { version, ...own } = stored
  const privateEndpoints = await listEndpointsOfOrganization(sql, organizationId, mostEndpoints)
  return { organization: { ...own, privateEndpoints }, version }
}
