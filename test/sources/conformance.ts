// Helpers of the conformance suites of all sources. `npm test` runs them against servers in this process, `npm run test:real` against
// real ones.
import assert from 'node:assert/strict'
import { Egress } from '../../src/lib/egress.ts'
import { type ProbeResult, type ProbeStep, probeSteps } from '../../src/source-shapes/probe.ts'
import { type FailureCode, ProbeFailure } from '../../src/source-shapes/source-failure.ts'
import {
  type Batch,
  EndOfInput,
  type Positions,
  type ReadableSource,
  type ReadLimits,
  type Selection,
  type Source,
} from '../../src/sources/source.ts'
import { startStopwatch } from './stopwatch.ts'

export const loopbackEgress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
/** As in production: loopback addresses are denied. */
export const strictEgress = new Egress({ allowLoopback: false, deniedAddresses: [] })

export interface Probed extends ProbeResult {
  steps: ProbeStep[]
  /** By a stopwatch that a busy machine does not affect. */
  durationMs: number
}

export interface Probing {
  maxRecords?: number
  egress?: Egress
  timeoutMs?: number
  /** `timeoutMs` counts from the beginning of this step: earlier steps take longer on a busy machine. */
  timedStep?: ProbeStep
  /** Called when a step begins. */
  onStep?(step: ProbeStep): void
}

export async function probe(source: Source, probing: Probing = {}): Promise<Probed> {
  const { maxRecords = 100, egress = loopbackEgress, timeoutMs = 10_000, timedStep, onStep } = probing
  const steps: ProbeStep[] = []
  const timed = new AbortController()
  const elapsedMs = startStopwatch()
  const result = await source.probe({
    egress,
    maxRecords,
    signal: AbortSignal.any([timed.signal, AbortSignal.timeout(timedStep ? 30_000 : timeoutMs)]),
    begin: (step) => {
      steps.push(step)
      onStep?.(step)
      if (step !== timedStep) return
      const limit = AbortSignal.timeout(timeoutMs)
      limit.addEventListener('abort', () => timed.abort(limit.reason), { once: true })
    },
  })
  const order = steps.map((step) => probeSteps.indexOf(step))
  assert.deepEqual(
    order,
    [...new Set(order)].toSorted((a, b) => a - b),
    `steps in order, once: ${steps.join(' ')}`,
  )
  assert.ok(!steps.includes('fit'), 'the source does not check the destination')
  return { ...result, steps, durationMs: elapsedMs() }
}

/** Asserts that the probe fails with this step and code, has a remedy, and contains none of the secrets. */
export async function probeFails(
  source: Source,
  expected: { step: ProbeStep; code: FailureCode; field?: string },
  options: Omit<Probing, 'maxRecords'> & { secrets: string[] },
): Promise<ProbeFailure> {
  const { secrets, ...rest } = options
  const failure = await probe(source, { timedStep: expected.step, ...rest }).then(
    () => assert.fail(`the probe passed, and should have failed with ${expected.code}`),
    (error: unknown) => error,
  )
  assert.ok(failure instanceof ProbeFailure, `not a ProbeFailure: ${(failure as Error).stack}`)
  const { step, code, reason, remedy, field } = failure
  assert.deepEqual({ step, code }, { step: expected.step, code: expected.code }, `${reason}; ${remedy}`)
  if (expected.field !== undefined) assert.equal(field, expected.field)
  assert.ok(reason.length > 10 && remedy.length > 5, `${reason}; ${remedy}`)
  // Parts of a sentence, which the caller joins.
  assert.doesNotMatch(`${reason}\n${remedy}`, /[.;]\s*$|^[A-Z][a-z]/m)
  const text = `${reason}\n${remedy}\n${failure.message}\n${failure.stack}\n${String(failure.cause ?? '')}`
  for (const secret of secrets) {
    assert.ok(secret.length >= 6, 'a short secret would match by chance')
    for (const form of [
      secret,
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      encodeURIComponent(secret),
    ]) {
      assert.ok(!text.includes(form), 'a secret is in the text')
    }
  }
  return failure
}

const defaultLimits: Omit<ReadLimits, 'signal'> = { maxRecords: 1_000, maxBytes: 1_000_000, waitMs: 200 }

/** The first read includes connecting. */
const firstWaitMs = 2_000

/** Reads until an empty read, or until the end of a range. */
export async function readAll(
  source: ReadableSource,
  positions: Positions,
  limits: Partial<ReadLimits> = {},
  selection: Selection = {},
): Promise<{ batches: Batch[]; ended: boolean }> {
  const signal = AbortSignal.timeout(20_000)
  const reader = await source.open(positions, { egress: loopbackEgress, signal }, selection)
  const batches: Batch[] = []
  try {
    for (;;) {
      const waitMs = batches.length === 0 ? firstWaitMs : defaultLimits.waitMs
      const read = await reader.read({ ...defaultLimits, waitMs, signal, ...limits })
      if (read.length === 0 && !selection.until) return { batches, ended: false }
      const partitions = read.map(({ partition }) => partition)
      assert.equal(new Set(partitions).size, partitions.length, 'at most one batch of a partition in a read')
      batches.push(...read)
    }
  } catch (error) {
    if (error instanceof EndOfInput) return { batches, ended: true }
    throw error
  } finally {
    await reader.close()
  }
}

/** Asserts that the batches of each partition are consecutive. */
export function assertGapless(batches: Batch[]): void {
  const next = new Map<string, string>()
  for (const { partition, from, next: after } of batches) {
    if (next.has(partition)) assert.equal(from, next.get(partition), `a gap in ${partition}`)
    next.set(partition, after)
  }
}

/** Position of each partition after these batches. */
export function positionsAfter(batches: Batch[]): Positions {
  return Object.fromEntries(batches.map(({ partition, next }) => [partition, next]))
}
