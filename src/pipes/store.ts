import { type Sql, statement } from '../database/sql.ts'
import type { Page } from '../lib/page.ts'
import type { SealContext, Vault } from '../lib/vault.ts'
import type { OperationContext } from '../operation/operation.ts'
import type { PipeState } from '../progress/pipe-state.ts'
import type { PipeKey } from '../progress/progress.ts'
import { workerCount } from '../progress/workers/worker-count.ts'
import { loadService } from '../services/store.ts'
import type { SourceKindName, SourceSecrets } from '../source-shapes/source-kind.ts'
import { pipeNotFound, type StoredPipe } from './pipe.ts'

interface PipeRow {
  id: string
  organization_id: string
  service_id: string
  name: string
  kind: SourceKindName
  state: StoredPipe['state']
  source: string
  secrets: string | null
  destination: string
  field_mappings: string
  scaling: string
  settings: string
  created_at: string
  updated_at: string
  version: number
}

const columnsText = `id, organization_id, service_id, name, kind, state, source, secrets, destination, field_mappings,
  scaling, settings, created_at, updated_at, version`
const selectText = `SELECT ${columnsText}
  FROM pipes WHERE id = :pipeId AND service_id = :serviceId AND organization_id = :organizationId`

const findStatement = statement<PipeKey, PipeRow>(selectText)
const lockStatement = statement<PipeKey, PipeRow>(`${selectText} FOR UPDATE`)
type PageKey = { organizationId: string; serviceId: string; state: string; at: string; id: string; rows: number }
const pageText = `FROM pipes
  WHERE service_id = :serviceId AND organization_id = :organizationId AND (created_at, id) < (:at, :id)
    AND (:state = '' OR state = :state)
  ORDER BY created_at DESC, id DESC LIMIT :rows`
const listStatement = statement<PageKey, PipeRow>(`SELECT ${columnsText} ${pageText}`)
const listSizesStatement = statement<PageKey, { bytes: number }>(
  `SELECT octet_length(source) + octet_length(destination) + octet_length(field_mappings) AS bytes ${pageText}`,
)
const deleteStatement = statement<PipeKey>(
  'DELETE FROM pipes WHERE organization_id = :organizationId AND service_id = :serviceId AND id = :pipeId',
)
const updateStatement = statement<{
  id: string
  organizationId: string
  name: string
  state: string
  source: string
  secrets: string | null
  destination: string
  fieldMappings: string
  scaling: string
  settings: string
  updatedAt: string
}>(
  // A changed state loses the reason of the previous one.
  `UPDATE pipes SET name = :name, state_reason = CASE WHEN state = :state THEN state_reason END, state = :state,
     source = :source, secrets = :secrets, destination = :destination, field_mappings = :fieldMappings, scaling = :scaling, settings = :settings, updated_at = :updatedAt,
     version = version + 1
   WHERE id = :id AND organization_id = :organizationId`,
)
const insertStatement = statement<{
  id: string
  organizationId: string
  serviceId: string
  name: string
  kind: string
  state: string
  source: string
  secrets: string | null
  destination: string
  fieldMappings: string
  scaling: string
  settings: string
  createdAt: string
  updatedAt: string
}>(
  `INSERT INTO pipes (id, organization_id, service_id, name, kind, state, source, secrets, destination, field_mappings,
     scaling, settings, created_at, updated_at)
   VALUES (:id, :organizationId, :serviceId, :name, :kind, :state, :source, :secrets, :destination, :fieldMappings,
     :scaling, :settings, :createdAt, :updatedAt)`,
)

// Must equal the condition of the index pipes_to_run, or the index is not used.
const toRunText = `state IN ('Provisioning', 'Setup', 'Snapshot', 'Running', 'Modifying', 'Resync', 'Degraded', 'Stopping', 'Pausing')`
const findToRunStatement = statement<Record<string, never>, { id: string }>(
  `SELECT id FROM pipes WHERE ${toRunText} LIMIT 1`,
)
const listToRunStatement = statement<Record<string, never>, PipeToRunRow>(
  `SELECT pipes.id, pipes.organization_id, service_id, kind, pipes.state, scaling, settings, pipes.version, replay_requested_at,
     services.version AS service_version
   FROM pipes JOIN services ON services.id = pipes.service_id WHERE pipes.${toRunText}`,
)

interface PipeToRunRow {
  id: string
  organization_id: string
  service_id: string
  kind: SourceKindName
  state: StoredPipe['state']
  scaling: string
  settings: string
  version: number
  replay_requested_at: string | null
  service_version: number
}

/** What the runner needs to plan work, without the configuration of the pipe. */
export interface PipeToRun {
  pipeId: string
  organizationId: string
  serviceId: string
  kind: SourceKindName
  state: StoredPipe['state']
  workerCount: number
  version: number
  serviceVersion: number
  replayRequestedAt: string | null
}

/** Whether any pipe runs, or must be started or stopped. */
export async function hasPipesToRun(sql: Sql): Promise<boolean> {
  return (await sql.first(findToRunStatement, {})) !== undefined
}

