// Quotes names and texts for statements: whatever they contain, each is one token.

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

export function quoteName(name: string): string {
  return quoted(name, '`')
}

export function quoteText(text: string): string {
  return quoted(text, "'")
}

function quoted(text: string, quote: string): string {
  let inner = ''
  for (const character of text) inner += character === quote ? `\\${quote}` : (escapes[character] ?? character)
  return `${quote}${inner}${quote}`
}
