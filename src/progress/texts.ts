// Encodes names from a source, such as object keys, for the database, which cannot store NUL and lone surrogates.

const maxTextLength = 1_000

/** For people: replaces characters that cannot be stored, and cuts long texts. */
export function storableText(text: string): string {
  return text.slice(0, maxTextLength).replaceAll('\0', '\ufffd').toWellFormed()
}

/** Reversed by `fromKept`. Most texts are stored unchanged. */
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
