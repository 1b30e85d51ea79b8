// Log that sources retain for pipes without a worker.
import { type Sql, statement } from '../../database/sql.ts'
import { lockOrganization } from '../../organizations/store.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { PipeState } from '../pipe-state.ts'
import { setRetained } from '../store.ts'

/** A postgres pipe at rest that may have a replication slot. */
export interface IdleSlot {
  pipeId: string
  organizationId: string
  state: PipeState
  source: PostgresSource
  sealedSecrets: string | null
}

interface IdleRow {
  id: string
  organization_id: string
  state: PipeState
  source: string
  secrets: string | null
}

// Must equal the condition of the index pipes_with_idle_slot, or the index is not used.
const idleText = `kind = 'postgres' AND epoch > 0 AND state IN ('Paused', 'Failed', 'InternalError')`
const findStatement = statement<Record<string, never>, { id: string }>(`SELECT id FROM pipes WHERE ${idleText} LIMIT 1`)
const listStatement = statement<{ after: string; limit: number }, IdleRow>(
  `SELECT id, organization_id, state, source, secrets FROM pipes WHERE ${idleText} AND id > :after ORDER BY id LIMIT :limit`,
)
const lockStatement = statement<{ pipeId: string; organizationId: string }, { id: string }>(
  `SELECT id FROM pipes WHERE id = :pipeId AND organization_id = :organizationId AND ${idleText} FOR UPDATE`,
)

export async function hasIdleSlots(sql: Sql): Promise<boolean> {
  return (await sql.first(findStatement, {})) !== undefined
}

/** Of all organizations, ordered by id; includes snapshot pipes, which have no replication slot. */
export async function listIdleSlots(sql: Sql, page: { after: string; limit: number }): Promise<IdleSlot[]> {
  return (await sql.all(listStatement, page)).map((row) => ({
    pipeId: row.id,
    organizationId: row.organization_id,
    state: row.state,
    source: JSON.parse(row.source) as PostgresSource,
    sealedSecrets: row.secrets,
  }))
}

export interface RetainedLog {
  pipeId: string
  organizationId: string
  retainedBytes: number
}

/** False when the pipe was started or deleted since: a worker then reports the value itself. */
export async function keepRetained(sql: Sql, { pipeId, organizationId, retainedBytes }: RetainedLog): Promise<boolean> {
  await lockOrganization(sql, organizationId)
  if (!(await sql.first(lockStatement, { pipeId, organizationId }))) return false
  await setRetained(sql, { pipeId, retainedBytes })
  return true
}
