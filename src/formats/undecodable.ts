// Error for bytes that do not match their format.

/** The reason is the middle of a sentence, and may quote a few characters of the data. */
export class Undecodable extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.name = 'Undecodable'
    this.reason = reason
  }
}

/** The start of a text, quoted for a message: truncated, with invisible characters escaped. */
export function excerptOf(text: string, maxCharacters = 20): string {
  const characters = [...text.slice(0, maxCharacters * 2)].slice(0, maxCharacters).join('')
  const shown = characters.replaceAll(/["\\\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`
    return `\\u{${character.codePointAt(0)!.toString(16)}}`
  })
  return `"${shown}${characters.length < text.length ? '…' : ''}"`
}
