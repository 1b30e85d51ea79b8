// Differences between two values, by field.

export interface FieldChange {
  field: string
  from?: unknown
  to?: unknown
}

/** Differences by path. Lists are compared as a whole. */
export function changesBetween(before: unknown, after: unknown, path = ''): FieldChange[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap((name) => changesBetween(before[name], after[name], path ? `${path}.${name}` : name))
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [
    { field: path, ...(before === undefined ? {} : { from: before }), ...(after === undefined ? {} : { to: after }) },
  ]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
