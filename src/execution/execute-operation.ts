// Runs an operation: a read on a reader; a write in one transaction with its activity and its idempotency record. On SQLite
// writes run in the writer thread: this code must not depend on HTTP and may wait for the database only.
import { insertActivity } from '../activities/store.ts'
import type { WriteContext } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'
import { answerContext, claimKey, type IdempotencyKey, keepAnswer } from '../idempotency/store.ts'
import { isKeyActive } from '../keys/key.ts'
import { findKeyStatus } from '../keys/store.ts'
import { type FieldProblem, invalidBody, Problem } from '../lib/problem.ts'
import { echoProblems } from '../lib/shape-echo.ts'
import { pick } from '../lib/shape-pick.ts'
import { type Caller, signInAgain, unauthorized } from '../operation/caller.ts'
import {
  type AnyOperation,
  type Change,
  type OperationAnswer,
  type OperationContext,
  type OperationRequest,
  type OperationSettings,
  organizationNotFound,
  requireRole,
  takesIfMatch,
} from '../operation/operation.ts'
import { operationsById } from '../operations.ts'
import { lockOrganization } from '../organizations/store.ts'
import { findSessionOf } from '../sessions/store.ts'

export type ExecutionContext = WriteContext & { settings: OperationSettings }

export async function readOperation(context: ExecutionContext, request: OperationRequest): Promise<OperationAnswer> {
  return runOperation(context, operationsById.get(request.operationId)!, request, new Date().toISOString())
}

export async function writeOperation(context: ExecutionContext, request: OperationRequest): Promise<OperationAnswer> {
  const { sql } = context
  const operation = operationsById.get(request.operationId)!
  // Pipelined: the caller is read after the organization is locked.
  const [sealedMs] = await Promise.all([
    lockOrganization(sql, request.caller.organizationId),
    request.caller.type === 'key'
      ? requireActiveKey(sql, operation, request.caller)
      : requireActiveSession(sql, operation, request.caller),
  ])
  const now = new Date().toISOString()
  if (!request.idempotency) return runOperation(context, operation, request, now, sealedMs)

  const { organizationId, id: callerId } = request.caller
  const key: IdempotencyKey = { organizationId, callerId, idempotencyKey: request.idempotency.key }
  const sealContext = answerContext(key)
  const record = await claimKey(context.sql, key, request.idempotency.fingerprint, now)
  if (record) {
    if (record.fingerprint !== request.idempotency.fingerprint) {
      throw new Problem(
        'idempotency_key_reused',
        'the Idempotency-Key was used before for another request; use a new key for a new request',
      )
    }
    return JSON.parse(context.vault.open(record.answer!, sealContext)) as OperationAnswer
  }
  const answer = await runOperation(context, operation, request, now, sealedMs)
  await keepAnswer(context.sql, key, context.vault.seal(JSON.stringify(answer), sealContext))
  return answer
}

// The caller was authorized before the body was read, so it is checked again under the lock. Otherwise two admins who demote
// each other at the same time would both succeed.
async function requireActiveKey(sql: Sql, operation: AnyOperation, caller: Caller): Promise<void> {
  const key = await findKeyStatus(sql, caller)
  if (!key || !isKeyActive(key, new Date().toISOString())) throw unauthorized()
  requireRole(operation, key.role, 'key')
}

async function requireActiveSession(sql: Sql, operation: AnyOperation, caller: Caller): Promise<void> {
  const { id: userId, sessionId: id = '', organizationId } = caller
  const session = await findSessionOf(sql, { id, userId, organizationId }, new Date().toISOString())
  if (!session) throw signInAgain()
  if (!session.role) throw organizationNotFound(organizationId)
  requireRole(operation, session.role, 'user')
}

/** The body without echoed fields, and the errors in those. */
export async function readBody(
  { sql, vault }: Pick<ExecutionContext, 'sql' | 'vault'>,
  operation: AnyOperation,
  { body, echoes, caller, params }: OperationRequest,
): Promise<{ body: unknown; echoed: FieldProblem[] }> {
  if (!echoes) return { body, echoed: [] }
  const { shape, current, remedyFor } = operation.echo!
  const present = await current({ sql, vault, caller }, params)
  const echoed = present === undefined ? [] : echoProblems(operation.body, shape, body, present, remedyFor)
  return { body: pick(operation.body, body), echoed }
}

async function runOperation(
  { sql, vault, settings }: ExecutionContext,
  operation: AnyOperation,
  request: OperationRequest,
  now: string,
  sealedMs = 0,
): Promise<OperationAnswer> {
  const { caller, params, query, prepared } = request
  const { body, echoed } = await readBody({ sql, vault }, operation, request)
  const activities: { target: Record<string, string>; changes: Change[] }[] = []
  let versionRequired = false
  const context: OperationContext = {
    sql,
    vault,
    settings,
    caller,
    now,
    requireVersion: (version) => {
      versionRequired = true
      requireVersion(request.ifMatch, version)
    },
    record: (target, changes) => activities.push({ target, changes }),
  }
  const { result, ...rest } = await operation
    .run(context, { params, query, body, prepared })
    .catch((error: unknown) => {
      if (echoed.length === 0 || !(error instanceof Problem) || ![400, 409].includes(error.status)) throw error
      throw invalidBody([...echoed, ...(error.code === 'invalid_body' ? error.fields : [])])
    })
  if (echoed.length > 0) throw invalidBody(echoed)
  if (takesIfMatch(operation) && !versionRequired) throw new Error(`${operation.id} did not call requireVersion`)
  for (const { target, changes } of activities) {
    const type = operation.activity!
    await insertActivity(sql, { type, caller, sealedMs, requestId: request.requestId, now, target, changes })
  }
  return { result: JSON.stringify(pick(operation.result, result) ?? null), ...rest }
}

/** An activity recorded before the transaction of its operation. Plain data: it is sent between threads. */
export interface AttemptedActivity {
  type: string
  caller: Caller
  requestId: string
  target: Record<string, string>
  changes: Change[]
}

/** Runs in its own transaction: the activity stays even if the operation fails. */
export async function writeActivity({ sql }: WriteContext, activity: AttemptedActivity): Promise<void> {
  const sealedMs = await lockOrganization(sql, activity.caller.organizationId)
  await insertActivity(sql, { ...activity, sealedMs, now: new Date().toISOString() })
}

export function requireVersion(ifMatch: string[] | undefined, version: string): void {
  if (!ifMatch || ifMatch.includes('*') || ifMatch.includes(`"${version}"`)) return
  throw new Problem(
    'version_mismatch',
    `If-Match does not match: the resource has changed and its ETag is now "${version}"; read it again and repeat the change`,
  )
}
