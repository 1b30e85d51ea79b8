// Declaration of a console action: signing in and out, accepting an invitation, changing one's own account. Declared like
// an operation, but not part of the API: it may change with the console.
import type { Sql } from '../database/sql.ts'
import type { Schema, Static } from '../lib/schema.ts'
import type { Vault } from '../lib/vault.ts'
import type { OperationSettings } from './operation.ts'

/** The signed-in person. Plain data: it is sent between threads. */
export interface SignedIn {
  sessionId: string
  userId: string
  /** The CSRF token that the console must send with every change. */
  csrfToken: string
}

/** The request of an action. Plain data: it is sent between threads. */
export interface ActionRequest {
  requestId: string
  address: string
  userAgent: string
  /** The device token of an earlier sign-in with this browser; not verified. */
  deviceToken: string | undefined
  /** Undefined when nobody is signed in; always set in an action with access `person`. */
  signedIn: SignedIn | undefined
}

export interface ActionContext extends ActionRequest {
  /** A reader in `prepare` and in a GET, otherwise the transaction. */
  sql: Sql
  vault: Vault
  settings: OperationSettings
  now: string
}

export interface ActionAnswer<Result> {
  result: Result
  /** The token of a new session; null: the session of the cookie has ended. */
  sessionToken?: string | null
  /** Identifies the browser at the next sign-in. */
  deviceToken?: string
  /** The organization with a new activity to seal. */
  recordedIn?: string
}

/** An authorized and validated call of an action. Plain data: it is sent between threads. */
export interface ActionCall {
  actionId: string
  request: ActionRequest
  body: unknown
  /** Result of `prepare`. */
  prepared?: unknown
}

/** `result` is JSON text, reduced to the fields of the result shape. */
export interface ActionOutcome {
  result: string
  sessionToken?: string | null
  deviceToken?: string
  recordedIn?: string
}

export interface ConsoleAction<Body extends Schema = Schema, Result extends Schema = Schema, Prepared = unknown> {
  /** In kebab-case also the name of its file. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: `/console/api/${string}`
  /** `anyone`: no session needed; `person`: requires a session. */
  access: 'anyone' | 'person'
  body?: Body
  result: Result
  /**
   * For an action that checks a password: the name under which attempts are counted, before the check. Must have a prefix unique
   * to the action. Without it, failures are counted by address after the run.
   */
  guarded?(body: Static<Body>, request: ActionRequest, vault: Pick<Vault, 'fingerprint'>): string
  /** Slow work before the transaction, outside the writer thread, such as hashing a password. Its result is plain data. */
  prepare?(context: ActionContext, input: { body: Static<Body> }): Promise<Prepared>
  /** Runs in one transaction; may run twice, like the `run` of an operation. */
  run(context: ActionContext, input: { body: Static<Body>; prepared: Prepared }): Promise<ActionAnswer<Static<Result>>>
}

/** Declares an action. Types flow from its shapes into its steps. */
export function consoleAction<Body extends Schema, Result extends Schema, Prepared = undefined>(
  definition: ConsoleAction<Body, Result, Prepared>,
): ConsoleAction<Body, Result, Prepared> {
  return definition
}

// biome-ignore lint/suspicious/noExplicitAny: the steps are contravariant in their shapes; the server validates before it calls.
export type AnyConsoleAction = ConsoleAction<any, any, any>
