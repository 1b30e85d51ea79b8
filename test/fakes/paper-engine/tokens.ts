// ClickHouse SQL tokenizer, for the paper engine and for tests that inspect statements. Texts are byte strings: one character is
// one byte.

export interface Token {
  kind: 'word' | 'name' | 'text' | 'number' | 'sign' | 'end'
  /** Without quotes and escapes. */
  value: string
  begin: number
  end: number
}

export class SqlError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'SqlError'
    this.code = code
  }
}

const space = /(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/y
const word = /[A-Za-z_][\w$]*/y
const number = /(?:0x[\da-f]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)/iy
const sign = /<=>|<=|>=|!=|<>|==|\|\||->|::|[-+*/%(),.;=<>[\]{}?:|@$^~&!]/y

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v', '0': '\0' }

/** Tokenizes lazily: data after the FORMAT of an insert is not SQL and is never tokenized. */
export class Tokens {
  readonly text: string
  #at = 0
  #next: Token | undefined

  constructor(text: string) {
    this.text = text
  }

  peek(): Token {
    this.#next ??= this.#read()
    return this.#next
  }

  take(): Token {
    const token = this.peek()
    this.#next = undefined
    return token
  }

  is(value: string): boolean {
    const token = this.peek()
    if (token.kind === 'word') return token.value.toUpperCase() === value
    return token.kind === 'sign' && token.value === value
  }

  /** Consumes all of these values, or none. */
  takeIf(...values: string[]): boolean {
    const [at, next] = [this.#at, this.#next]
    for (const value of values) {
      if (!this.is(value)) {
        this.#at = at
        this.#next = next
        return false
      }
      this.take()
    }
    return true
  }

  must(...values: string[]): void {
    if (!this.takeIf(...values)) throw this.unexpected(values.join(' '))
  }

  unexpected(wanted: string): SqlError {
    const { begin, value } = this.peek()
    return new SqlError(62, `Syntax error: failed at position ${begin + 1} (${value}): expected ${wanted}`)
  }

  takeName(): string {
    const token = this.take()
    if (token.kind !== 'word' && token.kind !== 'name') {
      throw new SqlError(62, `Syntax error: failed at position ${token.begin + 1}: expected a name`)
    }
    return token.value
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    return pattern.exec(this.text)?.[0]
  }

  #read(): Token {
    this.#at += this.#match(space)?.length ?? 0
    const begin = this.#at
    const first = this.text[begin]
    if (first === undefined) return { kind: 'end', value: '', begin, end: begin }
    if (first === "'" || first === '`' || first === '"') return this.#quoted(first)
    for (const [kind, pattern] of [
      ['word', word],
      ['number', number],
      ['sign', sign],
    ] as const) {
      const value = this.#match(pattern)
      if (value === undefined) continue
      this.#at += value.length
      return { kind, value, begin, end: this.#at }
    }
    throw new SqlError(62, `Syntax error: unrecognized token at position ${begin + 1}`)
  }

  #quoted(quote: string): Token {
    const begin = this.#at
    let value = ''
    for (let at = begin + 1; at < this.text.length; at++) {
      const character = this.text[at]!
      if (character === '\\') {
        const escaped = this.text[++at] ?? ''
        if (escaped === 'x') {
          value += String.fromCharCode(Number.parseInt(this.text.slice(at + 1, at + 3), 16))
          at += 2
        } else value += escapes[escaped] ?? escaped
      } else if (character !== quote) value += character
      else if (this.text[at + 1] === quote) value += this.text[++at]
      else {
        this.#at = at + 1
        return { kind: quote === "'" ? 'text' : 'name', value, begin, end: this.#at }
      }
    }
    throw new SqlError(62, `Syntax error: a quote at position ${begin + 1} does not end`)
  }
}
