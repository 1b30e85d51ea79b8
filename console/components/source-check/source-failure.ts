// Why a source failed its check, taken apart from the one sentence that the API says it in.
import { type FieldError, PenstockError } from '../../../src/client/error.ts'
import type { SchemaDiscovery } from '../../../src/client/shapes.ts'
import { withFieldErrors } from '../../api/field-errors.ts'
import { withFormTerms } from '../../api/field-words.ts'

export type CheckStep = SchemaDiscovery['steps'][number]['step']

export interface SourceFailure {
  step: CheckStep
  /** Sentences; of records that do not fit there may be several. */
  reasons: string[]
  remedy: string | undefined
}

const stepFailed = /^\S+: the step "(\w+)" failed: (.+)$/s

/** Undefined for any other error, and for a sentence that is not as expected: then the sentence stands for itself. */
export function sourceFailureOf(error: PenstockError | null | undefined): SourceFailure | undefined {
  if (error?.code !== 'source_not_validated') return undefined
  const [, step, told] = stepFailed.exec(error.message) ?? []
  if (!isCheckStep(step) || told === undefined) return undefined
  // What to do comes last; of what is wrong there may be several.
  const end = told.lastIndexOf('; ')
  const reason = end < 0 ? told : told.slice(0, end)
  const reasons = step === 'fit' ? reason.split('; ') : [reason]
  return {
    step,
    reasons: reasons.map(asSentence),
    remedy: end < 0 ? undefined : asSentence(withFormTerms(told.slice(end + 2))),
  }
}

/** What stands at the fields of a form: what was refused, and what a check found wrong, in few words. */
export function fieldMarks(...errors: (PenstockError | null | undefined)[]): PenstockError | undefined {
  const told = errors.filter((error) => error instanceof PenstockError)
  const [first] = told
  return first && withFieldErrors(first, told.flatMap(shortened))
}

function shortened(error: PenstockError): FieldError[] {
  const failure = sourceFailureOf(error)
  if (!failure) return error.errors
  return error.errors.map(({ pointer }) => ({ pointer, detail: failure.reasons.join(' ') }))
}

function isCheckStep(name: string | undefined): name is CheckStep {
  return name !== undefined && Object.hasOwn(failedTitles, name)
}

export const failedTitles: Record<CheckStep, string> = {
  connect: 'The source cannot be reached',
  tls: 'The connection is not secure',
  authenticate: 'Signing in failed',
  describe: 'The source answers, but something is missing',
  read: 'Reading failed',
  decode: 'The records cannot be read in this format',
  fit: 'The records do not fit the table',
}

const passedNames: Record<CheckStep, string> = {
  connect: 'connected',
  tls: 'TLS',
  authenticate: 'signed in',
  describe: 'looked up',
  read: 'read',
  decode: 'decoded',
  fit: 'compared',
}

/** "Connected 2 ms, signed in 9 ms, read 1.3 s" */
export function passedSteps(steps: SchemaDiscovery['steps']): string {
  return asSentence(steps.map(({ step, durationMs }) => `${passedNames[step]} ${duration(durationMs)}`).join(', '))
}

function duration(durationMs: number): string {
  if (durationMs >= 1_000) return `${(durationMs / 1_000).toFixed(1)} s`
  return durationMs < 1 ? 'under 1 ms' : `${Math.round(durationMs)} ms`
}

/** The API's words begin small and have no full stop, because they are parts of sentences. A host or a name stays as it is. */
export function asSentence(words: string): string {
  const begun = /^[a-z]+[\s,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
