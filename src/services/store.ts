import { type Sql, statement } from '../database/sql.ts'
import type { Provider, Service } from './service.ts'

interface ServiceRow {
  id: string
  organization_id: string
  name: string
  provider: Provider
  region: string
}

const findStatement = statement<{ organizationId: string; serviceId: string }, ServiceRow>(
  `SELECT id, organization_id, name, provider, region FROM services
   WHERE id = :serviceId AND organization_id = :organizationId`,
)
const insertStatement = statement<{
  id: string
  organizationId: string
  name: string
  provider: Provider
  region: string
  now: string
}>(
  `INSERT INTO services (id, organization_id, name, provider, region, created_at)
   VALUES (:id, :organizationId, :name, :provider, :region, :now)`,
)

export async function findService(sql: Sql, organizationId: string, serviceId: string): Promise<Service | undefined> {
  const row = await sql.first(findStatement, { organizationId, serviceId })
  if (!row) return undefined
  return { id: row.id, organizationId: row.organization_id, name: row.name, provider: row.provider, region: row.region }
}

export async function insertService(sql: Sql, service: Service & { now: string }): Promise<void> {
  await sql.run(insertStatement, { ...service })
}
