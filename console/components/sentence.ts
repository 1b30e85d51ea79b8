/** What the API says as the middle of a sentence, as a sentence of its own. A host or a name at its beginning stays as it is. */
export function sentence(text: string): string {
  const isWord = /^[a-z]+[ ,]/.test(text)
  const capital = isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}
