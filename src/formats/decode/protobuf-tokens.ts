// The text of a Protobuf schema, token by token as protobufjs takes it, without comments: what is a comment or a text to one
// and not to the other could hide the rest of a schema.
import { SchemaFault } from './schema-fault.ts'

const token =
  /\/\/[^\n]*|\/\*\/|\/\*.*?\*\/|"[^"\\\n]*(?:\\[^\n\r\u2028\u2029][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^\n\r\u2028\u2029][^'\\\n]*)*'|[{}=;:[\],()<>'"]|\/\*?|[^\s{}=;:[\],()<>'"]+/gs

/** Undefined at the end of the text. Throws a SchemaFault. */
export type TakeToken = () => string | undefined

/** `onToken` is called for each, also for comments. */
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
  // Nothing that begins like this is a token when it ends.
  if (part === '"' || part === "'" || part === '/*') throw new SchemaFault('has a text or a comment that does not end')
  // The parser leaves it out, and with it values and the places of messages.
  if (part.includes('__proto__') && part.split('.').includes('__proto__')) {
    throw new SchemaFault('uses the name __proto__, which cannot be read')
  }
}

/** What is no schema, whatever else it is. */
export const unreadable = (): SchemaFault =>
  new SchemaFault('is not a Protobuf schema that can be read, or contradicts itself')

/** A token that must be there. */
function expectToken(take: TakeToken): string {
  const part = take()
  if (part === undefined) throw unreadable()
  return part
}

/** Of a field with its options; of ranges there may be more. */
export const mostParts = 100

interface Statement {
  parts: string[]
  optionCount: number
  end: ';' | '{'
}

/** The rest of a statement that is not an option; of options at its end those that matter. */
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

/** Of `features`, which hold for all that is within, those that say how bytes are read. */
const features = ['field_presence', 'message_encoding']
const kept = new Set(['allow_alias', 'default', ...features.map((name) => `features.${name}`)])

interface ReadOption {
  /** Each as `name = value`. More than one when they are set together; none when they do not matter. */
  options: string[][]
  end: string
}

/** `seen`: what has been set for the same thing. */
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
    // One value, or texts that are put together: anything else is a statement that begins before the option has ended.
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

/** Everything up to the end of a block that has just begun. */
export function skipBlock(take: TakeToken): void {
  for (let depth = 1; depth > 0; ) {
    const part = expectToken(take)
    if (part === '{') depth++
    if (part === '}') depth--
  }
}
