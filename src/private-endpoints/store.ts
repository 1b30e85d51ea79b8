import { type Sql, statement } from '../database/sql.ts'
import type { Page } from '../lib/page.ts'

const registerStatement = statement<{ organizationId: string; id: string; description: string; now: string }>(
  `INSERT INTO private_endpoints (organization_id, id, description, created_at)
   VALUES (:organizationId, :id, :description, :now) ON CONFLICT DO NOTHING`,
)
const findDescriptionStatement = statement<{ organizationId: string; id: string }, { description: string }>(
  'SELECT description FROM private_endpoints WHERE organization_id = :organizationId AND id = :id FOR UPDATE',
)
const attachStatement = statement<{ serviceId: string; organizationId: string; id: string; now: string }>(
  `INSERT INTO service_private_endpoints (service_id, organization_id, endpoint_id, attached_at)
   VALUES (:serviceId, :organizationId, :id, :now) ON CONFLICT DO NOTHING`,
)
const listStatement = statement<
  { serviceId: string; organizationId: string; at: string; id: string; rows: number },
  { id: string; description: string; attached_at: string }
>(
  `SELECT private_endpoints.id, private_endpoints.description, attached.attached_at
   FROM service_private_endpoints AS attached
   JOIN private_endpoints ON private_endpoints.organization_id = attached.organization_id
     AND private_endpoints.id = attached.endpoint_id
   WHERE attached.service_id = :serviceId AND attached.organization_id = :organizationId
     AND (attached.attached_at, attached.endpoint_id) < (:at, :id)
   ORDER BY attached.attached_at DESC, attached.endpoint_id DESC LIMIT :rows`,
)

/** Registers the endpoint with its organization unless it is there already; returns the description that it has now. */
export async function registerEndpoint(
  sql: Sql,
  endpoint: { organizationId: string; id: string; description: string; now: string },
): Promise<string> {
  const { organizationId, id } = endpoint
  await sql.run(registerStatement, endpoint)
  return (await sql.first(findDescriptionStatement, { organizationId, id }))!.description
}

/** False when the endpoint was attached to the service already. */
export async function attachEndpoint(
  sql: Sql,
  attachment: { serviceId: string; organizationId: string; id: string; now: string },
): Promise<boolean> {
  return (await sql.run(attachStatement, attachment)) > 0
}

export async function listEndpoints(
  sql: Sql,
  { organizationId, serviceId }: { organizationId: string; serviceId: string },
  { rows, after: [at, id] }: Page,
): Promise<{ id: string; description: string; attachedAt: string }[]> {
  const list = await sql.all(listStatement, { organizationId, serviceId, rows, at, id })
  return list.map((row) => ({ id: row.id, description: row.description, attachedAt: row.attached_at }))
}
