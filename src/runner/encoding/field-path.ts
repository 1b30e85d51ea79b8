// The value at a dotted path, as the fit of a sample finds it: a field that has the whole path as its name wins, then the
// shortest name that leads to one.

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
