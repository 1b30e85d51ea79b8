// Compares read-only fields that a client sends back with the current resource.

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

/** What to do instead of changing a field, as the end of a sentence. */
export type EchoRemedy = (path: string) => string | undefined

/**
 * Problems of read-only fields (known to `echo`, not to `shape`) that differ from the current resource. Sending them unchanged is
 * allowed, so that a client can read, edit and send a complete resource.
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

/** Reports each changed field of a read-only value with its own path. */
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
  const currentValue = readable && isScalar(is) && !secret && !holdsUnquoted(readable) ? ` (it is ${quote(is)})` : ''
  problems.push({ path, detail: `${path} cannot be ${is === undefined ? 'set' : 'changed'}${currentValue}` })
}

/** Whether a value only repeats the current one; an object may repeat a part of it. */
function repeats(sent: unknown, is: unknown): boolean {
  if (isObject(sent) && isObject(is)) return Object.keys(sent).every((key) => repeats(sent[key], own(is, key)))
  return fingerprint(sent) === fingerprint(is ?? null)
}
