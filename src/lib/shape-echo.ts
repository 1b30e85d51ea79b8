// Comparing the read-only fields that a client sends back with the resource as it is.

import { isObject } from './merge-patch.ts'
import type { FieldProblem } from './problem.ts'
import {
  fieldPath,
  fingerprint,
  holdsUnquoted,
  isScalar,
  isUnquoted,
  own,
  propertyOf,
  quote,
  type Rules,
  type Shape,
} from './shape-rules.ts'

/** What to do in place of changing a field, as the end of a sentence. */
export type EchoRemedy = (path: string) => string | undefined

/**
 * What a client sent back of the fields that it can only read (known to `echo`, not to `shape`) and that differs from
 * the resource as it is. Sending them unchanged is allowed, so that a resource may be read, edited and sent as a whole.
 */
export function echoProblems(
  shape: Shape,
  echo: Shape,
  body: unknown,
  current: unknown,
  remedyFor: EchoRemedy = () => undefined,
): FieldProblem[] {
  const problems: FieldProblem[] = []
  collectEchoProblems(shape as Rules, echo as Rules, body, current, '', false, problems)
  return problems.map(({ path, detail }) => {
    const remedy = remedyFor(path)
    return { path, detail: remedy === undefined ? detail : `${detail}; ${remedy}` }
  })
}

function collectEchoProblems(
  shape: Rules,
  echo: Rules,
  body: unknown,
  current: unknown,
  parent: string,
  secretAround: boolean,
  problems: FieldProblem[],
): void {
  if (!isObject(body)) return
  const secret = secretAround || isUnquoted(shape) || isUnquoted(echo)
  for (const key of Object.keys(body)) {
    const sent = body[key]
    const readable = propertyOf(echo, key)
    if (sent === undefined || readable === undefined) continue
    const path = fieldPath(parent, key)
    const is = isObject(current) ? own(current, key) : undefined
    const writable = propertyOf(shape, key)
    if (writable !== undefined) {
      collectEchoProblems(writable, readable, sent, is, path, secret, problems)
    } else if (typeof shape.additionalProperties !== 'object') {
      collectFixedFields(readable, sent, is, path, secret, problems)
    }
  }
}

/** Nothing of it can be written; each field that is another one is told by its own path. */
function collectFixedFields(
  readable: Rules | undefined,
  sent: unknown,
  is: unknown,
  path: string,
  secretAround: boolean,
  problems: FieldProblem[],
): void {
  if (repeats(sent, is)) return
  const secret = secretAround || (readable !== undefined && isUnquoted(readable))
  if (readable?.properties && isObject(sent) && isObject(is)) {
    for (const key of Object.keys(sent)) {
      collectFixedFields(propertyOf(readable, key), sent[key], own(is, key), fieldPath(path, key), secret, problems)
    }
    return
  }
  const told = readable && isScalar(is) && !secret && !holdsUnquoted(readable) ? ` (it is ${quote(is)})` : ''
  problems.push({ path, detail: `${path} cannot be ${is === undefined ? 'set' : 'changed'}${told}` })
}

/** Whether a value only says what is there already; of an object, part of it may be said. */
function repeats(sent: unknown, is: unknown): boolean {
  if (isObject(sent) && isObject(is)) return Object.keys(sent).every((key) => repeats(sent[key], own(is, key)))
  return fingerprint(sent) === fingerprint(is ?? null)
}
