// Tokenizer for types and expressions that users write. Statements are rebuilt from these tokens: user text never gets into a statement
// unchanged, and unknown tokens are rejected.

export interface GrammarToken {
  kind: 'word' | 'name' | 'text' | 'number' | 'sign' | 'end'
  /** Quoted names and texts without quotes and escapes. */
  value: string
}

/** The error in a text, as the end of a sentence. */
export class GrammarError extends Error {}

const pattern =
  /\s*(?:(?<word>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?(?![\w.]))|'(?<text>(?:[^'\\]|\\[\s\S]|'')*)'|`(?<backquoted>(?:[^`\\]|\\[\s\S]|``)*)`|"(?<quoted>(?:[^"\\]|\\[\s\S]|"")*)"|(?<sign>[(),=.+\-*/%]))/y

const escapes: Record<string, string> = { '0': '\0', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', a: '\x07', v: '\v' }

function tokensOf(text: string): GrammarToken[] {
  const tokens: GrammarToken[] = []
  const end = text.trimEnd().length
  pattern.lastIndex = 0
  while (pattern.lastIndex < end) {
    const groups = pattern.exec(text)?.groups
    if (!groups) throw new GrammarError('has something in it that is not understood')
    tokens.push(tokenOf(groups))
  }
  return tokens
}

function tokenOf({ word, number, text, backquoted, quoted, sign }: Record<string, string | undefined>): GrammarToken {
  if (word !== undefined) return { kind: 'word', value: word }
  if (number !== undefined) return { kind: 'number', value: number }
  if (text !== undefined) return { kind: 'text', value: unescaped(text, "'") }
  if (backquoted !== undefined) return { kind: 'name', value: unescaped(backquoted, '`') }
  if (quoted !== undefined) return { kind: 'name', value: unescaped(quoted, '"') }
  return { kind: 'sign', value: sign ?? '' }
}

function unescaped(text: string, quote: string): string {
  return text.replaceAll(
    /\\x([\da-fA-F]{2})|\\([\s\S])|(['"`])\3/g,
    (all, hex?: string, escaped?: string, twice?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
      if (escaped !== undefined) return escapes[escaped] ?? escaped
      return twice === quote ? quote : all
    },
  )
}

/** Reads tokens one by one. Nesting is limited, because the parsers are recursive. */
export class TokenReader {
  readonly #tokens: GrammarToken[]
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#tokens = tokensOf(text)
  }

  peek(ahead = 0): GrammarToken {
    return this.#tokens[this.#at + ahead] ?? { kind: 'end', value: '' }
  }

  take(): GrammarToken {
    const token = this.peek()
    this.#at++
    return token
  }

  isSign(sign: string, ahead = 0): boolean {
    const { kind, value } = this.peek(ahead)
    return kind === 'sign' && value === sign
  }

  takeSign(sign: string): boolean {
    const isThere = this.isSign(sign)
    if (isThere) this.#at++
    return isThere
  }

  mustSign(sign: string): void {
    if (!this.takeSign(sign)) throw new GrammarError(`lacks a "${sign}"`)
  }

  /** Whether the next token is this word, ignoring case. */
  isWord(word: string): boolean {
    const { kind, value } = this.peek()
    return kind === 'word' && value.toUpperCase() === word
  }

  mustEnd(): void {
    if (this.peek().kind !== 'end') throw new GrammarError('has more after its end')
  }

  nested<Result>(parse: () => Result): Result {
    if (++this.#depth > maxDepth) throw new GrammarError('is nested too deeply')
    const result = parse()
    this.#depth--
    return result
  }

  /** Items up to the closing bracket, which is consumed. */
  list<Item>(parse: () => Item): Item[] {
    if (this.takeSign(')')) return []
    const items = [parse()]
    while (this.takeSign(',')) items.push(parse())
    this.mustSign(')')
    return items
  }
}

const maxDepth = 32
