// Parses a request body as JSON (RFC 8259) and rejects what JSON.parse accepts silently: duplicate keys, lost digits, `__proto__`,
// characters that not every database can store. Returns what JSON.parse would return. Messages never quote values or malformed text,
// which may hold secrets; they name only keys.

import { Problem } from './problem.ts'
import { fieldPath } from './shape-rules.ts'

const deepest = 32

const quoteMark = 0x22
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openList = 0x5b
const backslash = 0x5c
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

const unescaped: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

export function parseStrictJson(text: string): unknown {
  return new Parser(text).parse()
}

class Parser {
  readonly text: string
  at = 0
  /** Keys and indexes that lead to the value being read; a key is added after its colon, when it is certainly a key. */
  readonly trail: (string | number)[] = []

  constructor(text: string) {
    this.text = text
  }

  parse(): unknown {
    this.skipSpace()
    if (this.at >= this.text.length) throw refusal('the body is empty; send a JSON object')
    const value = this.value(0)
    this.skipSpace()
    if (this.at < this.text.length) throw this.malformed('expected nothing after the value')
    return value
  }

  value(depth: number): unknown {
    const { text } = this
    const code = text.charCodeAt(this.at)
    if (code === quoteMark) return this.string(false)
    if (code === openObject) return this.object(depth + 1)
    if (code === openList) return this.list(depth + 1)
    if (code === minus || (code >= zero && code <= nine)) return this.number()
    if (text.startsWith('true', this.at)) {
      this.at += 4
      return true
    }
    if (text.startsWith('false', this.at)) {
      this.at += 5
      return false
    }
    if (text.startsWith('null', this.at)) {
      this.at += 4
      return null
    }
    throw this.malformed('expected a value')
  }

  object(depth: number): Record<string, unknown> {
    const { text, trail } = this
    this.guardDepth(depth)
    const object: Record<string, unknown> = {}
    this.at++
    this.skipSpace()
    if (text.charCodeAt(this.at) === closeObject) {
      this.at++
      return object
    }
    let expected = 'expected a key in double quotes or }'
    for (;;) {
      if (text.charCodeAt(this.at) !== quoteMark) throw this.malformed(expected)
      const keyAt = this.at
      const key = this.string(true)
      this.skipSpace()
      if (text.charCodeAt(this.at) !== colon) throw this.malformed('expected a colon')
      this.at++
      // Assigning this key would replace the prototype instead of adding a property.
      if (key === '__proto__') throw refusal(`the key __proto__ is not allowed (${this.position(keyAt)})`)
      trail.push(key)
      if (Object.hasOwn(object, key)) throw refusal(`${this.path()} is sent twice (${this.position(keyAt)})`)
      this.skipSpace()
      object[key] = this.value(depth)
      trail.pop()
      this.skipSpace()
      const code = text.charCodeAt(this.at)
      if (code === comma) {
        this.at++
        this.skipSpace()
        expected = 'expected a key in double quotes'
      } else if (code === closeObject) {
        this.at++
        return object
      } else throw this.malformed('expected a comma or }')
    }
  }

  list(depth: number): unknown[] {
    const { text, trail } = this
    this.guardDepth(depth)
    const list: unknown[] = []
    this.at++
    this.skipSpace()
    if (text.charCodeAt(this.at) === closeList) {
      this.at++
      return list
    }
    for (;;) {
      trail.push(list.length)
      list.push(this.value(depth))
      trail.pop()
      this.skipSpace()
      const code = text.charCodeAt(this.at)
      if (code === comma) {
        this.at++
        this.skipSpace()
      } else if (code === closeList) {
        this.at++
        return list
      } else throw this.malformed('expected a comma or ]')
    }
  }

