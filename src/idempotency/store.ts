// Responses of requests with an `Idempotency-Key`, kept for 24 hours: a repeated request gets the same response and is not applied
// again. The record is written in the transaction of the change.
import { type Sql, statement } from '../database/sql.ts'
import type { SealContext } from '../lib/vault.ts'

const keptHours = 24

export type IdempotencyKey = { organizationId: string; callerId: string; idempotencyKey: string }

interface IdempotencyRow {
  fingerprint: string
  answer: string | null
}

const claimStatement = statement<IdempotencyKey & { fingerprint: string; now: string }>(
  `INSERT INTO idempotency_records (organization_id, caller_id, idempotency_key, fingerprint, created_at)
   VALUES (:organizationId, :callerId, :idempotencyKey, :fingerprint, :now) ON CONFLICT DO NOTHING`,
)
const findStatement = statement<IdempotencyKey, IdempotencyRow>(
  `SELECT fingerprint, answer FROM idempotency_records
   WHERE organization_id = :organizationId AND caller_id = :callerId AND idempotency_key = :idempotencyKey`,
)
const findYoungStatement = statement<IdempotencyKey & { before: string }, { created_at: string }>(
  `SELECT created_at FROM idempotency_records
   WHERE organization_id = :organizationId AND caller_id = :callerId AND idempotency_key = :idempotencyKey
     AND created_at >= :before`,
)
const answerStatement = statement<IdempotencyKey & { answer: string }>(
  `UPDATE idempotency_records SET answer = :answer
   WHERE organization_id = :organizationId AND caller_id = :callerId AND idempotency_key = :idempotencyKey`,
)
const forgetStatement = statement<{ before: string }>(
  `DELETE FROM idempotency_records WHERE (organization_id, caller_id, idempotency_key) IN (
     SELECT organization_id, caller_id, idempotency_key FROM idempotency_records
     WHERE created_at < :before ORDER BY created_at LIMIT 1000)`,
)
const forgetOneStatement = statement<IdempotencyKey & { before: string }>(
  `DELETE FROM idempotency_records
   WHERE organization_id = :organizationId AND caller_id = :callerId AND idempotency_key = :idempotencyKey
     AND created_at < :before`,
)

/**
 * Claims the key for this request, or returns the record of the request that claimed it before. Waits for a transaction that is
 * claiming the same key.
 */
export async function claimKey(
  sql: Sql,
  key: IdempotencyKey,
  fingerprint: string,
  now: string,
): Promise<IdempotencyRow | undefined> {
  await sql.run(forgetOneStatement, { ...key, before: oldest(now) })
  if ((await sql.run(claimStatement, { ...key, fingerprint, now })) > 0) return undefined
  return sql.first(findStatement, key)
}

/** Whether a request with the key was answered in the last 24 hours. */
export async function hasRecord(sql: Sql, key: IdempotencyKey, now: string): Promise<boolean> {
  return (await sql.first(findYoungStatement, { ...key, before: oldest(now) })) !== undefined
}

export async function keepAnswer(sql: Sql, key: IdempotencyKey, sealedAnswer: string): Promise<void> {
  await sql.run(answerStatement, { ...key, answer: sealedAnswer })
}

/** Seal context of the stored response. */
export function answerContext({ organizationId, callerId, idempotencyKey }: IdempotencyKey): SealContext {
  return { organizationId, table: 'idempotency_records', row: `${callerId}/${idempotencyKey}`, field: 'answer' }
}

/** Deletes at most 1000 expired records; returns how many. */
export async function forgetOldKeys(sql: Sql, now: string): Promise<number> {
  return sql.run(forgetStatement, { before: oldest(now) })
}

function oldest(now: string): string {
  return new Date(Date.parse(now) - keptHours * 3_600_000).toISOString()
}
