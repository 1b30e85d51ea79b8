// What every source promises, for the suites of each kind: in `npm test` they run against servers in this process, in
// `npm run test:real` against the real ones.
import assert from 'node:assert/strict'
import { Egress } from '../../src/lib/egress.ts'
import {
  type Batch,
  EndOfInput,
  type FailureCode,
  type Positions,
  ProbeFailure,
  type ProbeResult,
  type ProbeStep,
  probeSteps,
  type ReadableSource,
  type ReadLimits,
  type Selection,
  type Source,
} from '../../src/sources/source.ts'

export const loopbackEgress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
/** As in production: nothing on this machine may be reached. */
export const strictEgress = new Egress({ allowLoopback: false, deniedAddresses: [] })

export interface Probed extends ProbeResult {
  steps: ProbeStep[]
  durationMs: number
}

export interface Probing {
  maxRecords?: number
  egress?: Egress
  timeoutMs?: number
  /** The time counts from its beginning: what comes before takes longer where the machine is busy. */
  timedStep?: ProbeStep
}

export async function probe(source: Source, probing: Probing = {}): Promise<Probed> {
  const { maxRecords = 100, egress = loopbackEgress, timeoutMs = 10_000, timedStep } = probing
  const steps: ProbeStep[] = []
  const timed = new AbortController()
  const startedAtMs = performance.now()
  const result = await source.probe({
    egress,
    maxRecords,
    signal: AbortSignal.any([timed.signal, AbortSignal.timeout(timedStep ? 30_000 : timeoutMs)]),
    begin: (step) => {
      steps.push(step)
      if (step !== timedStep) return
      const limit = AbortSignal.timeout(timeoutMs)
      limit.addEventListener('abort', () => timed.abort(limit.reason), { once: true })
    },
  })
  const order = steps.map((step) => probeSteps.indexOf(step))
  assert.deepEqual(
    order,
    [...new Set(order)].toSorted((a, b) => a - b),
    `steps in their order, once: ${steps.join(' ')}`,
  )
  assert.ok(!steps.includes('fit'), 'fit is not for the source to judge')
  return { ...result, steps, durationMs: performance.now() - startedAtMs }
}

/** The probe fails at this step for this reason, says what to do, and tells nothing that it must not. */
export async function probeFails(
  source: Source,
  expected: { step: ProbeStep; code: FailureCode; field?: string },
  options: { secrets: string[]; egress?: Egress; timeoutMs?: number; timedStep?: ProbeStep },
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
  // Parts of a sentence, as they are put together by whoever tells them.
  assert.doesNotMatch(`${reason}\n${remedy}`, /[.;]\s*$|^[A-Z][a-z]/m)
  const told = `${reason}\n${remedy}\n${failure.message}\n${failure.stack}\n${String(failure.cause ?? '')}`
  for (const secret of secrets) {
    assert.ok(secret.length >= 6, 'a secret that is too short is found everywhere')
    for (const form of [
      secret,
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      encodeURIComponent(secret),
    ]) {
      assert.ok(!told.includes(form), 'a secret is told')
    }
  }
  return failure
}

const unhurried: Omit<ReadLimits, 'signal'> = { maxRecords: 1_000, maxBytes: 1_000_000, waitMs: 200 }

/** For a source that has to connect before it can give anything. */
const firstWaitMs = 2_000

/** Reads until a read gives nothing, or the input ends. A range ends, however long a read gives nothing. */
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
      const waitMs = batches.length === 0 ? firstWaitMs : unhurried.waitMs
      const read = await reader.read({ ...unhurried, waitMs, signal, ...limits })
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

/** Batches of a partition follow one another without a gap. */
export function assertGapless(batches: Batch[]): void {
  const next = new Map<string, string>()
  for (const { partition, from, next: after } of batches) {
    if (next.has(partition)) assert.equal(from, next.get(partition), `a gap in ${partition}`)
    next.set(partition, after)
  }
}

/** Where each partition stands after these batches. */
export function positionsAfter(batches: Batch[]): Positions {
  return Object.fromEntries(batches.map(({ partition, next }) => [partition, next]))
}
