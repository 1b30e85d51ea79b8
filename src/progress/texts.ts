// Names in a source, such as the keys of objects, may hold what our database cannot: NUL, and halves of surrogate pairs. Whatever
// is kept of such a name goes through here.

const longestTold = 1_000

/** For people: what cannot be kept is replaced, and what is too long is cut. */
export function tellable(text: string): string {
  return text.slice(0, longestTold).replaceAll('\0', '\ufffd').toWellFormed()
}

/** For `fromKept`, which gives back exactly the same. Nearly always it is kept as it is. */
export function toKept(text: string): string {
  const isKeptAsIs = text.isWellFormed() && !text.includes('\0') && !isJson(text)
  return isKeptAsIs ? text : JSON.stringify(text)
}

export function fromKept(kept: string): string {
  return isJson(kept) ? (JSON.parse(kept) as string) : kept
}

function isJson(kept: string): boolean {
  return kept.startsWith('"')
}
