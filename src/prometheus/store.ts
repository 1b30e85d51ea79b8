import { type Sql, statement } from '../database/sql.ts'
import { countedText } from '../progress/metrics/store.ts'
import { firstKeptDay, keptRejectionsText } from '../progress/rejections/store.ts'
import type { PipeCount, PipeProgressMetrics, ServiceMetrics } from './prometheus.ts'

type Organization = { organizationId: string }
type Service = Organization & { serviceId: string }
type Now = { now: string; firstKeptDay: string }

const servicesStatement = statement<Organization & { limit: number }, ServiceMetrics>(
  `SELECT id, name, provider, region, state FROM services WHERE organization_id = :organizationId
   ORDER BY created_at DESC, id DESC LIMIT :limit`,
)
const pipeCountsStatement = statement<Organization & { limit: number }, PipeCount>(
  `SELECT pipes.service_id AS "serviceId", pipes.state, count(*) AS pipes
   FROM (
     SELECT id FROM services WHERE organization_id = :organizationId ORDER BY created_at DESC, id DESC LIMIT :limit
   ) AS listed
   JOIN pipes ON pipes.service_id = listed.id
   GROUP BY pipes.service_id, pipes.state ORDER BY pipes.service_id, pipes.state`,
)
const pipeCountsOfServiceStatement = statement<Service, PipeCount>(
  `SELECT pipes.service_id AS "serviceId", pipes.state, count(*) AS pipes
   FROM services JOIN pipes ON pipes.service_id = services.id
   WHERE services.id = :serviceId AND services.organization_id = :organizationId
   GROUP BY pipes.service_id, pipes.state ORDER BY pipes.state`,
)
/** Selects the ids first, which an index has in order. Other columns are read only for the pipes that are shown. */
const progressText = (newest: string) =>
  `SELECT pipes.id, pipes.name, pipes.kind, pipes.state, pipes.service_id AS "serviceId", ${countedText},
     (SELECT CAST(sum(workers.lag_records) AS bigint) FROM pipe_workers AS workers
      WHERE workers.pipe_id = pipes.id AND workers.expires_at > :now) AS lag,
     ${keptRejectionsText} AS "rejectedRows",
     counters.retained_bytes AS "retainedBytes", counters.last_insert_at AS "lastInsertAt",
     counters.delivered_until AS "deliveredUntil"
   FROM (${newest}) AS newest
   JOIN pipes ON pipes.id = newest.id
   LEFT JOIN pipe_figures AS counters ON counters.pipe_id = pipes.id
   ORDER BY pipes.created_at DESC, pipes.id DESC`
const progressStatement = statement<Organization & Now & { limit: number }, PipeProgressMetrics>(
  progressText(
    `SELECT pipes.id
     FROM (
       SELECT id FROM services WHERE organization_id = :organizationId ORDER BY created_at DESC, id DESC LIMIT :limit
     ) AS listed
     JOIN pipes ON pipes.service_id = listed.id
     ORDER BY pipes.created_at DESC, pipes.id DESC LIMIT :limit`,
  ),
)
const progressOfServiceStatement = statement<Service & Now & { limit: number }, PipeProgressMetrics>(
  progressText(
    `SELECT id FROM pipes WHERE service_id = :serviceId AND organization_id = :organizationId
     ORDER BY created_at DESC, id DESC LIMIT :limit`,
  ),
)
const membersStatement = statement<Organization, { members: number; admins: number }>(
  `SELECT admin_count AS admins,
     (SELECT count(*) FROM members WHERE members.organization_id = organizations.id) AS members
   FROM organizations WHERE id = :organizationId`,
)
const leftoversStatement = statement<Organization, { leftovers: number }>(
  'SELECT count(*) AS leftovers FROM source_leftovers WHERE organization_id = :organizationId',
)
const keysStatement = statement<Organization & { now: string }, { state: string; keys: number }>(
  `SELECT shown.state, count(*) AS keys
   FROM (
     SELECT CASE WHEN state = 'enabled' AND expire_at <= :now THEN 'expired' ELSE state END AS state
     FROM api_keys WHERE organization_id = :organizationId
   ) AS shown
   GROUP BY shown.state`,
)

/** The newest services, up to the limit. */
export async function listServiceMetrics(sql: Sql, organizationId: string, limit: number): Promise<ServiceMetrics[]> {
  return sql.all(servicesStatement, { organizationId, limit })
}

/** Number of pipes by state, of the newest services. */
export async function countPipes(sql: Sql, organizationId: string, limit: number): Promise<PipeCount[]> {
  return sql.all(pipeCountsStatement, { organizationId, limit })
}

export async function countPipesOfService(sql: Sql, service: Service): Promise<PipeCount[]> {
  const { organizationId, serviceId } = service
  return sql.all(pipeCountsOfServiceStatement, { organizationId, serviceId })
}

/** Counters of the newest pipes of the newest services, up to the limit of each. */
export async function listPipeProgress(
  sql: Sql,
  { organizationId, now, limit }: Organization & { now: string; limit: number },
): Promise<PipeProgressMetrics[]> {
  return sql.all(progressStatement, { organizationId, now, firstKeptDay: firstKeptDay(now), limit })
}

export async function listPipeProgressOfService(
  sql: Sql,
  { organizationId, serviceId, now, limit }: Service & { now: string; limit: number },
): Promise<PipeProgressMetrics[]> {
  return sql.all(progressOfServiceStatement, { organizationId, serviceId, now, firstKeptDay: firstKeptDay(now), limit })
}

export async function countMembers(sql: Sql, organizationId: string): Promise<{ admins: number; developers: number }> {
  const { admins, members } = (await sql.first(membersStatement, { organizationId }))!
  return { admins, developers: members - admins }
}

/** Deleted pipes whose replication slot, publication or stream consumer must still be removed from the source. */
export async function countLeftovers(sql: Sql, organizationId: string): Promise<number> {
  return (await sql.first(leftoversStatement, { organizationId }))!.leftovers
}

export async function countKeys(sql: Sql, organizationId: string, now: string): Promise<Map<string, number>> {
  return new Map((await sql.all(keysStatement, { organizationId, now })).map(({ state, keys }) => [state, keys]))
}
