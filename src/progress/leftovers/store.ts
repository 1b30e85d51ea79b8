// Objects that deleted pipes may have left at their sources, until they are removed there. Stored in the transaction that deletes the
// pipe, with its sealed secrets, which are deleted with the row.
import { type Sql, statement } from '../../database/sql.ts'
import { lockOrganization } from '../../organizations/store.ts'
import type { LeftAtKinesis, LeftAtPostgres, LeftAtSource, SourceKindName } from '../../source-shapes/source-kind.ts'
import { sourceKind } from '../../source-shapes/source-kinds.ts'
import { storableText } from '../texts.ts'
import { hasLiveWorkers } from '../workers/store.ts'

export type Leftover = LeftoverOf<LeftAtPostgres> | LeftoverOf<LeftAtKinesis>

export interface LeftoverOf<Source extends LeftAtSource> {
  pipeId: string
  organizationId: string
  source: Source
  sealedSecrets: string | null
  since: string
  nextTryAt: string
  tries: number
}

interface LeftoverRow {
  pipe_id: string
  organization_id: string
  source: string
  secrets: string | null
  since: string
  next_try_at: string
  tries: number
}

export type DueLeftovers = {
  now: string
  /** Later than any planned attempt. One after it means that the clock was set back, so it is due as well. */
  horizon: string
  limit: number
}

type LeftoverKey = { pipeId: string; organizationId: string; nextTryAt: string }

const keepStatement = statement<{
  pipeId: string
  organizationId: string
  source: string
  since: string
  nextTryAt: string
}>(
  // A pipe that never had a worker has created nothing.
  `INSERT INTO source_leftovers (pipe_id, organization_id, source, secrets, since, next_try_at)
   SELECT id, organization_id, :source, secrets, :since, :nextTryAt FROM pipes
   WHERE id = :pipeId AND organization_id = :organizationId AND epoch > 0`,
)
const findStatement = statement<Record<string, never>, { pipe_id: string }>(
  'SELECT pipe_id FROM source_leftovers LIMIT 1',
)
const listDueStatement = statement<DueLeftovers, LeftoverRow>(
  `SELECT pipe_id, organization_id, source, secrets, since, next_try_at, tries FROM source_leftovers
   WHERE next_try_at <= :now OR next_try_at > :horizon ORDER BY next_try_at LIMIT :limit`,
)
const ofClaim = 'WHERE pipe_id = :pipeId AND organization_id = :organizationId AND next_try_at = :nextTryAt'
const claimStatement = statement<LeftoverKey & { leasedUntil: string }>(
  `UPDATE source_leftovers SET next_try_at = :leasedUntil ${ofClaim}`,
)
const postponeStatement = statement<LeftoverKey & { laterAt: string; reason: string }>(
  `UPDATE source_leftovers SET next_try_at = :laterAt, tries = tries + 1, last_reason = :reason ${ofClaim}`,
)
const forgetStatement = statement<LeftoverKey>(`DELETE FROM source_leftovers ${ofClaim}`)

/** A worker that has not noticed the deletion could recreate removed objects; by then its lease has expired. */
const workersEndWithinMs = 30_000

/** The part of a pipe that says what it may have left. */
export interface DeletedPipe {
  id: string
  organizationId: string
  kind: SourceKindName
  source: object
}

/** Call with the pipe locked, before it is deleted. */
export async function keepLeftovers(sql: Sql, pipe: DeletedPipe, now: string): Promise<void> {
  const source = sourceKind(pipe.kind).leftBy?.(pipe.source)
  if (!source) return
  const { id: pipeId, organizationId } = pipe
  const waitMs = (await hasLiveWorkers(sql, pipeId, now)) ? workersEndWithinMs : 0
  const nextTryAt = new Date(Date.parse(now) + waitMs).toISOString()
  await sql.run(keepStatement, { pipeId, organizationId, source: JSON.stringify(source), since: now, nextTryAt })
}

/** Old rows have no kind; they are of PostgreSQL. */
function parseSource(text: string): LeftAtSource {
  return { kind: 'postgres', ...JSON.parse(text) }
}

export async function hasLeftovers(sql: Sql): Promise<boolean> {
  return (await sql.first(findStatement, {})) !== undefined
}

/** Of all organizations, the longest overdue first. */
export async function listDueLeftovers(sql: Sql, due: DueLeftovers): Promise<Leftover[]> {
  return (await sql.all(listDueStatement, due)).map((row) => {
    const source = parseSource(row.source)
    const { pipe_id: pipeId, organization_id: organizationId, secrets: sealedSecrets } = row
    const { since, next_try_at: nextTryAt, tries } = row
    return { pipeId, organizationId, source, sealedSecrets, since, nextTryAt, tries } as Leftover
  })
}

/** This and the writes below return false if the row was deleted or another process has claimed it; `nextTryAt` is as read before. */
export async function claimLeftover(sql: Sql, claim: LeftoverKey & { leasedUntil: string }): Promise<boolean> {
  await lockOrganization(sql, claim.organizationId)
  return (await sql.run(claimStatement, claim)) > 0
}

export async function postponeLeftover(
  sql: Sql,
  postponement: LeftoverKey & { laterAt: string; reason: string },
): Promise<boolean> {
  await lockOrganization(sql, postponement.organizationId)
  return (await sql.run(postponeStatement, { ...postponement, reason: storableText(postponement.reason) })) > 0
}

/** Call when the objects were removed, or on giving up. */
export async function forgetLeftover(sql: Sql, key: LeftoverKey): Promise<boolean> {
  await lockOrganization(sql, key.organizationId)
  return (await sql.run(forgetStatement, key)) > 0
}
