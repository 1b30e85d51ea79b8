// Parts of the path of a URL, found without an expression: one that looks for slashes at the end looks again from every slash before it.

export function withoutTrailingSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** Empty for the root. */
export function lastSegment(path: string): string {
  const trimmed = withoutTrailingSlashes(path)
  return trimmed.slice(trimmed.lastIndexOf('/') + 1)
}
