// Runs the probe of a source: time limit, concurrency, check against the destination, and conversion of failures to a Problem.
// Messages of servers and libraries are never passed on to the caller.
import { describeError } from '../lib/describe-error.ts'
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import { Problem } from '../lib/problem.ts'
import type { Probe, ProbeReport, ProbeRequest, ProbeStep } from '../source-shapes/probe.ts'
import { ProbeFailure } from '../source-shapes/source-failure.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { readsObjects, readsTables } from '../source-shapes/source-kinds.ts'
import { makeSource } from './make-source.ts'
import type { SourceContext } from './source.ts'

const maxRecords = 100
/** Files that ClickHouse decodes. */
const wholeFormats = ['Parquet', 'Avro'] as const
/** Each holds connections and samples. Waiting counts towards the time limit. */
const maxAtOnce = 8
/** Slow sources of one organization must not block the others. */
const maxOfOrganization = 4

/** How long a source may take to close its connections. */
const graceMs = 2_000

export interface ProberParts {
  egress: Egress
  /** Settings of the operator. */
  context: Omit<SourceContext, 'organizationId'>
  timeoutMs: number
  log: Log
  /** For tests. */
  makeSource?: typeof makeSource
}

export class Prober {
  readonly #parts: ProberParts
  readonly #waiting: { organizationId: string; begin: () => void }[] = []
  /** The organization of each that runs. */
  readonly #running: string[] = []
  readonly #closing = new AbortController()

  constructor(parts: ProberParts) {
    this.#parts = parts
  }

  /** Probes of one request share one time limit, and end when `gone` is aborted. */
  probeFor(gone: AbortSignal | undefined): Probe {
    const limit = AbortSignal.timeout(this.#parts.timeoutMs)
    const signal = AbortSignal.any([limit, this.#closing.signal, ...(gone ? [gone] : [])])
    return async (request) => {
      const { organizationId } = request
      const hasWaited = await this.#acquire(organizationId, signal)
      try {
        return await this.#probe(request, signal)
      } catch (error) {
        if (this.#closing.signal.aborted) throw shuttingDown()
        // The time limit expired while waiting: this is not a failure of the source.
        throw hasWaited && signal.aborted ? tooManyProbes() : error
      } finally {
        this.#running.splice(this.#running.indexOf(organizationId), 1)
        this.#beginNext()
      }
    }
  }

  /** Aborts all probes. */
  close(): void {
    this.#closing.abort()
  }

  #isFree(organizationId: string): boolean {
    const ofOrganization = this.#running.filter((running) => running === organizationId).length
    return this.#running.length < maxAtOnce && ofOrganization < maxOfOrganization
  }

  /** Resolves to whether it had to wait. */
  #acquire(organizationId: string, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(tooManyProbes())
      if (this.#isFree(organizationId)) {
        this.#running.push(organizationId)
        return resolve(false)
      }
      const waiting = {
        organizationId,
        begin: () => {
          signal.removeEventListener('abort', giveUp)
          resolve(true)
        },
      }
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(tooManyProbes())
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(waiting)
    })
  }

  /** Starts the oldest waiting probe whose organization is below its limit. */
  #beginNext(): void {
    const next = this.#waiting.find(({ organizationId }) => this.#isFree(organizationId))
    if (!next) return
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#running.push(next.organizationId)
    next.begin()
  }

  async #probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeReport> {
    const { egress, context, timeoutMs, log } = this.#parts
    const { kind, source, organizationId, destination } = request
    const clock = new StepClock()
    try {
      const make = this.#parts.makeSource ?? makeSource
      const opened = await make(kind, source, { ...context, organizationId })
      const probing = opened.probe({ egress, signal, maxRecords, begin: (step) => clock.begin(step) })
      const result = await orOverdue(probing, signal)
      if (!destination || readsTables(kind)) return { ...result, steps: clock.end(), misfits: [] }
      clock.begin('fit')
      const { fitProblems } = await import('./fit.ts')
      const { columns, fieldMappings, mustFit } = destination
      const files = readsObjects(kind) ? wholeFormats.find((format) => format === source.shown.format) : undefined
      const misfits = result.samples.flatMap((sample) => fitProblems(sample, columns, fieldMappings, files))
      if (mustFit && misfits.length > 0) throw misfit(misfits)
      return { ...result, steps: clock.end(), misfits }
    } catch (error) {
      if (error instanceof ProbeFailure) throw sourceNotValidated(kind, error)
      const { step } = clock
      const seconds = timeoutMs / 1000
      if (signal.aborted) {
        const reason = `the source did not finish within ${seconds} s`
        const remedy = 'check that it is reachable and not overloaded, and try again'
        throw sourceNotValidated(kind, { step, code: 'timed_out', reason, remedy })
      }
      log.warn('a source failed with an unknown error', {
        reason: `${kind}, ${step}`,
        error: describeError(error),
      })
      const reason = 'the source failed with an unknown error'
      throw sourceNotValidated(kind, { step, code: 'source_failed', reason, remedy: 'look at the log of the source' })
    }
  }
}

/** Does not wait for a source that ignores its signal: neither the caller nor waiting probes may be blocked. */
async function orOverdue<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: overdue, reject } = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    timer = setTimeout(() => reject(new Error('the source did not stop')), graceMs)
  }
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
  try {
    return await Promise.race([work, overdue])
  } finally {
    signal.removeEventListener('abort', wait)
    clearTimeout(timer)
  }
}

class StepClock {
  readonly #begun: { step: ProbeStep; atMs: number }[] = []

  get step(): ProbeStep {
    return this.#begun.at(-1)?.step ?? 'connect'
  }

  begin(step: ProbeStep): void {
    this.#begun.push({ step, atMs: performance.now() })
  }

  end(): ProbeReport['steps'] {
    const ends = [...this.#begun.slice(1).map(({ atMs }) => atMs), performance.now()]
    return this.#begun.map(({ step, atMs }, index) => ({
      step,
      durationMs: Math.round((ends[index]! - atMs) * 10) / 10,
    }))
  }
}

function misfit(misfits: string[]): ProbeFailure {
  const remedy = 'change destination.columns or fieldMappings, or leave validateSamples out'
  return new ProbeFailure({ step: 'fit', code: 'misfit', reason: misfits.join('; '), remedy })
}

type FailureText = Pick<ProbeFailure, 'step' | 'code' | 'reason' | 'remedy' | 'field'>

function sourceNotValidated(kind: SourceKindName, { step, reason, remedy, field }: FailureText): Problem {
  const path = field === undefined ? `source.${kind}` : `source.${kind}.${field}`
  const detail = `${path}: the step "${step}" failed: ${reason}; ${remedy}`
  return new Problem('source_not_validated', detail, { fields: [{ path, detail }] })
}

function shuttingDown(): Problem {
  const detail = 'Penstock is shutting down; try again in a few seconds'
  return new Problem('unavailable', detail, { headers: { 'retry-after': '5' }, isOverload: true })
}

function tooManyProbes(): Problem {
  return new Problem('unavailable', 'too many sources are being checked at once; try again in a few seconds', {
    headers: { 'retry-after': '5' },
    isOverload: true,
  })
}
