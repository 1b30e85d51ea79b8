// How much log sources keep for pipes that have no worker who would tell it.
import { type Sql, statement } from '../../database/sql.ts'
import { lockOrganization } from '../../organizations/store.ts'
import type { StoredPipe } from '../../pipes/pipe.ts'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import { setRetained } from '../store.ts'

/** A postgres pipe at rest that may have a slot. */
export interface IdleSlot {
  pipeId: string
  organizationId: string
  state: StoredPipe['state']
  source: PostgresSource
  sealedSecrets: string | null
}

interface IdleRow {
  id: string
  organization_id: string
  state: StoredPipe['state']
  source: string
  secrets: string | null
}

// As the index pipes_with_idle_slot has it, word for word: otherwise it would not be used.
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

/** Of all organizations, in the order of their ids; also of those that load once and have none. */
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

/** False when the pipe was started meanwhile, or deleted: then its worker knows better, or nobody asks. */
export async function keepRetained(sql: Sql, { pipeId, organizationId, retainedBytes }: RetainedLog): Promise<boolean> {
  await lockOrganization(sql, organizationId)
  if (!(await sql.first(lockStatement, { pipeId, organizationId }))) return false
  await setRetained(sql, { pipeId, retainedBytes })
  return true
}
