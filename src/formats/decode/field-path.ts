// The value at a dotted path: a field that has the whole path as its name wins, then the shortest name that leads to one. A probe
// and a running pipe must find the same.

/** `memberOf` gives what a holder has under a name; undefined when it holds nothing, or not that. */
export function findByPath<Value>(
  holder: Value,
  path: string,
  memberOf: (holder: Value, name: string) => Value | undefined,
): Value | undefined {
  const whole = memberOf(holder, path)
  if (whole !== undefined) return whole
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const inner = memberOf(holder, path.slice(0, dot))
    const found = inner === undefined ? undefined : findByPath(inner, path.slice(dot + 1), memberOf)
    if (found !== undefined) return found
  }
  return undefined
}

/** In a row that was decoded. */
export function findInRow(row: unknown, path: string): unknown {
  return findByPath<unknown>(row, path, memberOf)
}

function memberOf(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || Array.isArray(holder)) return undefined
  return Object.hasOwn(holder, name) ? (holder as Record<string, unknown>)[name] : undefined
}
