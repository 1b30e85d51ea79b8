// Parts of the path of a URL, without regular expressions: one for trailing slashes would rescan from every slash.

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
