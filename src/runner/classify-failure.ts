// Classifies errors of a worker: temporary, to be fixed by the user, or final. Reasons are our own texts, never the raw text of
// another system.
import { EngineError } from '../engine/engine.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import { NotConnected, ProbeFailure } from '../source-shapes/source-failure.ts'
import { sourceKind } from '../source-shapes/source-kinds.ts'
import { SourceChanged } from '../sources/source.ts'
import { shownText } from './status.ts'
import { LeaseLost } from './worker.ts'

/** Penstock's own database failed, or its answer was lost. */
export class StoreFailure extends Error {
  constructor(cause: unknown) {
    super('the database failed', { cause })
    this.name = 'StoreFailure'
  }
}

/** A recorded delivery cannot be rebuilt exactly: continuing would lose or duplicate rows. */
export class Unrecoverable extends Error {
  readonly reason: string

  constructor(reason: string) {
    super('the worker cannot go on')
    this.name = 'Unrecoverable'
    this.reason = reason
  }
}

export type Failure =
  | { kind: 'lost' }
  /** `hopeless`: a retry cannot help. */
  | { kind: 'hopeless' | 'user' | 'passing'; reason: string }

/** Undefined for an unexpected error: a defect of Penstock. */
export function classifyFailure(error: unknown, pipe: StoredPipe): Failure | undefined {
  const failure = failureOf(error, pipe)
  return failure && 'reason' in failure ? { ...failure, reason: shownText(failure.reason) } : failure
}

function failureOf(error: unknown, pipe: StoredPipe): Failure | undefined {
  if (error instanceof LeaseLost) return { kind: 'lost' }
  if (error instanceof Unrecoverable) return { kind: 'hopeless', reason: error.reason }
  if (error instanceof ProbeFailure) return { kind: 'user', reason: `${error.reason}; ${error.remedy}` }
  if (error instanceof EngineError) {
    return { kind: error.kind === 'passing' ? 'passing' : 'user', reason: error.message }
  }
  if (error instanceof NotConnected) {
    const { cause } = error
    // The source was reached and reports why it cannot continue.
    if (cause instanceof ProbeFailure && cause.code === 'source_failed') {
      return { kind: 'passing', reason: `${cause.reason}; ${cause.remedy}` }
    }
    const found = cause instanceof ProbeFailure ? `: ${cause.reason}` : ''
    const name = error.unreachable ?? describeSource(pipe)
    return { kind: 'passing', reason: `${name} cannot be reached, or broke the connection off${found}` }
  }
  if (error instanceof SourceChanged) return { kind: 'passing', reason: error.reason }
  if (error instanceof StoreFailure) {
    return { kind: 'passing', reason: "Penstock's own database did not answer as it should" }
  }
  return undefined
}

function describeSource({ kind, source }: StoredPipe): string {
  return sourceKind(kind).describe(source) || 'the source'
}
