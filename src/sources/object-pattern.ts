// Which objects a source takes: a key, or a pattern of keys. `?` is one character and `*` any number of them, neither a `/`;
// `**` is any number of any characters; `{a,b}` is one of several patterns; `{1..12}` is a number in a range, written with as
// many digits as `{01..12}` shows. Everything else stands for itself, also a brace that is none of these. A pattern that is
// empty or ends with `/` takes everything beneath it, because no object that holds data is called that.
// Matching takes time in proportion to key and pattern, whatever they are: both come from users.

export interface ObjectPattern {
  /** As a user reads it. */
  text: string
  /** What every key begins with. */
  prefix: string
  /** It is the key of one object. */
  isLiteral: boolean
  matches(key: string): boolean
}

export class PatternTooLarge extends Error {
  constructor() {
    super(`a pattern has at most ${maxWildcards} wildcards and alternatives`)
    this.name = 'PatternTooLarge'
  }
}

export const maxWildcards = 200

type Token =
  | { kind: 'literal'; text: string }
  | { kind: 'one' }
  | { kind: 'some' }
  | { kind: 'any' }
  | { kind: 'alternatives'; alternatives: Token[][] }
  | { kind: 'range'; low: bigint; high: bigint; shortest: number; longest: number; isPadded: boolean }

/** A character of the pattern; one that was written encoded stands for itself. */
interface Character {
  text: string
  isPlain: boolean
}

/** Throws PatternTooLarge. In a URL, `%2A` is a star that stands for itself. */
export function parsePattern(text: string, { isUrl }: { isUrl: boolean }): ObjectPattern {
  const characters = isUrl ? decodedCharacters(text) : plainCharacters(text)
  const shown = characters.map((character) => character.text).join('')
  const tokens = tokensOf(characters)
  if (shown === '' || shown.endsWith('/')) tokens.push({ kind: 'any' })
  if (sizeOf(tokens) > maxWildcards) throw new PatternTooLarge()
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
      // Not UTF-8: whoever wrote it means the percent signs.
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

/** The token of the braces that open at `start`, and where they close; undefined when they are none. */
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
  const longest = Math.max(low.length, high.length)
  return { kind: 'range', low: BigInt(low), high: BigInt(high), shortest: low.length, longest, isPadded }
}

function sizeOf(tokens: Token[]): number {
  const sizes = tokens.map((token) => {
    if (token.kind === 'literal') return 0
    if (token.kind !== 'alternatives') return 1
    return token.alternatives.reduce((sum, alternative) => sum + 1 + sizeOf(alternative), 0)
  })
  return sizes.reduce((sum, size) => sum + size, 0)
}

function doesMatch(tokens: Token[], key: string): boolean {
  return endsOf(tokens, key, new Set([0])).has(key.length)
}

/** Where in the key the tokens can end when they begin at one of `starts`. A set: ways that meet are walked once from there. */
function endsOf(tokens: Token[], key: string, starts: Set<number>): Set<number> {
  let positions = starts
  for (const token of tokens) {
    if (positions.size === 0) break
    positions = stepFrom(token, key, positions)
  }
  return positions
}

function stepFrom(token: Token, key: string, positions: Set<number>): Set<number> {
  const ends = new Set<number>()
  switch (token.kind) {
    case 'literal':
      for (const at of positions) if (key.startsWith(token.text, at)) ends.add(at + token.text.length)
      return ends
    case 'one':
      for (const at of positions) if (at < key.length && key[at] !== '/') ends.add(at + characterLength(key, at))
      return ends
    case 'some':
      for (const start of positions) {
        // From an end that is known already, everything behind it is known too.
        for (let at = start; !ends.has(at); at += characterLength(key, at)) {
          ends.add(at)
          if (at >= key.length || key[at] === '/') break
        }
      }
      return ends
    case 'any':
      for (let at = Math.min(...positions); at < key.length; at += characterLength(key, at)) ends.add(at)
      return ends.add(key.length)
    case 'alternatives':
      for (const alternative of token.alternatives) for (const at of endsOf(alternative, key, positions)) ends.add(at)
      return ends
    case 'range':
      for (const at of positions) for (const length of numberLengths(token, key, at)) ends.add(at + length)
      return ends
  }
}

/** 2 for a character beyond the first plane, which is one to whoever wrote the pattern. */
function characterLength(key: string, at: number): number {
  return (key.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}

function numberLengths(range: Extract<Token, { kind: 'range' }>, key: string, at: number): number[] {
  const { low, high, shortest, longest, isPadded } = range
  const digits = /^\d*/.exec(key.slice(at, at + longest))![0]
  const lengths: number[] = []
  for (let length = isPadded ? longest : shortest; length <= digits.length; length++) {
    const text = digits.slice(0, length)
    if (!isPadded && length > 1 && text.startsWith('0')) continue
    if (BigInt(text) >= low && BigInt(text) <= high) lengths.push(length)
  }
  return lengths
}
