import { type Sql, statement } from '../database/sql.ts'
import type { IpAccess } from '../lib/ip-access.ts'
import type { Page } from '../lib/page.ts'
import { notFound } from '../lib/problem.ts'
import { lockOrganization } from '../organizations/store.ts'
import type { Attachments } from '../private-endpoints/private-endpoint.ts'
import { findAttachments } from '../private-endpoints/store.ts'
import { maxShownEndpoints, type Provider, type ServiceState, type StoredService } from './service.ts'

interface ServiceRow {
  id: string
  organization_id: string
  name: string
  provider: Provider
  region: string
  created_at: string
  version: number
  endpoint_url: string | null
  endpoint_username: string | null
  endpoint_password: string | null
  ip_access_list: string
  state: ServiceState
  state_reason: string | null
  engine_version: string | null
}

type ServiceKey = { organizationId: string; serviceId: string }

const columns = `id, organization_id, name, provider, region, created_at, version, endpoint_url, endpoint_username,
  endpoint_password, ip_access_list, state, state_reason, engine_version`
const ofOrganization = 'WHERE id = :serviceId AND organization_id = :organizationId'

const findStatement = statement<ServiceKey, ServiceRow>(`SELECT ${columns} FROM services ${ofOrganization}`)
const listStatement = statement<{ organizationId: string; at: string; id: string; rows: number }, ServiceRow>(
  `SELECT ${columns} FROM services WHERE organization_id = :organizationId AND (created_at, id) < (:at, :id)
   ORDER BY created_at DESC, id DESC LIMIT :rows`,
)
const insertStatement = statement<{
  id: string
  organizationId: string
  name: string
  provider: Provider
  region: string
  now: string
  url: string | null
  username: string | null
  password: string | null
  ipAccessList: string
}>(
  `INSERT INTO services (id, organization_id, name, provider, region, created_at, endpoint_url, endpoint_username,
     endpoint_password, ip_access_list, next_check_at)
   VALUES (:id, :organizationId, :name, :provider, :region, :now, :url, :username, :password, :ipAccessList, :now)`,
)
const updateStatement = statement<
  ServiceKey & {
    name: string
    url: string | null
    username: string | null
    password: string | null
    ipAccessList: string
    now: string
  }
>(
  `UPDATE services SET name = :name, endpoint_url = :url, endpoint_username = :username, endpoint_password = :password,
     ip_access_list = :ipAccessList, next_check_at = :now, version = version + 1
   ${ofOrganization}`,
)
const forgetStateStatement = statement<ServiceKey & { engineVersion: string | null }>(
  `UPDATE services SET state = 'provisioning', state_reason = NULL, failed_checks = 0, engine_version = :engineVersion
   ${ofOrganization}`,
)
const deleteStatement = statement<ServiceKey>(`DELETE FROM services ${ofOrganization}`)
const countPipesStatement = statement<ServiceKey, { pipes: number }>(
  'SELECT count(*) AS pipes FROM pipes WHERE service_id = :serviceId AND organization_id = :organizationId',
)

export async function findService(
  sql: Sql,
  organizationId: string,
  serviceId: string,
): Promise<StoredService | undefined> {
  const row = await sql.first(findStatement, { organizationId, serviceId })
  return row && fromRow(row)
}

export async function loadService(sql: Sql, organizationId: string, serviceId: string): Promise<StoredService> {
  const service = await findService(sql, organizationId, serviceId)
  if (!service) throw notFound(`service ${serviceId} was not found in organization ${organizationId}`)
  return service
}

export async function listServices(
  sql: Sql,
  organizationId: string,
  { rows, after: [at, id] }: Page,
): Promise<StoredService[]> {
  return (await sql.all(listStatement, { organizationId, at, id, rows })).map(fromRow)
}

export interface ServiceToInsert {
  id: string
  organizationId: string
  name: string
  provider: Provider
  region: string
  endpoint?: { url: string; username: string; sealedPassword: string }
  ipAccessList?: IpAccess[]
  now: string
}

/** The engine is checked at once. */
export async function insertService(sql: Sql, service: ServiceToInsert): Promise<void> {
  const { endpoint, ipAccessList = [], ...rest } = service
  await sql.run(insertStatement, { ...rest, ...endpointValues(endpoint), ipAccessList: JSON.stringify(ipAccessList) })
}