/** The pipes of all organizations that run, or must be started or stopped. */
export async function listPipesToRun(sql: Sql): Promise<PipeToRun[]> {
  return (await sql.all(listToRunStatement, {})).map((row) => ({
    pipeId: row.id,
    organizationId: row.organization_id,
    serviceId: row.service_id,
    kind: row.kind,
    state: row.state,
    workerCount: workerCount({ kind: row.kind, scaling: JSON.parse(row.scaling), settings: JSON.parse(row.settings) }),
    version: row.version,
    serviceVersion: row.service_version,
    replayRequestedAt: row.replay_requested_at,
  }))
}

export async function findPipe(sql: Sql, key: PipeKey): Promise<StoredPipe | undefined> {
  const row = await sql.first(findStatement, key)
  return row && fromRow(row)
}

/** Locks the row until the transaction ends, so that concurrent updates of different fields do not overwrite each other. */
async function lockPipe(sql: Sql, key: PipeKey): Promise<StoredPipe | undefined> {
  const row = await sql.first(lockStatement, key)
  return row && fromRow(row)
}

export async function loadPipe(sql: Sql, key: PipeKey): Promise<StoredPipe> {
  return (await findPipe(sql, key)) ?? failToFind(sql, key)
}

/** Locks the pipe until the transaction ends. */
export async function loadPipeToChange(
  { sql, requireVersion }: Pick<OperationContext, 'sql' | 'requireVersion'>,
  key: PipeKey,
): Promise<StoredPipe> {
  const pipe = (await lockPipe(sql, key)) ?? (await failToFind(sql, key))
  requireVersion(String(pipe.version))
  return pipe
}

async function failToFind(sql: Sql, { organizationId, serviceId, pipeId }: PipeKey): Promise<never> {
  await loadService(sql, organizationId, serviceId)
  throw pipeNotFound(serviceId, pipeId)
}

/** Sizes in bytes of the pipes of a page, without reading them. */
export async function listPipeSizes(
  sql: Sql,
  { organizationId, serviceId }: { organizationId: string; serviceId: string },
  state: PipeState | undefined,
  { rows, after: [at, id] }: Page,
): Promise<number[]> {
  const values = { organizationId, serviceId, state: state ?? '', rows, at, id }
  return (await sql.all(listSizesStatement, values)).map(({ bytes }) => bytes)
}

/** Pipes in one state, or in any state if undefined. */
export async function listPipeRows(
  sql: Sql,
  { organizationId, serviceId }: { organizationId: string; serviceId: string },
  state: PipeState | undefined,
  { rows, after: [at, id] }: Page,
): Promise<StoredPipe[]> {
  return (await sql.all(listStatement, { organizationId, serviceId, state: state ?? '', rows, at, id })).map(fromRow)
}

export async function deletePipeRow(sql: Sql, key: PipeKey): Promise<void> {
  await sql.run(deleteStatement, key)
}

export async function updatePipeRow(sql: Sql, pipe: StoredPipe): Promise<void> {
  const { id, organizationId, name, state, updatedAt } = pipe
  await sql.run(updateStatement, {
    id,
    organizationId,
    name,
    state,
    updatedAt,
    source: JSON.stringify(pipe.source),
    secrets: pipe.sealedSecrets,
    destination: JSON.stringify(pipe.destination),
    fieldMappings: JSON.stringify(pipe.fieldMappings),
    scaling: JSON.stringify(pipe.scaling),
    settings: JSON.stringify(pipe.settings),
  })
}

export async function insertPipe(sql: Sql, pipe: Omit<StoredPipe, 'version'>): Promise<void> {
  const { id, organizationId, serviceId, name, kind, state, createdAt, updatedAt } = pipe
  await sql.run(insertStatement, {
    id,
    organizationId,
    serviceId,
    name,
    kind,
    state,
    createdAt,
    updatedAt,
    source: JSON.stringify(pipe.source),
    secrets: pipe.sealedSecrets,
    destination: JSON.stringify(pipe.destination),
    fieldMappings: JSON.stringify(pipe.fieldMappings),
    scaling: JSON.stringify(pipe.scaling),
    settings: JSON.stringify(pipe.settings),
  })
}

export function sealSecrets(
  vault: Vault,
  pipe: { id: string; organizationId: string },
  secrets: SourceSecrets,
): string | null {
  return Object.keys(secrets).length === 0 ? null : vault.seal(JSON.stringify(secrets), secretsContext(pipe))
}

export function openSecrets(
  vault: Vault,
  pipe: Pick<StoredPipe, 'id' | 'organizationId' | 'sealedSecrets'>,
): SourceSecrets {
  return pipe.sealedSecrets === null
    ? {}
    : (JSON.parse(vault.open(pipe.sealedSecrets, secretsContext(pipe))) as SourceSecrets)
}

export function secretsContext(pipe: { id: string; organizationId: string }): SealContext {
  return { organizationId: pipe.organizationId, table: 'pipes', row: pipe.id, field: 'secrets' }
}

function fromRow(row: PipeRow): StoredPipe {
  return {
    id: row.id,
    organizationId: row.organization_id,
    serviceId: row.service_id,
    name: row.name,
    kind: row.kind,
    state: row.state,
    source: JSON.parse(row.source),
    sealedSecrets: row.secrets,
    destination: JSON.parse(row.destination),
    fieldMappings: JSON.parse(row.field_mappings),
    scaling: JSON.parse(row.scaling),
    settings: JSON.parse(row.settings),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  }
}
