import { type Sql, statement } from '../database/sql.ts'
import type { Page } from '../lib/page.ts'
import type { Attachments, PrivateEndpoint } from './private-endpoint.ts'

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
const detachStatement = statement<{ serviceId: string; organizationId: string; id: string }>(
  `DELETE FROM service_private_endpoints
   WHERE service_id = :serviceId AND organization_id = :organizationId AND endpoint_id = :id`,
)
const forgetUnusedStatement = statement<{ organizationId: string; id: string }>(
  `DELETE FROM private_endpoints WHERE organization_id = :organizationId AND id = :id AND NOT EXISTS (
     SELECT 1 FROM service_private_endpoints AS attached
     WHERE attached.organization_id = :organizationId AND attached.endpoint_id = :id)`,
)
const detachAllStatement = statement<{ serviceId: string; organizationId: string }>(
  'DELETE FROM service_private_endpoints WHERE service_id = :serviceId AND organization_id = :organizationId',
)
const isAttachedStatement = statement<
  { serviceId: string; organizationId: string; id: string },
  { endpoint_id: string }
>(
  `SELECT endpoint_id FROM service_private_endpoints
   WHERE service_id = :serviceId AND organization_id = :organizationId AND endpoint_id = :id`,
)
const attachedIdsStatement = statement<{ serviceId: string; organizationId: string; limit: number }, { id: string }>(
  `SELECT endpoint_id AS id FROM service_private_endpoints
   WHERE service_id = :serviceId AND organization_id = :organizationId
   ORDER BY attached_at DESC, endpoint_id DESC LIMIT :limit`,
)
const countAttachedStatement = statement<{ serviceId: string; organizationId: string }, { attached: number }>(
  `SELECT count(*) AS attached FROM service_private_endpoints
   WHERE service_id = :serviceId AND organization_id = :organizationId`,
)
// Ids contain no white space. For each service the index is read from its newest end, up to the limit.
const attachedIdsOfPageStatement = statement<
  { organizationId: string; at: string; id: string; rows: number; limit: number },
  { service_id: string; ids: string | null }
>(
  `SELECT page.id AS service_id, (
     SELECT string_agg(newest.endpoint_id, ' ' ORDER BY newest.attached_at DESC, newest.endpoint_id DESC) FROM (
       SELECT attached.endpoint_id, attached.attached_at FROM service_private_endpoints AS attached
       WHERE attached.service_id = page.id
       ORDER BY attached.attached_at DESC, attached.endpoint_id DESC LIMIT :limit) AS newest) AS ids
   FROM (
     SELECT id FROM services WHERE organization_id = :organizationId AND (created_at, id) < (:at, :id)
     ORDER BY created_at DESC, id DESC LIMIT :rows) AS page`,
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

/** Registers the endpoint with its organization if it is new. Returns its stored description. */
export async function registerEndpoint(
  sql: Sql,
  endpoint: { organizationId: string; id: string; description: string; now: string },
): Promise<string> {
  const { organizationId, id } = endpoint
  await sql.run(registerStatement, endpoint)
  return (await sql.first(findDescriptionStatement, { organizationId, id }))!.description
}

/** Returns false when the endpoint is already attached to the service. */
export async function attachEndpoint(
  sql: Sql,
  attachment: { serviceId: string; organizationId: string; id: string; now: string },
): Promise<boolean> {
  return (await sql.run(attachStatement, attachment)) > 0
}

/**
 * Removes the endpoint from the organization too when no other service uses it. Returns its description, or undefined when it was not
 * attached to this service.
 */
export async function detachEndpoint(
  sql: Sql,
  attachment: { serviceId: string; organizationId: string; id: string },
): Promise<string | undefined> {
  const { organizationId, id } = attachment
  if ((await sql.run(detachStatement, attachment)) === 0) return undefined
  const { description } = (await sql.first(findDescriptionStatement, { organizationId, id }))!
  await sql.run(forgetUnusedStatement, { organizationId, id })
  return description
}

/** Detaches all endpoints of a service, and removes those from the organization that no other service uses. */
export async function detachAllEndpoints(
  sql: Sql,
  service: { organizationId: string; serviceId: string },
): Promise<void> {
  const { organizationId, serviceId } = service
  const detached = await attachedIds(sql, service, Number.MAX_SAFE_INTEGER)
  await sql.run(detachAllStatement, { organizationId, serviceId })
  for (const id of detached) await sql.run(forgetUnusedStatement, { organizationId, id })
}

/** Whether the organization has an endpoint with this id. */
export async function isRegistered(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  return (await sql.first(findDescriptionStatement, { organizationId, id })) !== undefined
}

export async function isAttached(
  sql: Sql,
  attachment: { serviceId: string; organizationId: string; id: string },
): Promise<boolean> {
  return (await sql.first(isAttachedStatement, attachment)) !== undefined
}

async function attachedIds(
  sql: Sql,
  service: { organizationId: string; serviceId: string },
  limit: number,
): Promise<string[]> {
  const { organizationId, serviceId } = service
  return (await sql.all(attachedIdsStatement, { organizationId, serviceId, limit })).map(({ id }) => id)
}

export async function findAttachments(
  sql: Sql,
  service: { organizationId: string; serviceId: string },
  limit: number,
): Promise<Attachments> {
  const newestIds = await attachedIds(sql, service, limit)
  if (newestIds.length < limit) return { newestIds, count: newestIds.length }
  return { newestIds, count: (await sql.first(countAttachedStatement, service))!.attached }
}

/** For a page of services of an organization: endpoint ids by service, newest first, each up to the limit. */
export async function attachedIdsOfPage(
  sql: Sql,
  organizationId: string,
  { rows, after: [at, id] }: Page,
  limit: number,
): Promise<Map<string, string[]>> {
  const list = await sql.all(attachedIdsOfPageStatement, { organizationId, at, id, rows, limit })
  return new Map(list.map((row) => [row.service_id, row.ids?.split(' ') ?? []]))
}

export async function listEndpoints(
  sql: Sql,
  { organizationId, serviceId }: { organizationId: string; serviceId: string },
  { rows, after: [at, id] }: Page,
): Promise<{ id: string; description: string; attachedAt: string }[]> {
  const list = await sql.all(listStatement, { organizationId, serviceId, rows, at, id })
  return list.map((row) => ({ id: row.id, description: row.description, attachedAt: row.attached_at }))
}

const listOfOrganizationStatement = statement<
  { organizationId: string; rows: number },
  { id: string; description: string; provider: PrivateEndpoint['cloudProvider']; region: string }
>(
  `SELECT private_endpoints.id, private_endpoints.description, services.provider, services.region
   FROM private_endpoints JOIN services ON services.id =
     (SELECT attached.service_id FROM service_private_endpoints AS attached
      WHERE attached.organization_id = private_endpoints.organization_id AND attached.endpoint_id = private_endpoints.id
      ORDER BY attached.attached_at, attached.service_id LIMIT 1)
   WHERE private_endpoints.organization_id = :organizationId
   ORDER BY private_endpoints.created_at DESC, private_endpoints.id DESC LIMIT :rows`,
)

/** Each endpoint once, newest first, with provider and region of the service it was attached to first. */
export async function listEndpointsOfOrganization(
  sql: Sql,
  organizationId: string,
  rows: number,
): Promise<PrivateEndpoint[]> {
  const list = await sql.all(listOfOrganizationStatement, { organizationId, rows })
  return list.map(({ id, description, provider, region }) => ({ cloudProvider: provider, description, id, region }))
}