/** Stores the fields that can be updated. The engine is checked at once. */
export async function updateServiceRow(sql: Sql, service: StoredService, now: string): Promise<void> {
  const { id: serviceId, organizationId, name, endpoint, ipAccessList } = service
  await sql.run(updateStatement, {
    serviceId,
    organizationId,
    name,
    ...endpointValues(endpoint),
    ipAccessList: JSON.stringify(ipAccessList),
    now,
  })
}

/** Resets the state after a change of the endpoint. */
export async function forgetServiceState(sql: Sql, service: StoredService): Promise<void> {
  const { id: serviceId, organizationId, engineVersion } = service
  await sql.run(forgetStateStatement, { serviceId, organizationId, engineVersion })
}

export async function deleteServiceRow(sql: Sql, organizationId: string, serviceId: string): Promise<void> {
  await sql.run(deleteStatement, { organizationId, serviceId })
}

export async function countPipes(sql: Sql, organizationId: string, serviceId: string): Promise<number> {
  return (await sql.first(countPipesStatement, { organizationId, serviceId }))!.pipes
}

function endpointValues(endpoint: StoredService['endpoint'] | undefined) {
  return {
    url: endpoint?.url ?? null,
    username: endpoint?.username ?? null,
    password: endpoint?.sealedPassword ?? null,
  }
}

function fromRow(row: ServiceRow): StoredService {
  return {
    id: row.id,
    organizationId: row.organization_id,
    name: row.name,
    provider: row.provider,
    region: row.region,
    createdAt: row.created_at,
    version: row.version,
    endpoint:
      row.endpoint_url === null
        ? null
        : { url: row.endpoint_url, username: row.endpoint_username!, sealedPassword: row.endpoint_password! },
    ipAccessList: row.ip_access_list === '[]' ? [] : (JSON.parse(row.ip_access_list) as IpAccess[]),
    state: row.state,
    stateReason: row.state_reason,
    engineVersion: row.engine_version,
  }
}

interface DueRow {
  id: string
  version: number
  endpoint_url: string
  endpoint_username: string
  endpoint_password: string
  state: ServiceState
  state_reason: string | null
  engine_version: string | null
  failed_checks: number
}

/** A check planned after `horizon` means that the clock was set back, so it is due as well. */
const isDue = '(next_check_at <= :now OR next_check_at > :horizon)'

const dueOrganizationsStatement = statement<
  { now: string; horizon: string; after: string; limit: number },
  { organization_id: string; due: number }
>(
  // Materialized, so that only services that are due are read, not all services by organization.
  `WITH due AS MATERIALIZED (
     SELECT organization_id FROM services WHERE endpoint_url IS NOT NULL AND ${isDue})
   SELECT organization_id, count(*) AS due FROM due WHERE organization_id > :after
   GROUP BY organization_id ORDER BY organization_id LIMIT :limit`,
)
const dueStatement = statement<{ organizationId: string; now: string; horizon: string; limit: number }, DueRow>(
  `SELECT id, version, endpoint_url, endpoint_username, endpoint_password, state, state_reason, engine_version,
     failed_checks
   FROM services
   WHERE endpoint_url IS NOT NULL AND ${isDue} AND organization_id = :organizationId
   ORDER BY next_check_at LIMIT :limit`,
)
const claimStatement = statement<ServiceKey & { nextCheckAt: string }>(
  `UPDATE services SET next_check_at = :nextCheckAt ${ofOrganization}`,
)
const recordStatement = statement<
  ServiceKey & {
    version: number
    knownState: ServiceState
    knownFailedChecks: number
    state: ServiceState
    stateReason: string | null
    engineVersion: string | null
    failedChecks: number
    nextCheckAt: string
  }
>(
  `UPDATE services SET state = :state, state_reason = :stateReason, engine_version = :engineVersion,
     failed_checks = :failedChecks, next_check_at = :nextCheckAt
   ${ofOrganization} AND version = :version AND state = :knownState AND failed_checks = :knownFailedChecks`,
)
const engineStateStatement = statement<ServiceKey & { url: string }, { state: ServiceState }>(
  `SELECT state FROM services ${ofOrganization} AND endpoint_url = :url`,
)
const engineAnsweredStatement = statement<ServiceKey & { url: string }>(
  `UPDATE services SET state = 'running', state_reason = NULL, failed_checks = 0
   ${ofOrganization} AND endpoint_url = :url AND state <> 'provisioning' AND engine_version IS NOT NULL`,
)
const checkNowStatement = statement<ServiceKey & { url: string; now: string }>(
  `UPDATE services SET next_check_at = :now ${ofOrganization} AND endpoint_url = :url AND next_check_at > :now`,
)

