// What went wrong, and what that means for a worker: whether it passes by itself, whether only the user can help, or whether
// nothing more may be done. Only our own words leave.
import { EngineError } from '../engine/engine.ts'
import { hostInUrl } from '../lib/host.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import { NotConnected, ProbeFailure, SourceChanged } from '../sources/source.ts'
import { shownText } from './status.ts'
import { LeaseLost } from './worker.ts'

/** Our own database did not do what it was asked to, or nobody knows whether it did. */
export class StoreFailure extends Error {
  constructor(cause: unknown) {
    super('the database failed', { cause })
    this.name = 'StoreFailure'
  }
}

/** What was recorded cannot be read again as it was: to go on would lose rows, or store them twice. */
export class Unrecoverable extends Error {
  readonly reason: string

  constructor(reason: string) {
    super('the worker cannot go on')
    this.name = 'Unrecoverable'
    this.reason = reason
  }
}

export type Trouble =
  | { kind: 'lost' }
  /** `hopeless`: trying again changes nothing. */
  | { kind: 'hopeless' | 'user' | 'passing'; reason: string }

/** Undefined for an error that nobody expected: a defect of ours. */
export function classifyFailure(error: unknown, pipe: StoredPipe): Trouble | undefined {
  const trouble = troubleOf(error, pipe)
  return trouble && 'reason' in trouble ? { ...trouble, reason: shownText(trouble.reason) } : trouble
}

function troubleOf(error: unknown, pipe: StoredPipe): Trouble | undefined {
  if (error instanceof LeaseLost) return { kind: 'lost' }
  if (error instanceof Unrecoverable) return { kind: 'hopeless', reason: error.reason }
  if (error instanceof ProbeFailure) return { kind: 'user', reason: `${error.reason}; ${error.remedy}` }
  if (error instanceof EngineError) {
    return { kind: error.kind === 'passing' ? 'passing' : 'user', reason: error.message }
  }
  if (error instanceof NotConnected) {
    const { cause } = error
    // The source was reached, and says why it does not go on.
    if (cause instanceof ProbeFailure && cause.code === 'source_failed') {
      return { kind: 'passing', reason: `${cause.reason}; ${cause.remedy}` }
    }
    const found = cause instanceof ProbeFailure ? `: ${cause.reason}` : ''
    const place = error.place ?? placeOf(pipe)
    return { kind: 'passing', reason: `${place} cannot be reached, or broke the connection off${found}` }
  }
  if (error instanceof SourceChanged) return { kind: 'passing', reason: error.reason }
  if (error instanceof StoreFailure) {
    return { kind: 'passing', reason: "Penstock's own database did not answer as it should" }
  }
  return undefined
}

/** The source as the user named it. */
function placeOf({ kind, source }: StoredPipe): string {
  const shown = source as Record<'brokers' | 'streamName' | 'url' | 'azureContainerName' | 'host' | 'port', unknown>
  const { brokers, streamName, url, azureContainerName, host, port } = shown
  if (kind === 'kafka' && typeof brokers === 'string') return `Kafka at ${brokers}`
  if (kind === 'postgres' && typeof host === 'string') return `PostgreSQL at ${hostInUrl(host)}:${port}`
  if (kind === 'kinesis' && typeof streamName === 'string') return `the Kinesis stream ${streamName}`
  if (typeof url === 'string') return `the object storage at ${url}`
  if (typeof azureContainerName === 'string') return `the container ${azureContainerName}`
  return 'the source'
}
