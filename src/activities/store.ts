import { type Sql, statement } from '../database/sql.ts'
import type { Caller, Change } from '../http/operation.ts'
import { newTimeOrderedId } from '../lib/id.ts'

const insertStatement = statement<{
  organizationId: string
  id: string
  type: string
  now: string
  actorId: string
  address: string
  userAgent: string
  requestId: string
  target: string
  changes: string
}>(
  `INSERT INTO activities
     (organization_id, id, type, created_at, actor_id, address, user_agent, request_id, target, changes)
   VALUES (:organizationId, :id, :type, :now, :actorId, :address, :userAgent, :requestId, :target, :changes)`,
)

export interface ActivityToInsert {
  type: string
  caller: Caller
  requestId: string
  now: string
  target: Record<string, string>
  changes: Change[]
}

/** Call in the transaction of the change itself: there is no change without its activity, and no activity without its change. */
export async function insertActivity(sql: Sql, activity: ActivityToInsert): Promise<void> {
  const { type, caller, requestId, now, target, changes } = activity
  await sql.run(insertStatement, {
    organizationId: caller.organizationId,
    id: newTimeOrderedId(),
    type,
    now,
    actorId: caller.id,
    address: caller.address,
    userAgent: caller.userAgent,
    requestId,
    target: JSON.stringify(target),
    changes: JSON.stringify(changes),
  })
}