  string(isKey: boolean): string {
    const { text } = this
    const start = this.at
    let from = start + 1
    let at = from
    let decoded = ''
    let surrogates = false
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === quoteMark) break
      if (code === backslash) {
        decoded += text.slice(from, at)
        const letter = text.charAt(at + 1)
        if (letter === 'u') {
          const unit = this.hexadecimal(at + 2)
          if (unit === 0) throw this.badCharacter(isKey, start, 'the character U+0000')
          surrogates ||= isSurrogate(unit)
          decoded += String.fromCharCode(unit)
          at += 6
        } else {
          const character = unescaped[letter]
          if (character === undefined) throw this.malformed('expected an escape that JSON knows, such as \\n', at)
          decoded += character
          at += 2
        }
        from = at
        continue
      }
      // Negated, so that NaN (past the end) gets here too.
      if (!(code >= 0x20)) {
        if (at >= text.length) throw this.malformed('expected the closing quote of a string', at)
        if (code === 0) throw this.badCharacter(isKey, start, 'the character U+0000')
        throw this.malformed('expected control characters in a string to be escaped', at)
      }
      surrogates ||= isSurrogate(code)
      at++
    }
    decoded = from === start + 1 ? text.slice(from, at) : decoded + text.slice(from, at)
    if (surrogates && !decoded.isWellFormed())
      throw this.badCharacter(isKey, start, 'half a character (a lone surrogate)')
    this.at = at + 1
    return decoded
  }

  hexadecimal(at: number): number {
    let unit = 0
    for (let index = at; index < at + 4; index++) {
      const code = this.text.charCodeAt(index)
      const lower = code | 0x20
      if (code >= zero && code <= nine) unit = unit * 16 + code - zero
      else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x61 + 10
      else throw this.malformed('expected four hexadecimal digits', index)
    }
    return unit
  }

  number(): number {
    const { text } = this
    const start = this.at
    let integer = true
    if (text.charCodeAt(this.at) === minus) this.at++
    if (text.charCodeAt(this.at) === zero) {
      this.at++
      if (isDigit(text.charCodeAt(this.at))) throw this.malformed('expected a number without leading zeros')
    } else this.digits()
    if (text.charCodeAt(this.at) === point) {
      integer = false
      this.at++
      this.digits()
    }
    const exponent = text.charAt(this.at)
    if (exponent === 'e' || exponent === 'E') {
      integer = false
      this.at++
      const sign = text.charAt(this.at)
      if (sign === '+' || sign === '-') this.at++
      this.digits()
    }
    const number = Number(text.slice(start, this.at))
    if (integer && !Number.isSafeInteger(number)) {
      const limit = Number.MAX_SAFE_INTEGER
      throw refusal(`${this.path()} is an integer beyond ${limit}, which would lose digits (${this.position(start)})`)
    }
    if (!Number.isFinite(number)) throw refusal(`${this.path()} is too large a number (${this.position(start)})`)
    return number
  }

  digits(): void {
    if (!isDigit(this.text.charCodeAt(this.at))) throw this.malformed('expected a digit')
    do this.at++
    while (isDigit(this.text.charCodeAt(this.at)))
  }

  skipSpace(): void {
    const { text } = this
    for (;;) {
      const code = text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.at++
    }
  }

  guardDepth(depth: number): void {
    if (depth > deepest) throw refusal(`the body is nested deeper than ${deepest} levels (${this.position(this.at)})`)
  }

  malformed(expected: string, at = this.at): Problem {
    const where = this.trail.length === 0 ? '' : ` (in ${this.path()})`
    const end = at >= this.text.length ? ', but the body ends' : ''
    return refusal(`the body is not valid JSON at ${this.position(at)}${where}: ${expected}${end}`)
  }

  badCharacter(isKey: boolean, at: number, what: string): Problem {
    const holder = isKey ? `a key in ${this.path()}` : this.path()
    return refusal(`${holder} contains ${what}, which is not allowed (${this.position(at)})`)
  }

  path(): string {
    return this.trail.reduce<string>(fieldPath, '') || 'the body'
  }

  position(at: number): string {
    let line = 1
    let lineStart = 0
    for (;;) {
      const newline = this.text.indexOf('\n', lineStart)
      if (newline === -1 || newline >= at)
        return `line ${line}, column ${Math.min(at, this.text.length) - lineStart + 1}`
      line++
      lineStart = newline + 1
    }
  }
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}

function refusal(sentence: string): Problem {
  return new Problem('invalid_json', sentence)
}
