// Pattern that selects objects by key. `?` is one character and `*` any number of them, neither a `/`;
// `**` is any number of any characters; `{a,b}` is one of several patterns; `{1..12}` is a number in a range, written with as
// many digits as `{01..12}` shows. All other characters are literal, also unmatched braces. A pattern that is empty or ends with
// `/` matches all keys with that prefix. Matching takes time in proportion to key and pattern, which both come from users and
// have limits.

export interface ObjectPattern {
  /** Decoded, for messages. */
  text: string
  /** Prefix of all keys that match. */
  prefix: string
  /** It has no wildcards: it matches one key. */
  isLiteral: boolean
  matches(key: string): boolean
}

export class PatternTooLarge extends Error {
  constructor() {
    super(`a pattern has at most ${maxWildcards} wildcards and alternatives, and ${maxRanges} ranges of them`)
    this.name = 'PatternTooLarge'
  }
}

export const maxWildcards = 200
export const maxRanges = 10
/** Limit of all stores; some count characters, others bytes. */
const maxKeyLength = 1024

type Token =
  | { kind: 'literal'; text: string }
  | { kind: 'one' }
  | { kind: 'some' }
  | { kind: 'any' }
  | { kind: 'alternatives'; alternatives: Token[][] }
  /** Digits, of the same length if they are padded, otherwise without zeros before them. */
  | { kind: 'range'; low: string; high: string; isPadded: boolean }

/** A character of the pattern; a percent-encoded one is literal. */
interface Character {
  text: string
  isPlain: boolean
}

/** Throws PatternTooLarge. In a URL, `%2A` is a literal star. */
export function parsePattern(text: string, { isUrl }: { isUrl: boolean }): ObjectPattern {
  const characters = isUrl ? decodedCharacters(text) : plainCharacters(text)
  const shown = characters.map((character) => character.text).join('')
  const tokens = tokensOf(characters)
  if (shown === '' || shown.endsWith('/')) tokens.push({ kind: 'any' })
  if (sizeOf(tokens) > maxWildcards || rangesIn(tokens) > maxRanges) throw new PatternTooLarge()
  const [first] = tokens
  const prefix = first?.kind === 'literal' ? first.text : ''
  const isLiteral = first?.kind === 'literal' && tokens.length === 1
  return { text: shown, prefix, isLiteral, matches: (key) => doesMatch(tokens, key) }
}

function plainCharacters(text: string): Character[] {
  return Array.from(text, (character) => ({ text: character, isPlain: true }))
}

function decodedCharacters(text: string): Character[] {
  return text.split(/((?:%[0-9a-f]{2})+)/i).flatMap((part, index) => {
    if (index % 2 === 0) return plainCharacters(part)
    try {
      return Array.from(decodeURIComponent(part), (character) => ({ text: character, isPlain: false }))
    } catch {
      // Not UTF-8: the percent signs are literal.
      return plainCharacters(part)
    }
  })
}

function tokensOf(characters: Character[]): Token[] {
  const tokens: Token[] = []
  const addLiteral = (text: string): void => {
    const last = tokens.at(-1)
    if (last?.kind === 'literal') last.text += text
    else tokens.push({ kind: 'literal', text })
  }
  const isAt = (index: number, text: string): boolean =>
    characters[index]?.isPlain === true && characters[index].text === text
  for (let index = 0; index < characters.length; index++) {
    if (isAt(index, '?')) tokens.push({ kind: 'one' })
    else if (isAt(index, '*')) {
      let end = index
      while (isAt(end + 1, '*')) end++
      tokens.push({ kind: end === index ? 'some' : 'any' })
      index = end
    } else {
      const braces = isAt(index, '{') ? bracesAt(characters, index) : undefined
      if (braces) tokens.push(braces.token)
      else addLiteral(characters[index]!.text)
      index = braces?.end ?? index
    }
  }
  return tokens
}

/** The token of the braces that open at `start`, and where they close; undefined when the braces are literal. */
function bracesAt(characters: Character[], start: number): { token: Token; end: number } | undefined {
  const parts: Character[][] = [[]]
  let depth = 0
  for (let index = start + 1; index < characters.length; index++) {
    const character = characters[index]!
    const mark = character.isPlain ? character.text : ''
    if (mark === '}' && depth === 0) {
      const token = parts.length > 1 ? alternativesOf(parts) : rangeOf(parts[0]!)
      return token && { token, end: index }
    }
    if (mark === '{') depth++
    if (mark === '}') depth--
    if (mark === ',' && depth === 0) parts.push([])
    else parts.at(-1)!.push(character)
  }
  return undefined
}

