import { type Sql, statement } from '../database/sql.ts'

const lockStatement = statement<{ id: string }, { id: string }>(
  'SELECT id FROM organizations WHERE id = :id FOR UPDATE',
)
const insertStatement = statement<{ id: string; name: string; now: string }>(
  'INSERT INTO organizations (id, name, created_at) VALUES (:id, :name, :now)',
)

/**
 * Holds the organization until the transaction ends. Every write of an organization takes this lock first: looking and then
 * changing without it leaves organizations without an admin when two changes race, and writes that lock rows in different
 * orders would deadlock. On SQLite the one writer holds everything already.
 */
export async function lockOrganization(sql: Sql, id: string): Promise<void> {
  if (sql.dialect === 'postgres') await sql.first(lockStatement, { id })
}

export async function insertOrganization(
  sql: Sql,
  organization: { id: string; name: string; now: string },
): Promise<void> {
  await sql.run(insertStatement, organization)
}
