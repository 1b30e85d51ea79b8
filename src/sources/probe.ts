// The probe of a source of any kind, around what each kind does itself: its time limit, how many run at once, whether what was
// read fits the destination, and what a caller is told. Whatever a source throws, nothing of it but our own words leaves.
import { describeError } from '../lib/describe-error.ts'
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import { Problem } from '../lib/problem.ts'
import type { SourceKindName } from '../pipes/pipe.ts'
import type { PipeSource } from '../pipes/pipe-source.ts'
import { makeSource } from './make-source.ts'
import { ProbeFailure, type ProbeResult, type ProbeStep, type SourceContext } from './source.ts'

export interface ProbeRequest {
  kind: SourceKindName
  source: PipeSource
  organizationId: string
  /** What the records are to fill. Without it, the probe ends with `decode`. */
  destination?: {
    columns: { name: string; type: string }[]
    fieldMappings: { sourceField: string; destinationField: string }[]
    /** What does not fit is a failure; otherwise it is only told. */
    mustFit: boolean
  }
}

export interface ProbeReport extends ProbeResult {
  steps: { step: ProbeStep; durationMs: number }[]
  /** What does not fit the destination, as sentences. */
  misfits: string[]
}

/** Rejects with a Problem. */
export type Probe = (request: ProbeRequest) => Promise<ProbeReport>

const maxRecords = 100
/** Files that the engine reads by itself. */
const wholeFormats = ['Parquet', 'Avro'] as const
/** Each holds connections and samples; those that come later wait within their own time. */
const maxAtOnce = 8
/** So that the slow sources of one organization do not keep the others waiting. */
const maxOfOrganization = 4

/** What a source may take to close its connections. */
const graceMs = 2_000

export interface ProberParts {
  egress: Egress
  /** What the operator has set for all sources. */
  context: Omit<SourceContext, 'organizationId'>
  timeoutMs: number
  log: Log
  /** Only tests bring their own. */
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

  /** A probe for one request, which ends it when `gone` is aborted. All that the request probes shares one time limit. */
  probeFor(gone: AbortSignal | undefined): Probe {
    const limit = AbortSignal.timeout(this.#parts.timeoutMs)
    const signal = AbortSignal.any([limit, this.#closing.signal, ...(gone ? [gone] : [])])
    return async (request) => {
      const { organizationId } = request
      const hasWaited = await this.#turn(organizationId, signal)
      try {
        return await this.#probe(request, signal)
      } catch (error) {
        if (this.#closing.signal.aborted) throw shuttingDown()
        // Its time went by in the queue: that says nothing of the source.
        throw hasWaited && signal.aborted ? tooManyProbes() : error
      } finally {
        this.#running.splice(this.#running.indexOf(organizationId), 1)
        this.#beginNext()
      }
    }
  }

  /** Ends what is under way; nothing that a probe does need be finished. */
  close(): void {
    this.#closing.abort()
  }

  #isFree(organizationId: string): boolean {
    const ofOrganization = this.#running.filter((running) => running === organizationId).length
    return this.#running.length < maxAtOnce && ofOrganization < maxOfOrganization
  }

  /** Tells whether it had to wait. */
  #turn(organizationId: string, signal: AbortSignal): Promise<boolean> {
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

  /** Whoever waits longest and may. */
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
      if (!destination || kind === 'postgres') return { ...result, steps: clock.end(), misfits: [] }
      clock.begin('fit')
      const { fitProblems } = await import('./fit.ts')
      const { columns, fieldMappings, mustFit } = destination
      const files = kind === 'objectStorage' ? wholeFormats.find((format) => format === source.shown.format) : undefined
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
      log.warn('a source failed in a way that is not known', {
        reason: `${kind}, ${step}`,
        error: describeError(error),
      })
      const reason = 'the source failed in a way that Penstock does not know'
      throw sourceNotValidated(kind, { step, code: 'source_failed', reason, remedy: 'look at the log of the source' })
    }
  }
}

/** A source that does not stop when it is told to must hold up neither whoever asked nor those who wait for its place. */
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

type Told = Pick<ProbeFailure, 'step' | 'code' | 'reason' | 'remedy' | 'field'>

function sourceNotValidated(kind: SourceKindName, { step, reason, remedy, field }: Told): Problem {
  const path = field === undefined ? `source.${kind}` : `source.${kind}.${field}`
  const detail = `${path}: the step "${step}" failed: ${reason}; ${remedy}`
  return new Problem('source_not_validated', detail, { fields: [{ path, detail }] })
}

function shuttingDown(): Problem {
  const detail = 'Penstock is shutting down; try again in a moment'
  return new Problem('unavailable', detail, { headers: { 'retry-after': '5' }, isOverload: true })
}

function tooManyProbes(): Problem {
  return new Problem('unavailable', 'too many sources are being checked at once; try again in a moment', {
    headers: { 'retry-after': '5' },
    isOverload: true,
  })
}
