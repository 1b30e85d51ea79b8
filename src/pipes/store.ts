import { type Sql, statement } from '../database/sql.ts'
import type { Place, Vault } from '../lib/vault.ts'
import type { SourceKindName, StoredPipe } from './pipe.ts'
import type { SourceSecrets } from './pipe-source.ts'

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

type PipeKey = { organizationId: string; serviceId: string; pipeId: string }

const selectText = `SELECT id, organization_id, service_id, name, kind, state, source, secrets, destination, field_mappings,
  scaling, settings, created_at, updated_at, version
  FROM pipes WHERE id = :pipeId AND service_id = :serviceId AND organization_id = :organizationId`

const findStatement = statement<PipeKey, PipeRow>(selectText)
const lockStatement = statement<PipeKey, PipeRow>(`${selectText} FOR UPDATE`)
const updateStatement = statement<{
  id: string
  organizationId: string
  name: string
  source: string
  secrets: string | null
  destination: string
  fieldMappings: string
  settings: string
  updatedAt: string
}>(
  `UPDATE pipes SET name = :name, source = :source, secrets = :secrets, destination = :destination,
     field_mappings = :fieldMappings, settings = :settings, updated_at = :updatedAt, version = version + 1
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

export async function findPipe(sql: Sql, key: PipeKey): Promise<StoredPipe | undefined> {
  return fromRow(await sql.first(findStatement, key))
}

/** Holds the row until the transaction ends, so that two updates of different fields never overwrite each other. */
export async function lockPipe(sql: Sql, key: PipeKey): Promise<StoredPipe | undefined> {
  return fromRow(await sql.first(lockStatement, key))
}

export async function updatePipeRow(sql: Sql, pipe: StoredPipe): Promise<void> {
  const { id, organizationId, name, updatedAt } = pipe
  await sql.run(updateStatement, {
    id,
    organizationId,
    name,
    updatedAt,
    source: JSON.stringify(pipe.source),
    secrets: pipe.sealedSecrets,
    destination: JSON.stringify(pipe.destination),
    fieldMappings: JSON.stringify(pipe.fieldMappings),
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
  return Object.keys(secrets).length === 0 ? null : vault.seal(JSON.stringify(secrets), placeOf(pipe))
}

export function openSecrets(vault: Vault, pipe: StoredPipe): SourceSecrets {
  return pipe.sealedSecrets === null ? {} : (JSON.parse(vault.open(pipe.sealedSecrets, placeOf(pipe))) as SourceSecrets)
}

function placeOf(pipe: { id: string; organizationId: string }): Place {
  return { organizationId: pipe.organizationId, table: 'pipes', row: pipe.id, field: 'secrets' }
}

function fromRow(row: PipeRow | undefined): StoredPipe | undefined {
  if (!row) return undefined
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