function alternativesOf(parts: Character[][]): Token {
  return { kind: 'alternatives', alternatives: parts.map(tokensOf) }
}

function rangeOf(characters: Character[]): Token | undefined {
  const text = characters.map((character) => character.text).join('')
  const [, from, to] = /^(\d{1,30})\.\.(\d{1,30})$/.exec(text) ?? []
  if (from === undefined || to === undefined) return undefined
  const [low, high] = BigInt(from) <= BigInt(to) ? [from, to] : [to, from]
  const isPadded = [low, high].some((end) => end.length > 1 && end.startsWith('0'))
  const width = isPadded ? Math.max(low.length, high.length) : 0
  return { kind: 'range', low: low.padStart(width, '0'), high: high.padStart(width, '0'), isPadded }
}

function sizeOf(tokens: Token[]): number {
  const sizes = tokens.map((token) => {
    if (token.kind === 'literal') return 0
    if (token.kind !== 'alternatives') return 1
    return token.alternatives.reduce((sum, alternative) => sum + 1 + sizeOf(alternative), 0)
  })
  return sizes.reduce((sum, size) => sum + size, 0)
}

function rangesIn(tokens: Token[]): number {
  const counts = tokens.map((token) => {
    if (token.kind !== 'alternatives') return token.kind === 'range' ? 1 : 0
    return token.alternatives.reduce((sum, alternative) => sum + rangesIn(alternative), 0)
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

/** By index in the key, up to its length: 1 where a part of the pattern can end. Paths that reach the same index are merged. */
type EndFlags = Uint8Array

function doesMatch(tokens: Token[], key: string): boolean {
  if (key.length > maxKeyLength) return false
  const starts = new Uint8Array(key.length + 1)
  starts[0] = 1
  return endsOf(tokens, key, starts)[key.length] === 1
}

/** Where in the key the tokens can end when they begin at one of `starts`. */
function endsOf(tokens: Token[], key: string, starts: EndFlags): EndFlags {
  let ends = starts
  for (const token of tokens) {
    if (!ends.includes(1)) break
    ends = stepFrom(token, key, ends)
  }
  return ends
}

function stepFrom(token: Token, key: string, starts: EndFlags): EndFlags {
  const ends = new Uint8Array(starts.length)
  if (token.kind === 'alternatives') {
    for (const alternative of token.alternatives) {
      const found = endsOf(alternative, key, starts)
      for (let at = 0; at < found.length; at++) if (found[at]) ends[at] = 1
    }
    return ends
  }
  for (let start = 0; start < starts.length; start++) {
    if (!starts[start]) continue
    markEnds(token, key, start, ends)
    // Every index after the first start is already marked.
    if (token.kind === 'any') break
  }
  return ends
}

function markEnds(token: Exclude<Token, { kind: 'alternatives' }>, key: string, start: number, ends: EndFlags): void {
  switch (token.kind) {
    case 'literal':
      if (key.startsWith(token.text, start)) ends[start + token.text.length] = 1
      return
    case 'one':
      if (start < key.length && key[start] !== '/') ends[start + characterLength(key, start)] = 1
      return
    case 'some':
    case 'any':
      // If an index is already marked, all later ones are too.
      for (let at = start; at <= key.length && !ends[at]; at += characterLength(key, at)) {
        ends[at] = 1
        if (token.kind === 'some' && key[at] === '/') return
      }
      return
    case 'range':
      markNumbers(token, key, start, ends)
  }
}

/** 2 for a surrogate pair, which is one character in a pattern. */
function characterLength(key: string, at: number): number {
  return (key.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}

function markNumbers(range: Extract<Token, { kind: 'range' }>, key: string, start: number, ends: EndFlags): void {
  const { low, high, isPadded } = range
  for (let length = 1; length <= high.length; length++) {
    const digit = key.charCodeAt(start + length - 1)
    // After the end of the key, `digit` is NaN.
    if (!(digit >= 0x30 && digit <= 0x39)) return
    if (length < low.length) continue
    if (!isPadded && length > 1 && key[start] === '0') return
    // Numbers of the same length compare like text.
    const isTooLow = length === low.length && key.slice(start, start + length) < low
    const isTooHigh = length === high.length && key.slice(start, start + length) > high
    if (!isTooLow && !isTooHigh) ends[start + length] = 1
  }
}