/** A worker's report on the engine of its service. */
export interface EngineReport {
  organizationId: string
  serviceId: string
  /** The reported endpoint; ignored when the service has another one. */
  url: string
  outcome: 'answered' | 'failed'
}

/** Undefined when the service was deleted or has another endpoint. */
export async function findEngineState(
  sql: Sql,
  { organizationId, serviceId, url }: Omit<EngineReport, 'outcome'>,
): Promise<ServiceState | undefined> {
  return (await sql.first(engineStateStatement, { organizationId, serviceId, url }))?.state
}

/** Sets an engine that answered to running. Triggers a check if it failed or its version is unknown. */
export async function reportEngine(sql: Sql, report: EngineReport & { now: string }): Promise<void> {
  const { organizationId, serviceId, url, outcome, now } = report
  const key = { organizationId, serviceId, url }
  await lockOrganization(sql, organizationId)
  if (outcome === 'answered' && (await sql.run(engineAnsweredStatement, key)) > 0) return
  await sql.run(checkNowStatement, { ...key, now })
}

/** The state of an engine from its checks. */
export interface CheckedState {
  state: ServiceState
  stateReason: string | null
  engineVersion: string | null
  failedChecks: number
}

/** A service that this process must check. */
export interface ClaimedService {
  id: string
  organizationId: string
  version: number
  url: string
  username: string
  sealedPassword: string
  known: CheckedState
}

/**
 * Organizations with services due to be checked, and how many: ordered by id, starting after `after` and wrapping around, for
 * round-robin.
 */
export async function dueOrganizations(
  sql: Sql,
  { now, horizon, after, limit }: { now: string; horizon: string; after: string; limit: number },
): Promise<Map<string, number>> {
  const rows = await sql.all(dueOrganizationsStatement, { now, horizon, after, limit })
  if (rows.length < limit && after !== '') {
    rows.push(...(await sql.all(dueOrganizationsStatement, { now, horizon, after: '', limit: limit - rows.length })))
  }
  return new Map(rows.map(({ organization_id: id, due }) => [id, due]))
}

export interface ServiceClaim {
  organizationId: string
  now: string
  /** Later than any planned check. */
  horizon: string
  nextCheckAt: string
  limit: number
}

/** Locks the organization, so that two processes never claim the same service. */
export async function claimServiceChecks(sql: Sql, claim: ServiceClaim): Promise<ClaimedService[]> {
  const { organizationId, now, horizon, nextCheckAt, limit } = claim
  await lockOrganization(sql, organizationId)
  const due = await sql.all(dueStatement, { organizationId, now, horizon, limit })
  for (const { id: serviceId } of due) await sql.run(claimStatement, { serviceId, organizationId, nextCheckAt })
  return due.map((row) => ({
    id: row.id,
    organizationId,
    version: row.version,
    url: row.endpoint_url,
    username: row.endpoint_username,
    sealedPassword: row.endpoint_password,
    known: {
      state: row.state,
      stateReason: row.state_reason,
      engineVersion: row.engine_version,
      failedChecks: row.failed_checks,
    },
  }))
}

export type ServiceCheckRecord = CheckedState & {
  organizationId: string
  serviceId: string
  version: number
  /** The state when the check began. */
  known: Pick<CheckedState, 'state' | 'failedChecks'>
  nextCheckAt: string
}

/**
 * Stores the result of a check. Discarded if the service was changed since, or if a newer state was stored, for example by the report
 * of a pipe.
 */
export async function recordServiceCheck(sql: Sql, { known, ...record }: ServiceCheckRecord): Promise<boolean> {
  await lockOrganization(sql, record.organizationId)
  const { state: knownState, failedChecks: knownFailedChecks } = known
  return (await sql.run(recordStatement, { ...record, knownState, knownFailedChecks })) > 0
}

/** The attached private endpoints, with as many ids as a service shows. */
export async function loadAttachments(
  sql: Sql,
  { id: serviceId, organizationId }: StoredService,
): Promise<Attachments> {
  return findAttachments(sql, { serviceId, organizationId }, maxShownEndpoints)
}
