// What the console needs beside the operations: to sign in and out, to accept an invitation, to change one's own account.
// Declared like an operation, with the shapes beside the steps. Not part of the API: it may change with the console.
import type { Sql } from '../database/sql.ts'
import type { Schema, Static } from '../lib/schema.ts'
import type { Vault } from '../lib/vault.ts'
import type { OperationSettings } from './operation.ts'

/** Who is signed in. Plain data: it crosses threads. */
export interface SignedIn {
  sessionId: string
  userId: string
  /** What the console must send with every change, to show that it can read our answers. */
  csrfToken: string
}

/** What an action knows of its request. Plain data: it crosses threads. */
export interface ActionRequest {
  requestId: string
  address: string
  userAgent: string
  /** What the browser was given when somebody signed in with it before; not checked. */
  deviceToken: string | undefined
  /** Undefined when nobody is signed in; never so in an action for people who are. */
  signedIn: SignedIn | undefined
}

export interface ActionContext extends ActionRequest {
  /** A reader in `prepare` and in a GET; otherwise the transaction. */
  sql: Sql
  vault: Vault
  settings: OperationSettings
  now: string
}

export interface ActionAnswer<Result> {
  result: Result
  /** The token of a session that begins with this answer; null: the session of the cookie has ended. */
  sessionToken?: string | null
  /** By which the browser is known the next time somebody signs in with it. */
  deviceToken?: string
  /** The organization that has a new activity, which is to be sealed. */
  recordedIn?: string
}

/** One run of an action that has been admitted and validated. Plain data: it crosses threads. */
export interface ActionCall {
  actionId: string
  request: ActionRequest
  body: unknown
  /** What `prepare` gave. */
  prepared?: unknown
}

/** `result` is JSON text, cut to what the action's result shape lists. */
export interface ActionOutcome {
  result: string
  sessionToken?: string | null
  deviceToken?: string
  recordedIn?: string
}

export interface ConsoleAction<Body extends Schema = Schema, Result extends Schema = Schema, Prepared = unknown> {
  /** Also the name of its file in kebab-case. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: `/console/api/${string}`
  /** `anyone`: also who is not signed in; `person`: only who is. */
  access: 'anyone' | 'person'
  body?: Body
  result: Result
  /**
   * Of an action that compares a password: the name that guesses are counted for, before the password is compared. Begins with
   * words of its own: no two actions share one. Without it, failures are counted for the address afterwards.
   */
  guarded?(body: Static<Body>, request: ActionRequest, vault: Pick<Vault, 'fingerprint'>): string
  /** Before the transaction and outside of the writer thread: what takes long, such as the hash of a password. Its outcome is plain data. */
  prepare?(context: ActionContext, input: { body: Static<Body> }): Promise<Prepared>
  /** In one transaction; may be run twice, like the `run` of an operation. */
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
