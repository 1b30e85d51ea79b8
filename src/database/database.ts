// Interface of a database: reads with SQL, writes by name. A write is a named function from src/execution/writes.ts, because
// on SQLite it runs in another thread and functions cannot be sent to threads.
import { describeError } from '../lib/describe-error.ts'
import type { LogFields } from '../lib/log.ts'
import { type FieldProblem, Problem, type ProblemCode } from '../lib/problem.ts'
import type { Vault } from '../lib/vault.ts'
import type { CommitGroupMetrics, Outcome, Verdict } from './group-commit.ts'
import type { Dialect, Sql } from './sql.ts'

/** The transaction of a write, and the vault that seals secrets. */
export interface WriteContext {
  sql: Sql
  vault: Vault
}

// biome-ignore lint/suspicious/noExplicitAny: each write has its own input; `Database.write` gives it back its type.
export type Writes = Record<string, (context: WriteContext, input: any) => Promise<unknown>>

export interface Database<List extends Writes> {
  readonly dialect: Dialect
  /** Sees committed data only; each statement is separate. */
  readonly reader: Sql
  /**
   * Runs a write in a transaction and resolves after its commit. Writes with the same `orderKey` run one after another in the
   * order of the calls; use the id of the organization.
   */
  write<Name extends keyof List & string>(
    name: Name,
    input: Parameters<List[Name]>[1],
    orderKey: string,
  ): Promise<Awaited<ReturnType<List[Name]>>>
  /** Resolves when the database answers, rejects with a Problem when it does not. */
  check(): Promise<void>
  close(): Promise<void>
}

/** `disk`: committed data may be lost after a failed sync. `deleted`: the files are gone. `defect`: the writer thread has ended. */
export type FatalReason = 'disk' | 'deleted' | 'defect'

export interface DatabaseEvents {
  onGroup?(metrics: CommitGroupMetrics): void
  /** The process must exit after pending requests have been answered. */
  onFatal(reason: FatalReason): void
  onTrouble(reason: string, error: LogFields['error']): void
}

/** Limit of queued writes; beyond it clients get a 503. */
export const maxWaitingWrites = 4_096

/** An unexpected error of a write or a read, reduced to what may be logged. */
class Fault extends Error {
  readonly description: NonNullable<LogFields['error']>

  constructor(description: NonNullable<LogFields['error']>) {
    super('an unexpected error in the database layer')
    this.name = 'Fault'
    this.description = description
  }
}

export function unavailable(cause?: unknown): Problem {
  return new Problem('unavailable', 'the database is not available; try again in a second', {
    headers: { 'retry-after': '1' },
    cause,
  })
}

/** The queue of writes is full. */
export function tooManyWaiting(): Problem {
  return new Problem('unavailable', 'too many changes are waiting for the database; try again in a second', {
    headers: { 'retry-after': '1' },
    isOverload: true,
  })
}

/** An outcome in a form that can be sent between threads. */
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
