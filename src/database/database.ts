// What the rest of Penstock knows of a database: it reads with SQL, and it writes by name. A write is a named function from
// the list of writes (src/execution/writes.ts), because on SQLite it runs in another thread, where functions cannot be sent.
import { describeError } from '../lib/describe-error.ts'
import type { LogFields } from '../lib/log.ts'
import { type FieldProblem, Problem, type ProblemCode } from '../lib/problem.ts'
import type { Vault } from '../lib/vault.ts'
import type { CommitGroupMetrics, Outcome, Verdict } from './group-commit.ts'
import type { Dialect, Sql } from './sql.ts'

/** What a write works with: its transaction, and the vault for what must be sealed. */
export interface WriteContext {
  sql: Sql
  vault: Vault
}

// biome-ignore lint/suspicious/noExplicitAny: each write has its own input; `Database.write` gives it back its type.
export type Writes = Record<string, (context: WriteContext, input: any) => Promise<unknown>>

export interface Database<List extends Writes> {
  readonly dialect: Dialect
  /** Sees what has been committed, one statement at a time. */
  readonly reader: Sql
  /**
   * Runs a write in a transaction and resolves after its commit. Writes with the same `lane` run one after another in the
   * order they came; use the organization's id.
   */
  write<Name extends keyof List & string>(
    name: Name,
    input: Parameters<List[Name]>[1],
    lane: string,
  ): Promise<Awaited<ReturnType<List[Name]>>>
  /** Resolves when the database answers, rejects with a Problem when it does not. */
  check(): Promise<void>
  close(): Promise<void>
}

/** `disk`: it may not keep what it said it keeps. `deleted`: its files are gone. `defect`: the thread that writes has ended. */
export type FatalReason = 'disk' | 'deleted' | 'defect'

export interface DatabaseEvents {
  onGroup?(figures: CommitGroupMetrics): void
  /** The process must end, after what is under way has been answered. */
  onFatal(reason: FatalReason): void
  onTrouble(reason: string, error: LogFields['error']): void
}

/** More writes than this waiting means that clients must wait, not memory. */
export const maxWaitingWrites = 4_096

/** An unexpected error of a write or a read, as far as it may be told in a log. */
class Fault extends Error {
  readonly description: NonNullable<LogFields['error']>

  constructor(description: NonNullable<LogFields['error']>) {
    super('an unexpected error in the database layer')
    this.name = 'Fault'
    this.description = description
  }
}

export function unavailable(cause?: unknown): Problem {
  return new Problem('unavailable', 'the database cannot be used right now; try again in a moment', {
    headers: { 'retry-after': '1' },
    cause,
  })
}

/** More writes than are taken on. */
export function tooManyWaiting(): Problem {
  return new Problem('unavailable', 'too many changes are waiting for the database; try again in a moment', {
    headers: { 'retry-after': '1' },
    isOverload: true,
  })
}

/** An outcome in a form that can cross threads. */
export type WireOutcome =
  | { value: unknown }
  | { problem: { code: ProblemCode; detail: string; fields: FieldProblem[]; headers: Record<string, string> } }
  | { verdict: Verdict; fault: NonNullable<LogFields['error']> }

export function toWire(outcome: Outcome): WireOutcome {
  // JSON has no undefined.
  if ('value' in outcome) return { value: outcome.value ?? null }
  const { error, verdict } = outcome
  if (error instanceof Problem) {
    return { problem: { code: error.code, detail: error.message, fields: error.fields, headers: error.headers } }
  }
  return { verdict, fault: describeError(error) }
}

export interface PendingAnswer {
  resolve(value: unknown): void
  reject(error: Error): void
}

export function settle(pending: PendingAnswer, outcome: WireOutcome, events: DatabaseEvents): void {
  if ('value' in outcome) pending.resolve(outcome.value)
  else if ('problem' in outcome) {
    const { code, detail, fields, headers } = outcome.problem
    pending.reject(new Problem(code, detail, { fields, headers }))
  } else if (outcome.verdict === 'write-failed') pending.reject(new Fault(outcome.fault))
  else {
    events.onTrouble('a write was refused by the database', outcome.fault)
    pending.reject(unavailable())
  }
}
