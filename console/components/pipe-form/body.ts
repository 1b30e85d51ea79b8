// Builds the body that creates a pipe, or the merge patch that changes one, from the form.
import type { PipeCreate, PipePatch } from '../../../src/client/shapes.ts'
import { rulesOf } from '../pipe-fields.ts'
import type { FormField } from './form-field.ts'
import { shownFields } from './form-fields.ts'
import {
  authenticationOf,
  fieldValue,
  isEmpty,
  isSecretGroup,
  type PipeDraft,
  presentValue,
  type Value,
} from './pipe-draft.ts'

type Body = Record<string, unknown>

/** Empty fields, defaults and fields that do not apply are omitted. */
export function createBody(draft: PipeDraft): PipeCreate {
  const body: Body = { name: '', source: {}, destination: {} }
  for (const field of shownFields(draft)) {
    const value = bodyValue(field, draft, fieldValue(draft, field.pointer))
    const { required, default: standard } = rulesOf(field.pointer)
    const isOmitted = isEmpty(value) || value === null || value === (field.omitted ?? (required ? undefined : standard))
    if (!isOmitted) setAt(body, field.pointer, value)
  }
  return body as unknown as PipeCreate
}

/** The source with the secrets of the chosen authentication. */
export function sourceOf(draft: PipeDraft): Omit<PipeCreate['source'], 'validateSamples'> {
  const { validateSamples: _, ...source } = createBody(draft).source
  return source
}

/** Changes to the pipe, if any: fields that were touched and differ. */
export function patchOf(draft: PipeDraft): PipePatch | undefined {
  const patch: Body = {}
  for (const field of shownFields(draft)) {
    if (!(field.pointer in draft.values)) continue
    const value = changedValue(field, draft)
    if (value !== undefined) setAt(patch, field.pointer, value)
  }
  keepAuthentication(patch, draft)
  return isEmpty(patch) ? undefined : (patch as PipePatch)
}

/** Undefined: no change. Null clears a field or resets it. */
function changedValue(field: FormField, draft: PipeDraft): unknown {
  const value = bodyValue(field, draft, draft.values[field.pointer])
  if (field.input === 'forget') return value === null ? null : undefined
  const isCleared = value === null || isEmpty(value)
  if (field.isSecret) return isCleared ? undefined : value
  const { update, default: standard } = rulesOf(field.pointer)
  const before = bodyValue(field, draft, presentValue(draft, field.pointer))
  const after = isCleared ? standard : value
  if (!differs(isEmpty(after) ? undefined : after, isEmpty(before) ? undefined : before)) return undefined
  if (isCleared && update === 'nullable') return null
  return value === null ? undefined : value
}

/** A credential of another kind, sent alone, would change the authentication, so the shown one is sent with it. */
function keepAuthentication(patch: Body, draft: PipeDraft): void {
  const source = (patch.source as Record<string, Body> | undefined)?.[draft.kind!]
  if (!source || 'authentication' in source || draft.kind === 'postgres') return
  const authentication = authenticationOf(draft)
  const brought = [
    typeof source.iamRole === 'string' && 'IAM_ROLE',
    typeof source.connectionString === 'string' && 'CONNECTION_STRING',
  ]
  if (brought.some((one) => one !== false && one !== authentication)) {
    source.authentication = authentication === 'none' ? null : authentication
  }
}

/** Adds the request to check the source before the change. */
export function withCheck(patch: PipePatch): PipePatch {
  return { ...patch, source: { ...patch.source, validateSamples: true } }
}

export function differs(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}

function bodyValue({ input, isExact, toBody }: FormField, draft: PipeDraft, value: Value | undefined): unknown {
  const trimmed = typeof value === 'string' && input === 'text' && !isExact ? value.trim() : value
  return toBody ? toBody(trimmed, draft) : trimmed
}

function setAt(body: Body, pointer: string, value: unknown): void {
  const names = pointer.split('/')
  const last = names.pop()!
  let part = body
  for (const name of names) {
    part[name] ??= {}
    part = part[name] as Body
  }
  part[last] = value
}

const dots = '••••••••'

/** Replaces secrets by a mask, for display. */
export function withoutSecrets<Shown>(value: Shown, mask = dots): Shown {
  const shown = (part: unknown, isSecret: boolean): unknown => {
    if (typeof part === 'string') return isSecret ? mask : part
    if (Array.isArray(part)) return part.map((item) => shown(item, isSecret))
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, member]) => [name, shown(member, isSecret || isSecretGroup(name))]),
    )
  }
  return shown(value, false) as Shown
}
