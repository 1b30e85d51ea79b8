// Rewrites API errors of a field for the form, which has labels instead of paths.

const wordings: [pattern: RegExp, words: string][] = [
  [/^(?:newPassword|password) must have 12 to 256 characters/i, 'Use at least 12 characters'],
  [/^ipAccessList\[\d+\]\.source must be/, 'Enter an address or range, e.g. 10.0.0.0/8'],
]

/** `#/ipAccessList/0/source` → `ipAccessList[0].source`, the notation in error messages. */
function pathOf(pointer: string): string {
  const parts = pointer.replace(/^#?\//, '').split('/')
  return parts.reduce(
    (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
    '',
  )
}

export function fieldWords(pointer: string, detail: string): string {
  const known = wordings.find(([pattern]) => pattern.test(detail))
  if (known) return known[1]
  const path = `${pathOf(pointer)} `
  if (!detail.startsWith(path)) return withFormTerms(detail)
  const rest = detail.slice(path.length)
  return withFormTerms(rest.charAt(0).toUpperCase() + rest.slice(1))
}

/** Replaces API field names in a sentence by form labels. */
export function withFormTerms(text: string): string {
  return text.replace('choose columns with useCustomSortingKey and sortingKeys', 'turn on "Custom sorting key"')
}
