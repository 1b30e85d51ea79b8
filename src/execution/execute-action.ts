// Runs a console action: a GET on a reader; otherwise its slow part in the main thread, then one transaction. On SQLite
// transactions run in the writer thread, which may wait for the database only.

import type { WriteContext } from '../database/database.ts'
import { pick } from '../lib/shape-pick.ts'
import { signInAgain } from '../operation/caller.ts'
import type {
  ActionAnswer,
  ActionCall,
  ActionContext,
  ActionOutcome,
  AnyConsoleAction,
} from '../operation/console-action.ts'
import type { OperationSettings } from '../operation/operation.ts'
import { findSessionOf } from '../sessions/store.ts'
import { consoleActions } from './console-actions.ts'

const byId = new Map(consoleActions.map((action) => [action.id, action]))

type ExecutionContext = WriteContext & { settings: OperationSettings }

/** Runs in the main thread with a reader; `write` runs `writeAction` in a transaction. */
export async function executeAction(
  { sql, vault, settings }: ExecutionContext,
  call: ActionCall,
  write: (call: ActionCall) => Promise<ActionOutcome>,
): Promise<ActionOutcome> {
  const action = byId.get(call.actionId)!
  const context: ActionContext = { sql, vault, settings, ...call.request, now: new Date().toISOString() }
  const { body } = call
  if (action.method === 'GET') {
    return toOutcome(action, await action.run(context, { body, prepared: undefined }))
  }
  if (!action.prepare) return write(call)
  return write({ ...call, prepared: await action.prepare(context, { body }) })
}

export async function writeAction(
  { sql, vault, settings }: ExecutionContext,
  call: ActionCall,
): Promise<ActionOutcome> {
  const action = byId.get(call.actionId)!
  const { body, prepared } = call
  const now = new Date().toISOString()
  const context: ActionContext = { sql, vault, settings, ...call.request, now }
  // The session was checked before the body was read and the password hashed: it may have ended since.
  if (context.signedIn) {
    const { sessionId: id, userId } = context.signedIn
    if (!(await findSessionOf(context.sql, { id, userId }, now))) context.signedIn = undefined
  }
  if (action.access === 'person' && !context.signedIn) throw signInAgain()
  return toOutcome(action, await action.run(context, { body, prepared }))
}

function toOutcome(action: AnyConsoleAction, { result, ...rest }: ActionAnswer<unknown>): ActionOutcome {
  return { result: JSON.stringify(pick(action.result, result) ?? null), ...rest }
}
