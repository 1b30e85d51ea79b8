/** Capitalizes a message of the API. A host or a name at its beginning stays unchanged. */
export function sentence(text: string): string {
  const isWord = /^[a-z]+[ ,]/.test(text)
  const capital = isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}
