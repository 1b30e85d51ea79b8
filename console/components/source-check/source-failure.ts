// Parses the error message of a failed source check.
import { type FieldError, PenstockError } from '../../../src/client/error.ts'
import type { SchemaDiscovery } from '../../../src/client/shapes.ts'
import { withFieldErrors } from '../../api/field-errors.ts'
import { withFormTerms } from '../../api/field-words.ts'

export type CheckStep = SchemaDiscovery['steps'][number]['step']

export interface SourceFailure {
  step: CheckStep
  /** Sentences; the step `fit` may have several. */
  reasons: string[]
  remedy: string | undefined
}

const stepFailed = /^\S+: the step "(\w+)" failed: (.+)$/s

/** Undefined for other errors and for unknown formats, which are shown unchanged. */
export function sourceFailureOf(error: PenstockError | null | undefined): SourceFailure | undefined {
  if (error?.code !== 'source_not_validated') return undefined
  const [, step, text] = stepFailed.exec(error.message) ?? []
  if (!isCheckStep(step) || text === undefined) return undefined
  // The remedy comes last, after one or more reasons.
  const end = text.lastIndexOf('; ')
  const reason = end < 0 ? text : text.slice(0, end)
  const reasons = step === 'fit' ? reason.split('; ') : [reason]
  return {
    step,
    reasons: reasons.map(asSentence),
    remedy: end < 0 ? undefined : asSentence(withFormTerms(text.slice(end + 2))),
  }
}

/** Short errors for the fields of a form: validation errors and those of a check. */
export function fieldMarks(...errors: (PenstockError | null | undefined)[]): PenstockError | undefined {
  const present = errors.filter((error) => error instanceof PenstockError)
  const [first] = present
  return first && withFieldErrors(first, present.flatMap(shortened))
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
  fit: 'The records do not match the table',
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

/** Capitalizes a message of the API and adds a full stop. A host or a name at its beginning stays unchanged. */
export function asSentence(words: string): string {
  const capitalized = /^[a-z]+[\s,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words
  return /[.!?]$/.test(capitalized) ? capitalized : `${capitalized}.`
}
