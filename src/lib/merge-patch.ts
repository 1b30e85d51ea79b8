// Merge patch (RFC 7396): absent fields stay, null removes, objects merge, everything else replaces.
import { isDeepStrictEqual } from 'node:util'
import { Problem } from './problem.ts'

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A new object; neither argument is changed. The keys of `current` keep their order. */
export function mergePatch<Target extends object>(current: Target, patch: object): Target {
  const merged = { ...current } as Record<string, unknown>
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else if (value === undefined) continue
    else if (isObject(value)) merged[key] = mergePatch(isObject(merged[key]) ? merged[key] : {}, value)
    else merged[key] = value
  }
  return merged as Target
}

/** Whether a patch holds any value at all: `{}` and `{"source": {}}` do not; `[]`, `null` and `false` are values. */
export function hasValue(patch: object): boolean {
  return Object.values(patch).some((value) => value !== undefined && (!isObject(value) || hasValue(value)))
}

export function requireSomething(patch: object): void {
  if (hasValue(patch)) return
  throw new Problem('nothing_to_update', 'the body has nothing to update; send at least one field that can be updated')
}

export interface Difference {
  field: string
  from?: unknown
  to?: unknown
}

/** What differs, leaf by leaf; lists are compared as a whole. */
export function differences(from: object, to: object, path = ''): Difference[] {
  const found: Difference[] = []
  const before = from as Record<string, unknown>
  const after = to as Record<string, unknown>
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const field = path ? `${path}.${key}` : key
    const [old, now] = [before[key], after[key]]
    if (isObject(old) && isObject(now)) found.push(...differences(old, now, field))
    else if (!isDeepStrictEqual(old, now)) {
      found.push({ field, ...(old === undefined ? {} : { from: old }), ...(now === undefined ? {} : { to: now }) })
    }
  }
  return found
}
