// How one action of the console runs: a GET on a reader; otherwise what takes long in the main thread, and then one
// transaction. On SQLite the transactions run in the writer thread, where nothing may wait for anything but the database.

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

/** In the main thread, with a reader; `write` runs `writeAction` in a transaction. */
export async function executeAction(
  surroundings: ExecutionContext,
  call: ActionCall,
  write: (call: ActionCall) => Promise<ActionOutcome>,
): Promise<ActionOutcome> {
  const action = byId.get(call.actionId)!
  const context: ActionContext = { ...surroundings, ...call.request, now: new Date().toISOString() }
  const { body } = call
  if (action.method === 'GET') {
    return toOutcome(action, await action.run(context, { body, prepared: undefined }))
  }
  if (!action.prepare) return write(call)
  return write({ ...call, prepared: await action.prepare(context, { body }) })
}

export async function writeAction(surroundings: ExecutionContext, call: ActionCall): Promise<ActionOutcome> {
  const action = byId.get(call.actionId)!
  const { body, prepared } = call
  const now = new Date().toISOString()
  const context: ActionContext = { ...surroundings, ...call.request, now }
  // The session was found before the body was read and a password compared: it may have ended since.
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
