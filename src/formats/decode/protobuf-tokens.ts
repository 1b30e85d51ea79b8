// Tokenizer for Protobuf schemas, without comments. It must agree with protobufjs on comments and strings: a difference could hide
// a part of the schema from the size limits.
import { SchemaFault } from './schema-fault.ts'

const token =
  /\/\/[^\n]*|\/\*\/|\/\*.*?\*\/|"[^"\\\n]*(?:\\[^\n\r\u2028\u2029][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^\n\r\u2028\u2029][^'\\\n]*)*'|[{}=;:[\],()<>'"]|\/\*?|[^\s{}=;:[\],()<>'"]+/gs

/** Undefined at the end of the text. Throws a SchemaFault. */
export type TakeToken = () => string | undefined

/** `onToken` is called for each token, including comments. */
export function takeTokens(text: string, onToken: () => void): TakeToken {
  const matches = text.matchAll(token)
  return () => {
    for (;;) {
      const part = matches.next().value?.[0]
      if (part === undefined) return undefined
      onToken()
      if (part.startsWith('//') || (part.startsWith('/*') && part !== '/*')) continue
      checkToken(part)
      return part
    }
  }
}

function checkToken(part: string): void {
  // These tokens occur only when a string or comment is not terminated.
  if (part === '"' || part === "'" || part === '/*') throw new SchemaFault('has a text or a comment that does not end')
  // The parser ignores this name, which would change the indexes of messages and lose values.
  if (part.includes('__proto__') && part.split('.').includes('__proto__')) {
    throw new SchemaFault('uses the name __proto__, which cannot be read')
  }
}

/** For any invalid schema. */
export const unreadable = (): SchemaFault =>
  new SchemaFault('is not a Protobuf schema that can be read, or contradicts itself')

/** Throws a SchemaFault at the end of the text. */
function expectToken(take: TakeToken): string {
  const part = take()
  if (part === undefined) throw unreadable()
  return part
}

/** Limit for a field with its options; ranges may have more. */
export const mostParts = 100

interface Statement {
  parts: string[]
  optionCount: number
  end: ';' | '{'
}

/** Reads a statement other than an option, with only those inline options that affect decoding. */
export function readStatement(take: TakeToken, first: string): Statement {
  const parts: string[] = []
  let optionCount = 0
  for (let part = first; ; part = expectToken(take)) {
    if (part === ';' || part === '{') return { parts, optionCount, end: part }
    if (part === '}') throw unreadable()
    if (part === '[') {
      const options = readInlineOptions(take)
      for (const [index, option] of options.entries()) parts.push(index === 0 ? '[' : ',', ...option)
      if (options.length > 0) parts.push(']')
      optionCount += options.length
    } else parts.push(part)
  }
}

function readInlineOptions(take: TakeToken): string[][] {
  const seen = new Set<string>()
  const kept: string[][] = []
  for (let end = ','; end === ','; ) {
    const read = readOption(take, [',', ']'], seen)
    kept.push(...read.options)
    end = read.end
  }
  return kept
}

/** The `features` that affect decoding. */
const features = ['field_presence', 'message_encoding']
const kept = new Set(['allow_alias', 'default', ...features.map((name) => `features.${name}`)])

interface ReadOption {
  /** Options that affect decoding, each as `name = value`. One statement may set several. */
  options: string[][]
  end: string
}

/** `seen`: options that were already set for the same element. */
export function readOption(take: TakeToken, ends: string[], seen: Set<string>): ReadOption {
  let name = ''
  for (let part = expectToken(take); part !== '='; part = expectToken(take)) {
    if (';{}[],'.includes(part)) throw unreadable()
    name += part
  }
  const { value, end } = readValue(take, ends)
  const options: [string, string[]][] = name === 'features' ? featuresIn(value) : [[name, value]]
  const mattering = options.filter(([each]) => kept.has(each))
  for (const [each, parts] of mattering) {
    if (seen.has(each) || parts.length > mostParts) throw unreadable()
    seen.add(each)
  }
  return { options: mattering.map(([each, parts]) => [each, '=', ...parts]), end }
}

function readValue(take: TakeToken, ends: string[]): { value: string[]; end: string } {
  const value: string[] = []
  let depth = 0
  for (let part = expectToken(take); ; part = expectToken(take)) {
    if (depth === 0 && ends.includes(part)) return { value, end: part }
    if (part === '{' || part === '[') depth++
    if (part === '}' || part === ']') depth--
    // One value, or strings to concatenate. Other tokens mean that the option is not terminated.
    if (depth < 0 || (depth === 0 && value.length > 0 && !/^["'}\]]/.test(part))) {
      throw unreadable()
    }
    value.push(part)
  }
}

/** Of `{ field_presence: IMPLICIT … }`. */
function featuresIn(value: string[]): [string, string[]][] {
  return value.flatMap((name, index): [string, string[]][] => {
    const [colon, feature] = value.slice(index + 1, index + 3)
    return features.includes(name) && colon === ':' && feature ? [[`features.${name}`, [feature]]] : []
  })
}

/** Skips to the end of a block whose opening brace has been read. */
export function skipBlock(take: TakeToken): void {
  for (let depth = 1; depth > 0; ) {
    const part = expectToken(take)
    if (part === '{') depth++
    if (part === '}') depth--
  }
}
