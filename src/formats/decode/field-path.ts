// Finds the value at a dotted path. A field with the whole path as its name has priority, then the shortest first name that leads
// to a value. A probe and a running pipe must return the same.

/** `memberOf` returns the member with a name; undefined when there is no such member. */
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

/** For a decoded row. */
export function findInRow(row: unknown, path: string): unknown {
  return findByPath<unknown>(row, path, memberOf)
}

function memberOf(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || Array.isArray(holder)) return undefined
  return Object.hasOwn(holder, name) ? (holder as Record<string, unknown>)[name] : undefined
}
